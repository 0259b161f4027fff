import { RejectedEntry } from '@undertone/protocol';
import { type LogRecord } from '@undertone/report-log';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';
import { Pool } from 'pg';

import { type UnstorableEntry } from '../ingest/entry-check';
import { ReportWriter } from '../ingest/report-writer';
import { type PublisherSettings, RejectionPublisher } from './rejection-publisher';

const LOG = 'kafka/cluster/undertone.reports.v1';

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await startTestDatabase();
  pool = new Pool({ connectionString: database.url, max: 8 });
});
beforeEach(() => pool.query('TRUNCATE rejected_reports, ingest_positions, outcome_counts'));
afterAll(async () => {
  await pool.end();
  await database.stop();
});

class Topic {
  readonly records: LogRecord[] = [];
  failure: Error | undefined;
  /** An append ends when this does. */
  gate: Promise<void> = Promise.resolve();

  async append(records: readonly LogRecord[]): Promise<void> {
    await this.gate;
    if (this.failure !== undefined) throw this.failure;
    this.records.push(...records);
  }

  get keys(): string[] {
    return this.records.map(({ key }) => Buffer.from(key).toString());
  }
}

const publisherOf = (topic: Topic, settings: Partial<PublisherSettings> = {}) =>
  new RejectionPublisher(pool, {
    log: LOG,
    sink: topic,
    onFailure: (error) => {
      throw error;
    },
    ...settings,
  });

async function reject(partition: number, offsets: readonly bigint[], log = LOG): Promise<void> {
  const unstorable = offsets.map((offset): UnstorableEntry => ({
    offset,
    task: null,
    reason: 'malformed',
    detail: 'rule',
  }));
  await new ReportWriter(pool, log).write(partition, { storable: [], unstorable }, offsets.at(-1)!);
}

const waiting = async (): Promise<number> => {
  const { rows } = await pool.query(
    'SELECT count(*)::int AS n FROM rejected_reports WHERE published_at IS NULL',
  );
  return rows[0].n;
};

const until = async (what: string, holds: () => boolean): Promise<void> => {
  const end = Date.now() + 10_000;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};

it('publishes each rejected entry of its log once, with the place where it came from', async () => {
  const topic = new Topic();
  await reject(0, [3n, 9_007_199_254_740_993n]);
  await reject(2, [3n]);
  await reject(0, [3n], 'postgres');
  const writer = new ReportWriter(pool, LOG);
  const unstorable: UnstorableEntry = { offset: 4n, task: 'rain', reason: 'wrong-artifact', detail: 'rule' };
  await writer.write(2, { storable: [], unstorable: [unstorable] }, 4n);

  expect(await publisherOf(topic).publish()).toBe(4);
  const place = 'undertone.reports.v1';
  expect(topic.keys).toEqual([`${place}/0/3`, `${place}/0/9007199254740993`, `${place}/2/3`, `${place}/2/4`]);
  const entries = topic.records.map(({ value }) =>
    RejectedEntry.parse(JSON.parse(Buffer.from(value).toString())),
  );
  const malformed = { log: LOG, task: null, reason: 'malformed', detail: 'rule', at: expect.any(String) };
  expect(entries).toEqual([
    { ...malformed, partition: 0, offset: '3' },
    { ...malformed, partition: 0, offset: '9007199254740993' },
    { ...malformed, partition: 2, offset: '3' },
    { ...malformed, partition: 2, offset: '4', task: 'rain', reason: 'wrong-artifact' },
  ]);
  expect(Math.abs(Date.parse(entries[0].at) - Date.now())).toBeLessThan(60_000);
  expect(await publisherOf(topic).publish()).toBe(0);
  expect(await waiting()).toBe(1);
});

it('several processes share what waits, chunk by chunk', async () => {
  const offsets = Array.from({ length: 95 }, (_, i) => BigInt(i));
  await reject(0, offsets);
  const topic = new Topic();
  const publishers = [1, 2, 3].map(() => publisherOf(topic, { chunk: 10 }));
  const counts = await Promise.all(publishers.map((publisher) => publisher.publish()));
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(95);
  expect(new Set(topic.keys).size).toBe(95);
  expect(topic.keys).toHaveLength(95);
});

it('publishes again what may not have arrived, and never holds the ingest up', async () => {
  const topic = new Topic();
  topic.failure = new Error('broker is away');
  const failures: unknown[] = [];
  const publisher = publisherOf(topic, { everyMs: 5, onFailure: (error) => failures.push(error) });
  publisher.start();
  await reject(0, [1n]);
  await until('a failure', () => failures.length > 0);
  let open = (): void => undefined;
  topic.gate = new Promise((resolve) => (open = resolve));
  topic.failure = undefined;
  await reject(0, [2n]); // while the publisher holds the first
  open();
  await until('both entries', () => topic.keys.length >= 2);
  await publisher.stop();
  expect(new Set(topic.keys)).toEqual(new Set(['undertone.reports.v1/0/1', 'undertone.reports.v1/0/2']));
  expect(failures[0]).toMatchObject({ message: 'broker is away' });
});

it('is woken by a batch with rejected entries, and by no other', async () => {
  const topic = new Topic();
  const publisher = publisherOf(topic, { everyMs: 1_000_000 });
  publisher.start();
  let wakes = 0;
  const writer = new ReportWriter(pool, LOG, () => {
    wakes++;
    publisher.wake();
  });
  const unstorable: UnstorableEntry = { offset: 1n, task: null, reason: 'no-schema', detail: 'rule' };
  await writer.write(0, { storable: [], unstorable: [] }, 0n);
  await writer.write(0, { storable: [], unstorable: [unstorable] }, 1n);
  await writer.write(0, { storable: [], unstorable: [unstorable] }, 1n); // comes again
  await until('the entry', () => topic.keys.length === 1);
  expect(wakes).toBe(1);
  await publisher.stop();
});

it('publishes what a later version has rejected for a reason of its own', async () => {
  const topic = new Topic();
  await reject(0, [1n, 2n]);
  await pool.query(`UPDATE rejected_reports SET reason = 'too-blue' WHERE log_offset = 1`);
  expect(await publisherOf(topic).publish()).toBe(2);
  expect(JSON.parse(Buffer.from(topic.records[0].value).toString())).toMatchObject({ reason: 'too-blue' });
});
