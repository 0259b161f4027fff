import * as tf from '@tensorflow/tfjs-core';

import { EngineError } from '../errors';
import { tensorflowBackend } from './tensorflow-backend';

export type BackendName = 'tensorflow' | 'wasm' | 'cpu';

/** Which TensorFlow.js backend computes, and why. */
export interface BackendInfo {
  name: BackendName;
  /** Versions, e.g. `TensorFlow.js 4.22.0, libtensorflow 2.21.0`. */
  library: string;
  /** Whether training steps are recorded as one graph (elsewhere they run operation by operation). */
  recorded: boolean;
  /** Backends that come first but could not be started, with the reason of each. */
  tried: { name: BackendName; failure: string }[];
}

const BEST_FIRST: readonly BackendName[] = ['tensorflow', 'wasm', 'cpu'];

/**
 * Starts the best backend that works here: native TensorFlow, then WebAssembly, then plain JavaScript. With a name in
 * `prefer` only that one will do. Safe to call again; the last call decides.
 *
 * @throws EngineError `backend-unavailable` when the asked backend can't be started
 */
export async function initialiseBackend(
  options: { prefer?: 'auto' | BackendName } = {},
): Promise<BackendInfo> {
  const { prefer = 'auto' } = options;
  // The union package also registers the gradients of all operations with the shared tfjs-core.
  await import('@tensorflow/tfjs');
  const tried: BackendInfo['tried'] = [];
  for (const name of prefer === 'auto' ? BEST_FIRST : [prefer]) {
    try {
      await start(name);
      return { name, library: libraryOf(), recorded: name === 'tensorflow', tried };
    } catch (error) {
      tried.push({ name, failure: firstLine(error) });
    }
  }
  const reasons = tried.map(({ name, failure }) => `${name}: ${failure}`).join('; ');
  throw new EngineError(
    'backend-unavailable',
    `no TensorFlow.js backend could be started (${reasons}); run \`npm run bootstrap\`, or choose another engine`,
  );
}

async function start(name: BackendName): Promise<void> {
  if (name === 'tensorflow') {
    await bringBackIsNullOrUndefined();
    await import('@tensorflow/tfjs-node');
  }
  if (name === 'wasm') await import('@tensorflow/tfjs-backend-wasm');
  // Plain JavaScript is asked for knowingly: its advice to install something faster is noise.
  if (name === 'cpu') tf.env().set('PROD', true);
  if (!(await tf.setBackend(name))) throw new Error('it could not be initialised');
  await tf.ready();
}

/** Node 23 took out a function that tfjs-node still calls. */
async function bringBackIsNullOrUndefined(): Promise<void> {
  const util = (await import('node:util')) as {
    isNullOrUndefined?: (value: unknown) => boolean;
    default?: unknown;
  };
  const target = (util.default ?? util) as typeof util;
  target.isNullOrUndefined ??= (value: unknown) => value === null || value === undefined;
}

function libraryOf(): string {
  const native = tensorflowBackend();
  const core = `TensorFlow.js ${tf.version_core}`;
  return native ? `${core}, libtensorflow ${native.binding.TF_Version}` : core;
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0].trim();
