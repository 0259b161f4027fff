import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

import { availableBackends } from '../../testing/backends';

const script = path.join(__dirname, '..', '..', 'testing', 'killed-training.cjs');

/** Runs the training in a process of its own, killed with no chance to tidy up when it says `killAt`. */
async function train(checkpoint: string, backend: string, killAt?: string): Promise<string | undefined> {
  const child = spawn(process.execPath, [script, checkpoint, backend], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let learnt: string | undefined;
  for await (const line of readline.createInterface({ input: child.stdout })) {
    if (line === killAt) child.kill('SIGKILL');
    if (line.startsWith('learnt')) learnt = line;
  }
  return learnt;
}

describe('a training process killed with SIGKILL', () => {
  it.each(availableBackends.slice(0, 1))(
    'ends, once started again, with the bytes of one never killed (%s)',
    async (backend) => {
      const folder = mkdtempSync(path.join(os.tmpdir(), 'killed-'));
      try {
        const whole = await train(path.join(folder, 'whole'), backend);
        expect(whole).toMatch(/^learnt [0-9a-f]{64} resumed at 0$/);

        const checkpoint = path.join(folder, 'killed');
        for (const killAt of ['step 7', 'step 20', 'step 48']) {
          expect(await train(checkpoint, backend, killAt)).toBeUndefined();
        }
        const last = await train(checkpoint, backend);
        expect(last?.split(' ')[1]).toBe(whole?.split(' ')[1]);
        expect(Number(last?.split(' ').at(-1))).toBeGreaterThanOrEqual(40);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    60_000,
  );
});
