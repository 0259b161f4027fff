import { describeWithKafka, type KafkaCluster, startKafkaCluster } from '@undertone/report-log/testing';

import { undertone } from '../../test/undertone-process';

const apply = (brokers: string, ...args: string[]) =>
  undertone(['kafka', 'topics', 'apply', ...args], {
    KAFKA_BROKERS: brokers,
    KAFKA_CONNECT_TIMEOUT_MS: '1000',
  });

describeWithKafka('undertone kafka topics apply', () => {
  let cluster: KafkaCluster;
  let brokers: string;
  beforeAll(async () => {
    cluster = await startKafkaCluster({ brokers: 1 });
    brokers = cluster.brokers.join(',');
  });
  afterAll(() => cluster.close());

  it('makes the topics once, then only what is asked, and refuses to lower it', async () => {
    const dry = await apply(brokers, '--partitions', '2', '--dry-run');
    expect(dry.code).toBe(0);
    expect(dry.out).toMatch(/undertone\.reports\.v1 +to create +2 partitions/);

    const first = await apply(brokers, '--partitions', '2', '--json');
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(first.out)).toMatchObject([
      { topic: 'undertone.reports.v1', action: 'created' },
      { topic: 'undertone.reports.rejected.v1', action: 'created' },
    ]);
    const again = await apply(brokers, '--json');
    expect(JSON.parse(again.out)).toMatchObject([{ action: 'unchanged' }, { action: 'unchanged' }]);
    const more = await apply(brokers, '--partitions', '3');
    expect(more.out).toMatch(/undertone\.reports\.v1 +changed +partitions 2 → 3/);

    const lowered = await apply(brokers, '--partitions', '1');
    expect(lowered.code).toBe(1);
    expect(lowered.err).toContain('undertone.reports.v1: ');
    const many = await apply(brokers, '--replicas', '2');
    expect(many.code).toBe(1);
    expect(many.err).toContain('2 replicas need as many brokers, and there are 1');
  });
});

describe('undertone kafka topics apply, without brokers', () => {
  it('names the variable', async () => {
    const { code, err } = await apply('');
    expect({ code, err }).toMatchObject({
      code: 1,
      err: expect.stringContaining('KAFKA_BROKERS is not set'),
    });
  });

  it('says that nobody answered, where, and for how long it asked', async () => {
    const { code, err } = await apply('127.0.0.1:1');
    expect(code).toBe(1);
    expect(err).toContain('KAFKA_BROKERS is 127.0.0.1:1; none of them was of use within 1000 ms');
  });
});
