import { encodeReport, LIMITS, REPORT_SCHEMA } from '@undertone/protocol';

import { impossiblePayload, sampleReport, sampleTask } from '../../test/sample-task';
import { ADMISSION_GRACE_MS, checkEntries } from './entry-check';

const opensAt = new Date('2024-03-01T00:00:00Z');
const closesAt = new Date('2024-04-01T00:00:00Z');
const task = sampleTask('weather', { opensAt, closesAt });
const during = new Date('2024-03-15T00:00:00Z');
const report = sampleReport(task, 1);

const check = (value: Uint8Array, appendedAt = during, schema: string | undefined = REPORT_SCHEMA) =>
  checkEntries([{ offset: 7n, value, schema, appendedAt }], async (name) =>
    name === task.name ? task : undefined,
  );

const malformed = {
  'no bytes': Buffer.alloc(0),
  text: Buffer.from('hello'),
  'a truncated report': encodeReport(report).slice(0, -3),
  'a report with a byte too many': Buffer.concat([encodeReport(report), Buffer.from([0])]),
};

it('passes a report of an open task on, as it was sent', async () => {
  const { storable, unstorable } = await check(encodeReport(report));
  expect(unstorable).toEqual([]);
  expect(storable).toHaveLength(1);
  expect(storable[0]).toMatchObject({ offset: 7n, arrivedAt: during });
  expect(encodeReport(storable[0].report)).toEqual(encodeReport(report));
});

it.each([
  ...Object.entries(malformed).map(([what, value]) => [what, value, null, 'malformed'] as const),
  ['an unknown task', encodeReport({ ...report, task: 'other' }), null, 'wrong-task'],
  ['another artifact', encodeReport({ ...report, artifact: 'b'.repeat(64) }), 'weather', 'wrong-artifact'],
  [
    'an impossible payload',
    encodeReport({ ...report, payload: impossiblePayload() }),
    'weather',
    'impossible-payload',
  ],
  [
    'a short payload',
    encodeReport({ ...report, payload: report.payload.slice(1) }),
    'weather',
    'impossible-payload',
  ],
] as const)('sets %s aside', async (_, value, taskName, reason) => {
  const { storable, unstorable } = await check(value);
  expect(storable).toEqual([]);
  expect(unstorable).toEqual([{ offset: 7n, task: taskName, reason, detail: expect.any(String) }]);
});

it.each([
  ['no schema', undefined, 'no-schema'],
  ['an empty schema', '', 'unknown-schema'],
  ['a later version', 'undertone.report.v2', 'unknown-schema'],
] as const)('sets an entry of %s aside, whatever it holds', async (_, schema, reason) => {
  const entry = { offset: 7n, value: encodeReport(report), schema, appendedAt: during };
  const { storable, unstorable } = await checkEntries([entry], async () => task);
  expect(storable).toEqual([]);
  expect(unstorable).toEqual([{ offset: 7n, task: null, reason, detail: expect.any(String) }]);
});

it('sets what is larger than any report aside without reading it', async () => {
  const { unstorable } = await check(Buffer.alloc(LIMITS.maximumReportBytes + 1));
  expect(unstorable[0].reason).toBe('too-large');
});

it('takes the largest report', async () => {
  const longest = { ...report, task: 'a'.repeat(64), payload: new Uint8Array(LIMITS.maximumPayloadBytes) };
  const bytes = encodeReport(longest).length;
  expect(bytes).toBeLessThanOrEqual(LIMITS.maximumReportBytes);
});

it.each([
  [new Date(opensAt.getTime() - ADMISSION_GRACE_MS - 1), 'wrong-task'],
  [new Date(opensAt.getTime() - ADMISSION_GRACE_MS), undefined],
  [new Date(closesAt.getTime() + ADMISSION_GRACE_MS - 1), undefined],
  [new Date(closesAt.getTime() + ADMISSION_GRACE_MS), 'wrong-task'],
])('of an entry that arrived at %p says %p', async (appendedAt, reason) => {
  const { unstorable } = await check(encodeReport(report), appendedAt);
  expect(unstorable[0]?.reason).toBe(reason);
});

it('sets aside what comes out of the log after the reports of its task were deleted', async () => {
  const deleted = { ...task, reportsDroppedAt: new Date('2024-06-01T00:00:00Z') };
  const entry = { offset: 7n, value: encodeReport(report), schema: REPORT_SCHEMA };
  const judge = async (appendedAt: Date) =>
    (await checkEntries([{ ...entry, appendedAt }], async () => deleted)).unstorable[0];
  expect(await judge(during)).toMatchObject({ task: 'weather', reason: 'too-late' });
  expect(await judge(new Date('2024-05-01T00:00:00Z'))).toMatchObject({ reason: 'wrong-task' });
});

it('keeps nothing of what a device sent in the detail', async () => {
  const details = new Set<string>();
  for (const payload of [impossiblePayload(), report.payload.slice(1), report.payload.slice(2)]) {
    details.add((await check(encodeReport({ ...report, payload }))).unstorable[0].detail);
  }
  for (const value of Object.values(malformed)) details.add((await check(value)).unstorable[0].detail);
  expect(details.size).toBe(2);
});

it('looks a task up once a batch', async () => {
  let lookups = 0;
  const entries = Array.from({ length: 20 }, (_, i) => ({
    offset: BigInt(i),
    value: encodeReport(sampleReport(task, i)),
    schema: REPORT_SCHEMA,
    appendedAt: during,
  }));
  await checkEntries(entries, async () => {
    lookups++;
    return task;
  });
  expect(lookups).toBe(1);
});

it('fails where tasks can’t be looked up: nothing is set aside for that', async () => {
  const away = async (): Promise<never> => {
    throw new Error('database is away');
  };
  await expect(
    checkEntries(
      [{ offset: 0n, value: encodeReport(report), schema: REPORT_SCHEMA, appendedAt: during }],
      away,
    ),
  ).rejects.toThrow('database is away');
});

it('takes no time that is none for one at which a task was open', async () => {
  const endless = sampleTask('weather', { opensAt, closesAt: null });
  const entry = { offset: 7n, value: encodeReport(report), schema: REPORT_SCHEMA, appendedAt: new Date(NaN) };
  const { unstorable } = await checkEntries([entry], async () => endless);
  expect(unstorable).toMatchObject([{ reason: 'wrong-task', task: 'weather' }]);
});

it('looks each task up once, several side by side, and keeps the order of entries', async () => {
  let running = 0;
  let most = 0;
  const asked: string[] = [];
  const names = Array.from({ length: 100 }, (_, i) => `task-${i}`);
  const entries = [...names, ...names, task.name].map((name, i) => ({
    offset: BigInt(i),
    value: encodeReport({ ...report, task: name }),
    schema: REPORT_SCHEMA,
    appendedAt: during,
  }));
  const { storable, unstorable } = await checkEntries(entries, async (name) => {
    asked.push(name);
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return name === task.name ? task : undefined;
  });
  expect(asked).toEqual([...names, task.name]);
  expect(most).toBe(32);
  expect(unstorable.map(({ offset }) => offset)).toEqual(entries.slice(0, 200).map(({ offset }) => offset));
  expect(storable.map(({ offset }) => offset)).toEqual([200n]);
});
