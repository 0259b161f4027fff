import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import fc from 'fast-check';

import { type Checkpoint, loadCheckpoint, saveCheckpoint } from './checkpoint';

const example = (): Checkpoint => ({
  seed: 5,
  fingerprint: 'abc',
  totalSteps: 100,
  history: [{ step: 10, loss: 1 / 3, metrics: { norm: 0.1 } }],
  window: { steps: 2, loss: 0.1 + 0.2, metrics: { norm: 7 } },
  state: {
    step: 12,
    parameters: Float32Array.of(1, -0, 1e-40, NaN),
    firstMoments: Float32Array.of(4, 5, 6, 7),
    secondMoments: Float32Array.of(8, 9, 10, Infinity),
  },
});

describe('a checkpoint file', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'checkpoint-'));
    file = path.join(folder, 'deep', 'job.checkpoint');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('gives back what was saved, to the bit, and leaves nothing else behind', () => {
    expect(loadCheckpoint(file)).toBeUndefined();
    saveCheckpoint(file, example());
    expect(loadCheckpoint(file)).toEqual(example());
    expect(existsSync(`${file}.unfinished`)).toBe(false);
    saveCheckpoint(file, { ...example(), seed: 6 });
    expect(loadCheckpoint(file)?.seed).toBe(6);
  });

  it('gives back any state', () => {
    const vectors = fc
      .nat({ max: 50 })
      .chain((n) => fc.tuple(...[0, 1, 2].map(() => fc.float32Array({ minLength: n, maxLength: n }))));
    fc.assert(
      fc.property(
        vectors,
        fc.nat(),
        fc.string(),
        ([parameters, firstMoments, secondMoments], step, fingerprint) => {
          const state = { step, parameters, firstMoments, secondMoments };
          saveCheckpoint(file, { ...example(), fingerprint, state });
          expect(loadCheckpoint(file)).toEqual({ ...example(), fingerprint, state });
        },
      ),
      { numRuns: 20 },
    );
  });

  it('is refused when a single bit differs, or when it is cut off anywhere', () => {
    saveCheckpoint(file, example());
    const whole = readFileSync(file);
    const refused = (bytes: Buffer) => {
      writeFileSync(file, bytes);
      expect(() => loadCheckpoint(file)).toThrow(
        expect.objectContaining({ code: 'damaged', message: expect.stringContaining(file) }),
      );
    };
    fc.assert(
      fc.property(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 7 }), (place, bit) => {
        const changed = Buffer.from(whole);
        changed[place] ^= 1 << bit;
        refused(changed);
      }),
    );
    fc.assert(fc.property(fc.nat({ max: whole.length - 1 }), (length) => refused(whole.subarray(0, length))));
    refused(Buffer.concat([whole, Buffer.from([0])]));
  });

  it('of a newer version is refused as such', () => {
    saveCheckpoint(file, example());
    const content = readFileSync(file).subarray(0, -32);
    const newer = Buffer.from(content.toString('latin1').replace('"version":1', '"version":2'), 'latin1');
    writeFileSync(file, Buffer.concat([newer, createHash('sha256').update(newer).digest()]));
    expect(() => loadCheckpoint(file)).toThrow(expect.objectContaining({ code: 'future-version' }));
  });

  it('that can’t be written says so and keeps the one before', () => {
    saveCheckpoint(file, example());
    const below = path.join(file, 'a file is no folder');
    expect(() => saveCheckpoint(below, example())).toThrow(
      expect.objectContaining({ code: 'unusable-path', message: expect.stringContaining(below) }),
    );
    expect(loadCheckpoint(file)).toEqual(example());
    expect(() => loadCheckpoint(folder)).toThrow(expect.objectContaining({ code: 'unusable-path' }));
  });
});
