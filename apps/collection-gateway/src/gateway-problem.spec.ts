import { ReportLogError } from '@undertone/report-log';
import { connectStore } from '@undertone/store';

import { gatewayProblem } from './gateway-problem';

it('passes on what the log says of when to come back', () => {
  const problem = gatewayProblem(new ReportLogError('report-log-full', 'too many wait', 7));
  expect(problem).toMatchObject({
    kind: 'unavailable',
    detail: 'too many wait',
    headers: { 'retry-after': '7' },
  });
});

it.each([
  ['a query', (store: ReturnType<typeof connectStore>) => store.pool.query('SELECT 1')],
  ['a repository', (store: ReturnType<typeof connectStore>) => store.tasks.find('weather')],
])('knows the error of %s where no database answers', async (_, ask) => {
  const store = connectStore('postgresql://nobody@127.0.0.1:1/none');
  const error = await ask(store).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  await store.close();
  expect(gatewayProblem(error)).toMatchObject({ kind: 'unavailable' });
});

it.each([new Error('a bug'), new TypeError('x is undefined'), 'text', undefined])(
  'leaves %p alone',
  (error) => {
    expect(gatewayProblem(error)).toBeUndefined();
  },
);
