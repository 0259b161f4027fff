import { Factorised } from './factorised/factorised';
import { LdpError } from './ldp-error';
import type { Randomiser, RandomiserSpec } from './randomiser';

/**
 * The randomiser of a spec, as published in an artifact.
 *
 * @throws LdpError `invalid-parameter` where a parameter breaks its rule or this version doesn't know the kind.
 */
export function createRandomiser(spec: RandomiserSpec): Randomiser {
  switch (spec?.kind) {
    case 'factorised':
      return new Factorised(spec);
    default:
      throw new LdpError(
        'invalid-parameter',
        `kind of the randomiser is ${String((spec as { kind?: unknown } | undefined)?.kind)}: this version knows factorised`,
      );
  }
}
