import { loadConfig, serviceVariables } from '@undertone/config';
import { encodeReports } from '@undertone/protocol';
import { type LogRecord, MemoryReportLog } from '@undertone/report-log';
import { HostedService } from '@undertone/service';
import { type Store } from '@undertone/store';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';
import { Pool } from 'pg';

import { publishSample } from '../test/sample-artifact';
import { sampleReport, sampleTask } from '../test/sample-task';
import { CollectionGatewayModule } from './collection-gateway.module';
import { gatewayProblem } from './gateway-problem';

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await startTestDatabase();
  pool = new Pool({ connectionString: database.url, max: 4 });
});
afterAll(async () => {
  await pool.end();
  await database.stop();
});

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));
const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await pause();
};

/** A log whose appends wait until the spec lets them go on. */
class HeldLog extends MemoryReportLog {
  held: (() => void)[] | undefined;

  constructor(private readonly onClose: () => void) {
    super({ onFailure: () => undefined, idleMs: [1, 2] });
  }

  override async append(records: readonly LogRecord[]): Promise<void> {
    if (this.held !== undefined) await new Promise<void>((resolve) => this.held?.push(resolve));
    return super.append(records);
  }

  override async close(): Promise<void> {
    await super.close();
    this.onClose();
  }
}

it('stops intake, answers requests, commits the batch in hand, then closes log and store', async () => {
  const events: string[] = [];
  const storeIs = (): string => (opened.pool.ended ? 'store closed' : 'store open');
  let opened!: Store;
  const log = new HeldLog(() => events.push(`log closed, ${storeIs()}`));
  const service = await HostedService.start({
    name: 'collection-gateway',
    config: loadConfig(serviceVariables, {
      DATABASE_URL: database.url,
      UNDERTONE_PORT: '0',
      UNDERTONE_LOG_LEVEL: 'silent',
    }),
    modules: (store, { keep }) => {
      opened = store;
      return [CollectionGatewayModule.register({ store, reportLog: keep(log) })];
    },
    problems: [gatewayProblem],
    onNotice: () => undefined,
  });
  const { id: artifact } = await publishSample(opened);
  await fetch(`${service.url}/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'rain', artifact }),
  });
  const task = sampleTask('rain', { artifact });
  const send = (from: number, count: number): Promise<Response> =>
    fetch(`${service.url}/v1/tasks/rain/reports`, {
      method: 'POST',
      headers: { 'content-type': 'application/cbor' },
      body: encodeReports(Array.from({ length: count }, (_, i) => sampleReport(task, from + i))),
    });
  const stored = async (): Promise<number> =>
    (await pool.query<{ n: number }>('SELECT count(*)::int AS n FROM reports')).rows[0].n;

  expect((await send(0, 3)).status).toBe(202);
  await until(async () => (await stored()) === 3);

  // The next batch waits amid its transaction, and one more request for its append.
  const locker = await pool.connect();
  await locker.query('BEGIN; SELECT * FROM ingest_positions FOR UPDATE');
  expect((await send(3, 4)).status).toBe(202);
  const waitsForLock = async (): Promise<boolean> => {
    const { rows } = await pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  };
  await until(waitsForLock);
  log.held = [];
  const lastAnswer = send(7, 2).then((answer) => events.push(`answered ${answer.status}`));
  await until(() => log.held!.length === 1);

  const stopping = service.stop().then(() => events.push(`stopped, ${storeIs()}`));
  await until(() =>
    fetch(`${service.url}/health/live`).then(
      () => false,
      () => true,
    ),
  );
  expect(events).toEqual([]);
  log.held[0]();
  await lastAnswer;
  for (let turn = 0; turn < 20; turn++) await pause();
  expect(events).toEqual(['answered 202']);
  expect(storeIs()).toBe('store open');
  expect(await stored()).toBe(3);

  await locker.query('COMMIT');
  locker.release();
  await stopping;
  expect(await stored()).toBeGreaterThanOrEqual(7);
  expect(events).toEqual(['answered 202', 'log closed, store open', 'stopped, store closed']);
}, 20_000);
