import { TaskDocument, TaskName } from '@undertone/protocol';
import { UndertoneError } from '../undertone-error';
import { type GatewayAnswer, type GatewayClient, unexpectedAnswer } from './gateway-client';

const OK = 200;

/**
 * The document of an open task.
 *
 * @throws UndertoneError `invalid-option` (no task name), `unknown-task`, `scheduled-task`, `closed-task`,
 *   `unexpected-answer`, `unreachable` or `cancelled`
 */
export async function fetchTask(
  client: GatewayClient,
  name: string,
  signal: AbortSignal | undefined,
): Promise<TaskDocument> {
  const checked = TaskName.safeParse(name);
  if (!checked.success)
    throw new UndertoneError('invalid-option', `task is "${name}": it ${checked.error.issues[0].message}`);
  const request = { method: 'GET', path: `v1/tasks/${name}`, accept: 'application/json', signal } as const;
  const task = await client.request(request, (answer) => readTask(name, answer));
  if (task.status === 'closed')
    throw new UndertoneError(
      'closed-task',
      `task ${name} is closed${at(task.closesAt)}: it takes no more reports`,
    );
  if (task.status === 'scheduled')
    throw new UndertoneError('scheduled-task', `task ${name} is not open yet: it opens${at(task.opensAt)}`);
  return task;
}

/**
 * The bytes of the task's artifact, unchecked.
 *
 * @throws UndertoneError `unexpected-answer`, `unreachable` or `cancelled`
 */
export async function fetchArtifact(
  client: GatewayClient,
  task: TaskDocument,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const path = `v1/artifacts/${task.artifact}`;
  return client.request({ method: 'GET', path, accept: 'application/octet-stream', signal }, (answer) => {
    if (answer.status !== OK) throw unexpectedAnswer(`artifact ${task.artifact} can't be fetched`, answer);
    return answer.body;
  });
}

function readTask(name: string, answer: GatewayAnswer): TaskDocument {
  if (answer.problem?.kind === 'unknown-task')
    throw new UndertoneError('unknown-task', `there is no task ${name}: ${answer.problem.detail}`, answer);
  if (answer.status !== OK) throw unexpectedAnswer(`task ${name} can't be fetched`, answer);
  const document = TaskDocument.safeParse(parseJson(answer.body));
  if (!document.success || document.data.name !== name) {
    const why = document.error?.issues[0];
    throw new UndertoneError(
      'unexpected-answer',
      `the answer is no document of task ${name}${why ? `: ${why.path.join('.')} ${why.message}` : ''}`,
      answer,
    );
  }
  return document.data;
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}

function at(time: string | null): string {
  return time === null ? '' : ` at ${time}`;
}
