import { createHash } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';

import { CheckpointError } from '../errors';
import { type StepState } from '../step/step-definition';

/** Means over the steps since the entry before it; `step` counts the steps done. */
export interface HistoryEntry {
  step: number;
  loss: number;
  metrics: Record<string, number>;
}

/** Sums since the last entry of the history, so that a resumed training goes on in the middle of one. */
export interface HistoryWindow {
  steps: number;
  loss: number;
  metrics: Record<string, number>;
}

/** Everything that a training needs to go on as if it had never stopped. */
export interface Checkpoint {
  seed: number;
  /** Of what is trained, on what, and how (`fingerprintOf`); another training must not go on from here. */
  fingerprint: string;
  totalSteps: number;
  history: HistoryEntry[];
  window: HistoryWindow;
  state: StepState;
}

const MAGIC = Buffer.from('undertone checkpoint\n');
const VERSION = 1;
const DIGEST_BYTES = 32;
const VECTORS = ['parameters', 'firstMoments', 'secondMoments'] as const;

/**
 * Writes a checkpoint in place of the one before it, in one step: after a crash at any moment the file is the old one
 * or the new one, whole. Layout: magic, header length (uint32 LE), header (JSON), three float32 vectors (LE), SHA-256
 * of all before it.
 *
 * @throws CheckpointError `unusable-path`
 */
export function saveCheckpoint(file: string, checkpoint: Checkpoint): void {
  const { state, ...described } = checkpoint;
  const header = Buffer.from(
    JSON.stringify({ version: VERSION, ...described, step: state.step, values: state.parameters.length }),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  const parts = [MAGIC, length, header, ...VECTORS.map((name) => littleEndian(state[name]))];
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  parts.push(hash.digest());

  const unfinished = `${file}.unfinished`;
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    const target = openSync(unfinished, 'w', 0o600);
    try {
      for (const part of parts) writeAll(target, part);
      fsyncSync(target);
    } finally {
      closeSync(target);
    }
    renameSync(unfinished, file);
    syncFolder(path.dirname(file));
  } catch (error) {
    discard(unfinished);
    throw new CheckpointError(
      'unusable-path',
      `the checkpoint ${file} can't be written: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
}

/**
 * @returns the checkpoint, or undefined when there is no such file
 * @throws CheckpointError `damaged`, `future-version` or `unusable-path`
 */
export function loadCheckpoint(file: string): Checkpoint | undefined {
  const bytes = read(file);
  if (!bytes) return undefined;
  const damaged = (reason: string): CheckpointError =>
    new CheckpointError('damaged', `the checkpoint ${file} is damaged (${reason}): remove it to start over`);

  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw damaged('it does not begin as one');
  const content = bytes.subarray(0, -DIGEST_BYTES);
  if (!createHash('sha256').update(content).digest().equals(bytes.subarray(-DIGEST_BYTES))) {
    throw damaged('its checksum does not match');
  }
  const headerBegin = MAGIC.length + 4;
  const headerEnd = headerBegin + content.readUInt32LE(MAGIC.length);
  const { version, step, values, ...described } = JSON.parse(
    content.toString('utf8', headerBegin, headerEnd),
  );
  if (version > VERSION) {
    throw new CheckpointError(
      'future-version',
      `the checkpoint ${file} has version ${version}, this software reads up to ${VERSION}: use a newer one`,
    );
  }
  if (content.length !== headerEnd + VECTORS.length * values * 4) throw damaged('its length is wrong');
  const vectors = VECTORS.map((_, i) => floats(content, headerEnd + i * values * 4, values));
  const [parameters, firstMoments, secondMoments] = vectors;
  return { ...described, state: { step, parameters, firstMoments, secondMoments } };
}

function read(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CheckpointError('unusable-path', `the checkpoint ${file} can't be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function discard(unfinished: string): void {
  try {
    rmSync(unfinished, { force: true });
  } catch {
    // What stopped the writing stops this as well, and is what the caller should hear.
  }
}

function writeAll(target: number, part: Buffer): void {
  for (let done = 0; done < part.length;) done += writeSync(target, part, done);
}

/** A rename is durable only when its folder is. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

function littleEndian(values: Float32Array): Buffer {
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  return isLittleEndian ? bytes : Buffer.from(bytes).swap32();
}

function floats(bytes: Buffer, begin: number, count: number): Float32Array {
  const copy = Buffer.from(bytes.subarray(begin, begin + 4 * count));
  if (!isLittleEndian) copy.swap32();
  return new Float32Array(copy.buffer.slice(copy.byteOffset, copy.byteOffset + 4 * count));
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
