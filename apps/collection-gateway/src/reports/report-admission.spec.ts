import { decodeReport, encodeReport, encodeReports, type Report } from '@undertone/protocol';
import { type LogRecord } from '@undertone/report-log';

import { impossiblePayload, sampleReport, sampleTask } from '../../test/sample-task';
import { type OutcomeTally } from '../counts/outcome-counts';
import { admitReports } from './report-admission';

const task = sampleTask();
const good = [1, 2, 3].map((number) => sampleReport(task, number));
const bad: Report[] = [
  sampleReport(task, 4, { task: 'other' }),
  sampleReport(task, 5, { artifact: 'b'.repeat(64) }),
  sampleReport(task, 6, { payload: impossiblePayload() }),
];

function targets() {
  const records: LogRecord[] = [];
  const tallies: OutcomeTally[] = [];
  return {
    records,
    tallies,
    append: async (more: readonly LogRecord[]) => void records.push(...more),
    count: async (more: readonly OutcomeTally[]) => void tallies.push(...more),
  };
}

it.each(['application/cbor', 'application/json'] as const)(
  'logs every good report of a %s batch and says which are bad and why',
  async (mediaType) => {
    const to = targets();
    const body = encodeReports([good[0], bad[0], good[1], bad[1], bad[2], good[2]], mediaType);
    const receipt = await admitReports(task, body, mediaType, to);
    expect(receipt).toEqual({
      accepted: 3,
      rejected: [
        {
          index: 1,
          id: expect.stringMatching(/04$/),
          reason: 'wrong-task',
          detail: expect.stringContaining('other'),
        },
        {
          index: 3,
          id: expect.stringMatching(/05$/),
          reason: 'wrong-artifact',
          detail: expect.stringContaining('bbb'),
        },
        {
          index: 4,
          id: expect.stringMatching(/06$/),
          reason: 'impossible-payload',
          detail: expect.any(String),
        },
      ],
    });
    expect(to.records.map(({ value }) => decodeReport(value))).toEqual(good);
    expect(to.records.map(({ key }) => Buffer.from(key))).toEqual(good.map(({ id }) => Buffer.from(id)));
    expect(to.tallies.map(({ outcome, count }) => [outcome, count])).toEqual([
      ['wrong-task', 1],
      ['wrong-artifact', 1],
      ['impossible-payload', 1],
    ]);
  },
);

const payloadWith = (change: (payload: Uint8Array) => Uint8Array | void): Uint8Array => {
  const payload = good[0].payload.slice();
  return change(payload) ?? payload;
};

it.each<[string, Uint8Array, RegExp]>([
  [
    'of another dimension',
    payloadWith((p) => p.slice(4)),
    /^payload: the payload has 13 bytes: it must have 17$/,
  ],
  ['with NaN', payloadWith((p) => p.set([0, 0, 0xc0, 0x7f], 4)), /^payload: coordinate 1 is NaN: it must be/],
  [
    'with a label out of range',
    payloadWith((p) => p.fill(3, 16)),
    /^payload: the label is 3: it must be below 3$/,
  ],
])('says what is wrong with a payload %s', async (_, payload, detail) => {
  const to = targets();
  const body = encodeReport({ ...good[0], payload });
  const receipt = await admitReports(task, body, 'application/cbor', to);
  expect(receipt.rejected).toEqual([
    expect.objectContaining({ reason: 'impossible-payload', detail: expect.stringMatching(detail) }),
  ]);
  expect(to.records).toEqual([]);
});

it('takes a single report', async () => {
  const to = targets();
  const receipt = await admitReports(task, encodeReport(good[0]), 'application/cbor', to);
  expect(receipt).toEqual({ accepted: 1, rejected: [] });
  expect(to.records).toHaveLength(1);
});

it('tells a malformed report of a batch at its place', async () => {
  const to = targets();
  const text = Buffer.from(encodeReports(good, 'application/json')).toString();
  const { reports } = JSON.parse(text) as { reports: Record<string, unknown>[] };
  delete reports[1].payload;
  const receipt = await admitReports(task, Buffer.from(JSON.stringify({ reports })), 'application/json', to);
  expect(receipt.accepted).toBe(2);
  expect(receipt.rejected).toEqual([
    {
      index: 1,
      id: expect.stringMatching(/02$/),
      reason: 'malformed',
      detail: expect.stringContaining('payload'),
    },
  ]);
});

it('counts no refusal of a body that the log could not take: it comes again', async () => {
  const to = targets();
  const full = {
    ...to,
    append: async () => {
      throw new Error('full');
    },
  };
  await expect(
    admitReports(task, encodeReports([good[0], bad[0]]), 'application/cbor', full),
  ).rejects.toThrow('full');
  expect(to.tallies).toEqual([]);
});

it('gives no receipt before the log and the counts have answered', async () => {
  const order: string[] = [];
  const slow = (what: string) => async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    order.push(what);
  };
  await admitReports(task, encodeReports([good[0], bad[0]]), 'application/cbor', {
    append: slow('append'),
    count: slow('count'),
  });
  expect(order).toEqual(['append', 'count']);
});

/** What stays in memory because of the records. */
const heldBy = (records: readonly LogRecord[]): number =>
  [...new Set(records.flatMap(({ key, value }) => [key.buffer, value.buffer]))].reduce(
    (sum, { byteLength }) => sum + byteLength,
    0,
  );
const sizeOf = (records: readonly LogRecord[]): number =>
  records.reduce((sum, { key, value }) => sum + key.length + value.length, 0);

it('holds no large body for the sake of a few good reports', async () => {
  const to = targets();
  const large = Array.from({ length: 15 }, (_, i) =>
    sampleReport(task, 10 + i, { payload: new Uint8Array(65_000) }),
  );
  const body = encodeReports([good[0], ...large, good[1]]);
  const receipt = await admitReports(task, body, 'application/cbor', to);
  expect(receipt.accepted).toBe(2);
  expect(to.records.map(({ value }) => decodeReport(value))).toEqual([good[0], good[1]]);
  expect(to.records.map(({ key }) => Buffer.from(key))).toEqual([0, 1].map((i) => Buffer.from(good[i].id)));
  expect(heldBy(to.records)).toBe(sizeOf(to.records));
});

it('copies nothing of a body that is good for the most part', async () => {
  const to = targets();
  const body = encodeReports([...good, bad[0]]);
  await admitReports(task, body, 'application/cbor', to);
  for (const { value } of to.records) expect(value.buffer).toBe(body.buffer);
});
