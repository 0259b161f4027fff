import { createRequire } from 'node:module';

import { type BackendName, initialiseBackend } from '../src/backend/initialise-backend';

/** Why native TensorFlow can't be used here; undefined where it can. */
export const nativeFailure = ((): string | undefined => {
  try {
    createRequire(__filename)('@tensorflow/tfjs-node');
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    // Set-up builds it there, so its absence is a fault and no circumstance.
    if (process.env.CI) throw new Error(`native TensorFlow must be there in CI: ${reason}`, { cause: error });
    return reason;
  }
})();

/** The engine's backends that can be started here. */
export const availableBackends: readonly BackendName[] = nativeFailure
  ? ['wasm', 'cpu']
  : ['tensorflow', 'wasm', 'cpu'];

/** A `describe` for the native backend; where it is absent, a skipped one that says why. */
export function describeNative(title: string, body: () => void): void {
  if (nativeFailure) {
    describe.skip(`${title} (skipped: native TensorFlow is absent: ${nativeFailure})`, body);
    return;
  }
  describe(`${title} (tensorflow)`, () => {
    beforeAll(() => initialiseBackend({ prefer: 'tensorflow' }));
    body();
  });
}

/** The same `describe` on each backend that can be started. */
export function describeEachBackend(title: string, body: (backend: BackendName) => void): void {
  describe.each(availableBackends)(`${title} (%s)`, (backend) => {
    beforeAll(() => initialiseBackend({ prefer: backend }));
    body(backend);
  });
}
