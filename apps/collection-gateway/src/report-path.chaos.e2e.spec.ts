import { spawn } from 'node:child_process';
import path from 'node:path';

import { describeWithKafka } from '@undertone/report-log/testing';
import { z } from 'zod';

const CHAOS = path.resolve(__dirname, '..', '..', '..', 'tools', 'chaos', 'main.mjs');

const Outcome = z.object({
  held: z.boolean(),
  sent: z.int(),
  acked: z.int(),
  stored: z.int(),
  lost: z.int(),
  duplicated: z.int(),
  gateways: z.array(z.object({ name: z.string(), ends: z.array(z.object({ code: z.unknown() })) })),
});

const EVERYTHING = { held: true, lost: 0, duplicated: 0 };

/** Runs the program, and says what it said where it failed. */
async function play<T extends z.ZodType>(schema: T, ...args: string[]): Promise<z.infer<T>> {
  const child = spawn(process.execPath, [CHAOS, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (data) => (output.stdout += String(data)));
  child.stderr.on('data', (data) => (output.stderr += String(data)));
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`chaos ended with ${String(code)}:\n${output.stderr}\n${output.stdout}`);
  return schema.parse(JSON.parse(output.stdout));
}

describe('without Kafka', () => {
  it('stores each report once when connections are cut and gateways killed', async () => {
    const outcome = await play(Outcome, '--scenario', 'postgres', '--reports', '6000', '--batch', '50');
    expect(outcome).toMatchObject({ ...EVERYTHING, sent: 6_000, acked: 6_000, stored: 6_000 });
    expect(outcome.gateways.map(({ ends }) => ends.map(({ code }) => code))).toEqual([
      [0, 'SIGKILL'],
      ['SIGKILL', 'SIGKILL'],
    ]);
  }, 120_000);
});

describeWithKafka('with Kafka', () => {
  it('stores each report once when a broker and a gateway are killed and another gateway is restarted', async () => {
    const outcome = await play(Outcome, '--scenario', 'faults', '--reports', '6000', '--batch', '50');
    expect(outcome).toMatchObject({ ...EVERYTHING, sent: 6_000, acked: 6_000, stored: 6_000 });
    expect(outcome.gateways.map(({ ends }) => ends.map(({ code }) => code))).toEqual([[0], ['SIGKILL']]);
  }, 180_000);

  it('answers 503, with memory flat, while the broker is away, and loses nothing', async () => {
    const schema = Outcome.extend({
      unavailable: z.object({ answers: z.int(), withRetryAfter: z.int() }),
      memory: z.object({ flat: z.boolean() }),
    });
    const outcome = await play(
      schema,
      ...['--scenario', 'broker-away', '--seconds', '15', '--reports', '4000', '--batch', '50'],
    );
    expect(outcome).toMatchObject({ ...EVERYTHING, acked: 4_000, stored: 4_000, memory: { flat: true } });
    expect(outcome.unavailable.answers).toBeGreaterThan(0);
    expect(outcome.unavailable.withRetryAfter).toBe(outcome.unavailable.answers);
  }, 120_000);

  it('sets garbage on the topic aside, each piece with its reason', async () => {
    const schema = Outcome.extend({
      rejected: z.int(),
      kinds: z.array(z.object({ kind: z.string(), reason: z.string(), reasons: z.array(z.string()) })),
    });
    const outcome = await play(schema, '--scenario', 'garbage', '--reports', '1000', '--batch', '50');
    expect(outcome).toMatchObject({ ...EVERYTHING, stored: 1_000 });
    expect(outcome.kinds.length).toBeGreaterThanOrEqual(9);
    for (const { reason, reasons } of outcome.kinds) expect(reasons).toEqual([reason]);
  }, 120_000);
});
