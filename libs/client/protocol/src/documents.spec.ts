import {
  BatchReceipt,
  CountsDocument,
  PROBLEM_TYPES,
  ProblemDocument,
  problemDocument,
  problemKind,
  RejectedEntry,
  TaskDocument,
  TaskName,
  taskStatusAt,
} from './index';

const task = {
  name: 'digits',
  artifact: 'ab'.repeat(32),
  signer: 'cd'.repeat(32),
  labels: ['no', 'yes'],
  epsilon: 1,
  opensAt: '2026-01-01T00:00:00.000Z',
  closesAt: null,
  minimumBatch: 100,
  perPersonCap: 1,
  status: 'open',
};

describe('the task document', () => {
  it('passes, and leaves out what a later version adds', () => {
    expect(TaskDocument.parse({ ...task, later: true })).toEqual(task);
  });

  it.each([
    ['epsilon', 0],
    ['epsilon', Infinity],
    ['labels', ['only']],
    ['opensAt', 'yesterday'],
    ['minimumBatch', 1.5],
    ['status', 'paused'],
    ['signer', 'CD'.repeat(32)],
  ])('refuses %s = %p', (field, value) => {
    const result = TaskDocument.safeParse({ ...task, [field]: value });
    expect(result.error?.issues[0].path[0]).toBe(field);
  });

  it('is open from its opening on and closed from its closing on', () => {
    const dates = { opensAt: '2026-01-01T00:00:00.000Z', closesAt: '2026-01-02T00:00:00.000Z' };
    const at = (text: string) => taskStatusAt(dates, Date.parse(text));
    expect(at('2025-12-31T23:59:59.999Z')).toBe('scheduled');
    expect(at('2026-01-01T00:00:00.000Z')).toBe('open');
    expect(at('2026-01-01T23:59:59.999Z')).toBe('open');
    expect(at('2026-01-02T00:00:00.000Z')).toBe('closed');
    expect(taskStatusAt({ ...dates, closesAt: null }, Date.parse('2999-01-01'))).toBe('open');
  });
});

it.each(['a', '0', 'a-b', 'x'.repeat(64)])('%p is a task name', (name) => {
  expect(TaskName.safeParse(name).success).toBe(true);
});

it.each(['', '-a', 'a-', 'A', 'a_b', 'ä', 'a/b', 'a\n', 'x'.repeat(65)])('%p is no task name', (name) => {
  expect(TaskName.safeParse(name).success).toBe(false);
});

describe('problems', () => {
  it('have distinct types that lead back to their kinds', () => {
    const types = Object.entries(PROBLEM_TYPES);
    for (const [kind, { type }] of types) expect(problemKind({ type })).toBe(kind);
    expect(new Set(types.map(([, t]) => t.type)).size).toBe(types.length);
  });

  it.each(['about:blank', 'urn:undertone:problem:', 'urn:undertone:problem:toString'])(
    '%p is none of ours',
    (type) => {
      expect(problemKind({ type })).toBeUndefined();
    },
  );

  it('make documents that parse, extension members kept', () => {
    const document = problemDocument('closed-task', {
      detail: 'task "digits" closed yesterday',
      instance: '/v1/tasks/digits',
    });
    expect(document).toMatchObject({
      type: 'urn:undertone:problem:closed-task',
      status: 410,
      title: 'Closed task',
    });
    expect(ProblemDocument.parse({ ...document, task: 'digits' })).toEqual({ ...document, task: 'digits' });
  });
});

it('a receipt and a count parse, unknown reasons do not', () => {
  const rejected = [{ index: 0, id: null, reason: 'malformed', detail: 'id: is missing' }];
  expect(BatchReceipt.parse({ accepted: 2, rejected })).toEqual({ accepted: 2, rejected });
  expect(
    BatchReceipt.safeParse({ accepted: 2, rejected: [{ ...rejected[0], reason: 'moody' }] }).success,
  ).toBe(false);
  const counts = { task: 'digits', stored: 3, repeated: 1, rejected: { malformed: 2 }, waiting: 0 };
  expect(CountsDocument.parse(counts)).toEqual(counts);
});

describe('a rejected entry', () => {
  const entry = {
    log: 'kafka/cluster/undertone.reports.v1',
    partition: 3,
    offset: '9223372036854775807',
    task: null,
    reason: 'malformed',
    detail: 'the entry is not one report in the wire format',
    at: '2026-01-01T00:00:00.000Z',
  };

  it('passes', () => {
    expect(RejectedEntry.parse(entry)).toEqual(entry);
    expect(RejectedEntry.parse({ ...entry, task: 'digits' }).task).toBe('digits');
  });

  it.each([
    ['log', ''],
    ['partition', -1],
    ['offset', 7],
    ['offset', '-7'],
    ['task', 'no task'],
    ['reason', 'moody'],
    ['at', 'yesterday'],
  ])('does not pass with %s = %p', (field, value) => {
    expect(RejectedEntry.safeParse({ ...entry, [field]: value }).error?.issues[0].path[0]).toBe(field);
  });
});
