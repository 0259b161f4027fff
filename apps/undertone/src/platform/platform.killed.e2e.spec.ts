import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';

import { loadDataset } from '@undertone/datasets';

import { trustedKeys } from '../api/mechanisms';
import { type JobView, PlatformClient } from '../api/platform-client';
import { settledCounts } from '../api/tasks';
import { simulateDevices } from '../devices/device-fleet';
import { Terminal } from '../output/terminal';
import { PlatformProcess } from './platform-process';

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

const never = new AbortController().signal;
const quiet = new Terminal({ style: 'json', out: new PassThrough() as unknown as NodeJS.WriteStream });

/** A small fit that takes some seconds. */
const request = {
  name: 'digits',
  dataset: { source: 'mnist', part: 'train', select: { seed: 1, offset: 0, count: 2_000 } },
  d1: 'public',
  epsilon: 8,
  lambda: 0.5,
  seed: 1,
  settings: { hidden: [256], epochs: 100, batch: 100 },
};

describe('undertone up, killed with SIGKILL', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'undertone-killed-'));
  let port: number;
  let platform: PlatformProcess;
  let api: PlatformClient;

  const start = async (): Promise<void> => {
    platform = await PlatformProcess.start({
      home,
      port,
      environment: { ...process.env, UNDERTONE_JOB_LEASE_MS: '2000', UNDERTONE_LOG_LEVEL: 'warn' },
    });
    api = new PlatformClient(platform.url);
  };
  const jobPath = async (): Promise<string> =>
    `/v1/mechanisms/jobs/${(await api.post<{ id: string }>('/v1/mechanisms/jobs', request)).id}`;
  const mechanismOf = (job: JobView): string => (job.result as { mechanism: string }).mechanism;

  beforeAll(async () => {
    port = await freePort();
    await start();
  }, 60_000);

  afterAll(async () => {
    await platform.stop();
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  let uninterrupted: string;

  it('mid-job: the job goes on from its checkpoint and ends with the same weights', async () => {
    const whole = await api.followJob(await jobPath(), () => {});
    uninterrupted = mechanismOf(whole);
    expect(whole.attempt).toBe(1);

    const again = await jobPath();
    for (;;) {
      const { status, progress } = await api.get<JobView>(again);
      // A job that has ended can't be interrupted: then the request above is too small for this machine.
      expect(['queued', 'running']).toContain(status);
      if (progress?.stage === 'fit the encoder' && progress.done > progress.total / 4) break;
      await new Promise((r) => setTimeout(r, 20));
    }
    await platform.kill();
    await start();

    const resumedAt: number[] = [];
    const resumed = await api.followJob(again, ({ progress }) => resumedAt.push(progress?.done ?? 0));
    expect(resumed.attempt).toBe(2);
    // The artifact's id is the hash of its bytes: equal ids are equal weights.
    expect(mechanismOf(resumed)).toBe(uninterrupted);
  }, 120_000);

  it('mid-collection: every accepted report is in the table, once', async () => {
    const task = 'killed-mid-collection';
    await api.post('/v1/tasks', { name: task, artifact: uninterrupted });
    const data = loadDataset(
      { source: 'mnist', part: 'train', select: { seed: 1, offset: 2_000, count: 3_000 } },
      { roots: [] },
    );
    let killed: Promise<void> | undefined;
    const kill = async (): Promise<void> => {
      await platform.kill();
      await start();
    };
    const fleet = await simulateDevices({
      url: api.url,
      task,
      trustedKeys: await trustedKeys(api),
      data,
      maximumEpsilon: 8,
      resend: 0,
      remember: 0,
      onReport: (done) => {
        if (done === 1_000) killed = kill();
      },
      terminal: quiet,
      signal: never,
    });
    await killed;
    expect(killed).toBeDefined();
    const counts = await settledCounts(api, task, never);
    expect(fleet).toMatchObject({ devices: 3_000, accepted: 3_000, rejected: 0 });
    // A repeat is a report whose first answer died with the platform.
    expect(counts).toMatchObject({ stored: 3_000, rejected: {}, waiting: 0 });
    expect(counts.repeated).toBeLessThanOrEqual(48);
  }, 120_000);
});
