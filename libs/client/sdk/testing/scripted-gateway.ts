import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import {
  type BatchReceipt,
  decodeBatch,
  encodeReport,
  LIMITS,
  problemDocument,
  ProtocolError,
  type ProblemKind,
  type Rejection,
  type TaskDocument,
} from '@undertone/protocol';

/** What becomes of one request: named for what the device sees. */
export type Move =
  | 'ok'
  /** The reports are stored, and the connection breaks before the answer. */
  | 'answer-lost'
  /** The connection breaks before anything is stored. */
  | 'request-lost'
  /** The answer breaks off in its middle; the reports are stored. */
  | 'answer-cut'
  /** A success that no gateway sends; nothing is stored. */
  | 'captive-portal'
  | 'hang'
  | { status: number; retryAfter?: string; problem?: ProblemKind };

/** A real HTTP server that plays a script: each request for reports takes the next move, and `ok` after the last. */
export class ScriptedGateway {
  /** Bodies of the reports stored, by id. */
  readonly stored = new Map<string, Uint8Array>();
  /** Every arrival of a well-formed report, stored or not. */
  readonly arrivals: { id: string; bytes: string }[] = [];
  /** Reports in each request, in order of arrival. */
  readonly batchSizes: number[] = [];
  readonly moves: Move[] = [];
  /** Moves for requests of the task document and the artifact. */
  readonly readMoves: Move[] = [];
  readonly paths: string[] = [];
  mostAtOnce = 0;
  /** What is wrong with a report, by id. */
  faults = new Map<string, Pick<Rejection, 'reason' | 'detail'>>();
  /** How long each request takes. */
  delayMs = 0;
  maximumBodyBytes: number = LIMITS.maximumBodyBytes;

  #atOnce = 0;

  private constructor(
    private readonly server: Server,
    readonly url: string,
    public task: TaskDocument,
    public file: Uint8Array,
  ) {}

  static async start(task: TaskDocument, file: Uint8Array): Promise<ScriptedGateway> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const gateway = new ScriptedGateway(
      server,
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      task,
      file,
    );
    server.on('request', (request, response) => void gateway.#answer(request, response));
    return gateway;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.paths.push(`${request.method} ${request.url}`);
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#atOnce);
    response.on('close', () => this.#atOnce--);
    const body = await bodyOf(request);
    if (this.delayMs > 0) await setTimeout(this.delayMs);
    const isUpload = request.method === 'POST';
    const move = (isUpload ? this.moves : this.readMoves).shift() ?? 'ok';
    if (move === 'hang') return;
    if (move === 'request-lost') return void response.destroy();
    if (move === 'captive-portal') return void response.end('<html>Sign in to the network</html>');
    if (typeof move === 'object') return this.#refuse(response, move);
    if (!isUpload) return this.#read(request, response);
    const answer = this.#take(body, request.headers['content-type']);
    if ('status' in answer) return this.#refuse(response, answer);
    if (move === 'answer-lost') return void response.destroy();
    const text = JSON.stringify(answer);
    if (move === 'answer-cut') {
      response.writeHead(202, { 'content-length': text.length });
      response.write(text.slice(0, 5), () => response.destroy());
      return;
    }
    if (answer.accepted > 0)
      return void response.writeHead(202, { 'content-type': 'application/json' }).end(text);
    const problem = problemDocument('reports-rejected', { detail: 'all were refused' });
    response
      .writeHead(problem.status, { 'content-type': 'application/problem+json' })
      .end(JSON.stringify({ ...problem, ...answer }));
  }

  #take(body: Uint8Array, contentType: string | undefined): BatchReceipt | Extract<Move, object> {
    if (body.length > this.maximumBodyBytes) return { status: 413, problem: 'body-too-large' };
    try {
      const outcomes = decodeBatch(body, contentType);
      this.batchSizes.push(outcomes.length);
      const rejected: Rejection[] = [];
      for (const { index, report, rejection } of outcomes) {
        if (rejection) {
          rejected.push(rejection);
          continue;
        }
        const id = Buffer.from(report.id).toString('hex');
        const bytes = encodeReport(report);
        this.arrivals.push({ id, bytes: Buffer.from(bytes).toString('hex') });
        const fault = this.faults.get(id);
        if (fault) rejected.push({ index, id, ...fault });
        else if (!this.stored.has(id)) this.stored.set(id, bytes);
      }
      return { accepted: outcomes.length - rejected.length, rejected };
    } catch (error) {
      if (error instanceof ProtocolError) return { status: 400, problem: error.code };
      throw error;
    }
  }

  #read(request: IncomingMessage, response: ServerResponse): void {
    if (request.url === `/v1/tasks/${this.task.name}`)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(this.task));
    else if (request.url === `/v1/artifacts/${this.task.artifact}`) response.writeHead(200).end(this.file);
    else this.#refuse(response, { status: 404, problem: 'unknown-task' });
  }

  #refuse(response: ServerResponse, move: Extract<Move, object>): void {
    const { status, retryAfter, problem } = move;
    response.writeHead(status, {
      'content-type': problem ? 'application/problem+json' : 'text/html',
      ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
    });
    response.end(
      problem
        ? JSON.stringify({ ...problemDocument(problem, { detail: `says ${problem}` }), status })
        : '<html>',
    );
  }
}

async function bodyOf(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
