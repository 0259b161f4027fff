// One broker and one PostgreSQL for the whole run of the Jest project `kafka`; its workers find them through the environment.
const startDatabase = require('../../libs/platform/store/testing/jest-global-setup.ts');

module.exports = async () => {
  const { isLackOfMachine, startCluster } = await import('./cluster.mjs');
  try {
    globalThis.undertoneTestCluster ??= await startCluster({ brokers: 1, heapMegabytes: 384 });
    process.env.TEST_KAFKA_BROKERS = globalThis.undertoneTestCluster.brokers.join(',');
  } catch (error) {
    if (!isLackOfMachine(error)) throw error;
    process.env.TEST_KAFKA_UNAVAILABLE = error.message;
    process.stderr.write(`\nThe Kafka suites are skipped: ${error.message}\n`);
    return;
  }
  await startDatabase();
};
