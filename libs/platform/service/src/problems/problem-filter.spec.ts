import { type Logger } from '@undertone/observability';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { Problem } from './problem';
import { ProblemFilter } from './problem-filter';

interface Line {
  readonly text: string;
  readonly leftOut?: number;
  readonly correlationId: string;
  readonly error: { readonly message: string; readonly stack: string };
}

let lines: Line[];
let filter: ProblemFilter;
let requests: number;

beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
  requests = 0;
  const logger = {
    error: (fields: Omit<Line, 'text'>, text: string) => lines.push({ ...fields, text }),
  };
  filter = new ProblemFilter(logger as unknown as Logger, [], { bodyBytes: 1 });
});
afterEach(() => {
  jest.useRealTimers();
});

/** Fails one request. @returns the status that it was answered with */
const fail = (error: unknown): number => {
  let answered = 0;
  const request = { id: `request-${++requests}`, url: '/v1/things', raw: { errored: null } };
  const reply = {
    sent: false,
    status: (status: number) => {
      answered = status;
      return reply;
    },
    headers: () => reply,
    send: () => reply,
  };
  filter.answer(error, request as unknown as FastifyRequest, reply as unknown as FastifyReply);
  return answered;
};
const away = (message: string, detail = 'the database is away'): Problem =>
  new Problem('unavailable', detail, { cause: Object.assign(new Error(message), { code: 'ECONNREFUSED' }) });
const told = (): (string | number | undefined)[][] =>
  lines.map(({ text, correlationId, leftOut }) => [text, correlationId, leftOut]);

it('writes what is unavailable for one reason once in ten seconds, with the number of those left out', () => {
  for (let i = 0; i < 500; i++) expect(fail(away(`connection ${i} refused`))).toBe(503);
  expect(told()).toEqual([['answered unavailable: connection 0 refused', 'request-1', undefined]]);
  expect(lines[0].error.stack).toContain('at ');

  jest.advanceTimersByTime(9_999);
  expect(lines).toHaveLength(1);
  jest.advanceTimersByTime(1);
  for (let i = 500; i < 510; i++) fail(away(`connection ${i} refused`));
  jest.advanceTimersByTime(10_000);
  expect(told().slice(1)).toEqual([
    ['answered unavailable: connection 499 refused', 'request-500', 498],
    ['answered unavailable: connection 509 refused', 'request-510', 9],
  ]);
  expect(lines[1].error.stack).toContain('at ');

  jest.advanceTimersByTime(60_000);
  expect(lines).toHaveLength(3);
  fail(away('refused again'));
  expect(told()[3]).toEqual(['answered unavailable: refused again', 'request-511', undefined]);
});

it('takes reasons that differ in a number alone for one', () => {
  for (let i = 0; i < 100; i++) fail(new Problem('unavailable', `${i} records wait to be written`));
  expect(lines).toHaveLength(1);
});

it('tells reasons apart, and however many there are, keeps to a bound', () => {
  fail(away('refused', 'the log is away'));
  fail(away('refused', 'the database is away'));
  expect(lines).toHaveLength(2);
  const name = (i: number): string => [...String(i)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
  for (let i = 0; i < 5_000; i++) fail(away('refused', `${name(i)} is away`));
  expect(lines.length).toBeLessThanOrEqual(101);
  expect(jest.getTimerCount()).toBeLessThanOrEqual(101);
});

it('writes every other failure', () => {
  for (let i = 0; i < 3; i++) expect(fail(new Error('a bug'))).toBe(500);
  for (let i = 0; i < 3; i++) expect(fail(new Problem('closed-task', 'closed'))).toBe(410);
  expect(lines.map(({ text }) => text)).toEqual(Array(3).fill('answered internal: a bug'));
});
