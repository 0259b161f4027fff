import { describeWithKafka, type KafkaCluster, startKafkaCluster } from '@undertone/report-log/testing';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';
import { Pool } from 'pg';

import { BROKER_SETTINGS, KafkaObserver, kafkaPath } from '../../test/kafka-path';
import { playHistories } from '../../test/report-path';
import { attributeSockets } from '../../test/simulated-process';
import { OBSERVER } from '../../test/tables';

describeWithKafka('on a broker that is killed and started again', () => {
  let cluster: KafkaCluster;
  let observer: KafkaObserver;
  let database: TestDatabase;
  let pool: Pool;
  let leaveSockets: () => void;

  beforeAll(async () => {
    leaveSockets = attributeSockets();
    [cluster, database] = await Promise.all([
      startKafkaCluster({ brokers: 1, settings: BROKER_SETTINGS }),
      startTestDatabase(),
    ]);
    pool = new Pool({ connectionString: database.url, max: 4, application_name: OBSERVER });
    observer = await KafkaObserver.connect(cluster);
  }, 120_000);
  afterAll(async () => {
    await observer?.disconnect();
    await pool?.end();
    await Promise.all([cluster?.close(), database?.stop()]);
    leaveSockets();
  }, 60_000);

  it('each acknowledged report is stored once and each outcome counts once', async () => {
    await playHistories(() => kafkaPath(observer, database.url, pool), {
      runs: 12,
      weights: { 'break-log': 1 },
      maximumLength: 30,
    });
  }, 600_000);
});
