const stopDatabase = require('../../libs/platform/store/testing/jest-global-teardown.ts');

module.exports = async () => {
  await Promise.all([globalThis.undertoneTestCluster?.close(), stopDatabase()]);
};
