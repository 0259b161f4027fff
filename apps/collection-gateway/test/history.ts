import fc from 'fast-check';

import { type Crash } from './crash-plan';

/** How an append fails while the log is broken, where the adapter can choose. */
export type Breakage = 'nothing written' | 'half written' | 'all written';

/** Numbers beyond what there is count round. */
export type Operation =
  /** A device sends; it sends the same bytes again, some operations later, until it has an answer. */
  | {
      readonly kind: 'send';
      readonly reports: readonly number[];
      readonly gateway: number;
      /** `lost`: the request doesn't arrive; `unanswered`: it does, and the answer is lost. */
      readonly fate: 'answered' | 'unanswered' | 'lost';
      /** Operations for which the request is on its way: others overtake it. */
      readonly delay: number;
      /** Operations after which the device tries again. */
      readonly patience: number;
      /** `meanwhile`: what follows happens at the same time. */
      readonly next: 'afterwards' | 'meanwhile';
    }
  /** A device sends again what it has an answer to. */
  | { readonly kind: 'repeat'; readonly send: number; readonly gateway: number }
  /** Someone else writes to the log. */
  | { readonly kind: 'smuggle'; readonly entry: number }
  | { readonly kind: 'smuggle-bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'crash'; readonly crash: Crash }
  /** A gateway more, up to three. */
  | { readonly kind: 'join' }
  /** A gateway stops in order. */
  | { readonly kind: 'leave'; readonly gateway: number }
  /** A gateway ends as by `kill -9`. */
  | { readonly kind: 'kill'; readonly gateway: number }
  /** The log's server goes away, for some operations. */
  | { readonly kind: 'break-log'; readonly breakage: Breakage; readonly operations: number }
  /** The tables' server drops every connection. */
  | { readonly kind: 'cut-database' }
  /** Consumed entries are deleted. */
  | { readonly kind: 'sweep'; readonly limit: number }
  | { readonly kind: 'pause'; readonly ms: number }
  /** Until nothing waits. */
  | { readonly kind: 'settle' };

type Kind = Operation['kind'];
type OfKind<K extends Kind> = Extract<Operation, { readonly kind: K }>;

const number = fc.nat(11);

const crash: fc.Arbitrary<Crash> = fc.record({
  step: fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        at: fc.constant('statement' as const),
        number: fc.integer({ min: 1, max: 12 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ at: fc.constant('offset-commit' as const) }) },
  ),
  when: fc.constantFrom('before' as const, 'after' as const),
  loses: fc.constantFrom('connection' as const, 'process' as const),
});

const PARTS: { [K in Kind]: fc.Arbitrary<Omit<OfKind<K>, 'kind'>> } = {
  send: fc.record({
    reports: fc.array(number, { minLength: 1, maxLength: 8 }),
    gateway: number,
    fate: fc.constantFrom(
      ...(['answered', 'answered', 'answered', 'unanswered', 'unanswered', 'lost'] as const),
    ),
    delay: fc.constantFrom(0, 0, 0, 1, 2, 3),
    patience: fc.integer({ min: 1, max: 4 }),
    next: fc.constantFrom('afterwards' as const, 'meanwhile' as const),
  }),
  repeat: fc.record({ send: number, gateway: number }),
  smuggle: fc.record({ entry: number }),
  'smuggle-bytes': fc.record({ bytes: fc.uint8Array({ maxLength: 64 }) }),
  crash: fc.record({ crash }),
  join: fc.constant({}),
  leave: fc.record({ gateway: number }),
  kill: fc.record({ gateway: number }),
  'break-log': fc.record({
    breakage: fc.constantFrom('nothing written' as const, 'half written' as const, 'all written' as const),
    operations: fc.integer({ min: 1, max: 4 }),
  }),
  'cut-database': fc.constant({}),
  sweep: fc.record({ limit: fc.integer({ min: 1, max: 20 }) }),
  pause: fc.record({ ms: fc.integer({ min: 1, max: 20 }) }),
  settle: fc.constant({}),
};

const WEIGHTS: Record<Kind, number> = {
  send: 12,
  repeat: 3,
  smuggle: 3,
  'smuggle-bytes': 1,
  crash: 5,
  join: 2,
  leave: 2,
  kill: 2,
  'break-log': 2,
  'cut-database': 1,
  sweep: 1,
  pause: 1,
  settle: 1,
};

export interface HistorySettings {
  /** How often kinds of operations come; 0 leaves one out. */
  readonly weights?: Partial<Record<Kind, number>>;
  /** Operations; 25 unless given. */
  readonly maximumLength?: number;
}

export function histories({ weights = {}, maximumLength = 25 }: HistorySettings): fc.Arbitrary<Operation[]> {
  const all = { ...WEIGHTS, ...weights };
  const operation = fc.oneof(
    ...(Object.keys(PARTS) as Kind[])
      .filter((kind) => all[kind] > 0)
      .map((kind) => ({
        weight: all[kind],
        arbitrary: (PARTS[kind] as fc.Arbitrary<object>).map((rest) => ({ kind, ...rest }) as Operation),
      })),
  );
  return fc.array(operation, { minLength: 1, maxLength: maximumLength, size: 'max' });
}
