import { TaskDocument } from '@undertone/protocol';

import { sampleTask } from '../../test/sample-task';
import { secondsUntilChange, taskDocument } from './collection-task';

const opensAt = new Date('2024-03-01T00:00:00Z');
const closesAt = new Date('2024-04-01T00:00:00Z');
const task = sampleTask('weather', { opensAt, closesAt });

it.each([
  [opensAt.getTime() - 1, 'scheduled'],
  [opensAt.getTime(), 'open'],
  [closesAt.getTime() - 1, 'open'],
  [closesAt.getTime(), 'closed'],
] as const)('at %p it is %s', (now, status) => {
  expect(TaskDocument.parse(taskDocument(task, now)).status).toBe(status);
});

it('a document holds what the task is, and no more', () => {
  const { randomiser, reportsDroppedAt, ...rest } = task;
  expect([randomiser, reportsDroppedAt]).not.toContain(undefined);
  expect(taskDocument(task, opensAt.getTime())).toEqual({
    ...rest,
    opensAt: '2024-03-01T00:00:00.000Z',
    closesAt: '2024-04-01T00:00:00.000Z',
    status: 'open',
  });
});

it.each([
  ['far from a change', opensAt.getTime() + 1000, 60],
  ['30.5 s before it closes', closesAt.getTime() - 30_500, 30],
  ['half a second before it opens', opensAt.getTime() - 500, 0],
  ['when closed', closesAt.getTime() + 1000, 60],
])('%s it may be cached for so long', (_, now, seconds) => {
  expect(secondsUntilChange(task, now)).toBe(seconds);
});
