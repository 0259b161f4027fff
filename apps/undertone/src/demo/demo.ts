import { disjointSelections, loadDataset } from '@undertone/datasets';
import { type UndertoneConfig } from '@undertone/config';
import { type TaskDocument } from '@undertone/protocol';

import { fitClassifier } from '../api/classifiers';
import { fitMechanism, trustedKeys } from '../api/mechanisms';
import { PlatformClient } from '../api/platform-client';
import { settledCounts, total } from '../api/tasks';
import { type CommandContext } from '../command-context';
import { simulateDevices } from '../devices/device-fleet';
import { type Terminal } from '../output/terminal';
import { PlatformProcess } from '../platform/platform-process';
import { version } from '../version';
import { type DemoReport } from './demo-report';
import { deviceSamples } from './device-samples';

export interface DemoSize {
  name: 'full' | 'quick';
  /** Unlabelled images that the mechanism learns from, D1. */
  auxiliary: number;
  /** Devices with one image and label each, D2. */
  devices: number;
  /** Held-out labelled images. */
  test: number;
  /** Devices that send their bytes a second time. */
  resent: number;
  /** Weighted points that stand for D1's codes. */
  prototypes: number;
  mechanism: Record<string, number>;
  classifier: Record<string, number>;
}

/** The full demo, and a tenth of it; fewer images need more passes over them. */
export const DEMO_SIZES: Record<'full' | 'quick', DemoSize> = {
  full: {
    name: 'full',
    auxiliary: 15_000,
    devices: 45_000,
    test: 10_000,
    resent: 1_000,
    prototypes: 500,
    mechanism: {},
    classifier: {},
  },
  quick: {
    name: 'quick',
    auxiliary: 1_500,
    devices: 4_500,
    test: 1_000,
    resent: 100,
    prototypes: 300,
    mechanism: { epochs: 60, batch: 128 },
    classifier: { epochs: 40 },
  },
};

export interface DemoOptions {
  size: DemoSize;
  epsilon: number;
  lambda: number;
  seed: number;
  config: UndertoneConfig;
  environment: NodeJS.ProcessEnv;
  terminal: Terminal;
  signal: AbortSignal;
}

const SAMPLES = 6;

/** Runs the whole life cycle over HTTP against a platform in a process of its own, and tells what came of it. */
export async function runDemo(options: DemoOptions): Promise<DemoReport> {
  const { size, terminal, signal, config, environment } = options;
  const start = performance.now();
  terminal.say(
    `Undertone ${version}: ${size.auxiliary} unlabelled images to learn a mechanism from, ${size.devices} devices, ε = ${options.epsilon}`,
  );
  const platform = await PlatformProcess.start({
    home: config.home,
    environment: { ...environment, UNDERTONE_LOG_LEVEL: environment.UNDERTONE_LOG_LEVEL ?? 'warn' },
    onLog: (line) => terminal.warn(line),
  });
  try {
    const context = { terminal, config, signal, api: new PlatformClient(platform.url) };
    return await lifeCycle(context, options, start);
  } finally {
    await platform.stop();
  }
}

async function lifeCycle(context: CommandContext, options: DemoOptions, start: number): Promise<DemoReport> {
  const { size, seed, epsilon, lambda, config } = options;
  const { api, terminal, signal } = context;
  const [forMechanism, forDevices] = disjointSelections(seed, [size.auxiliary, size.devices]);
  const train = { source: 'mnist', part: 'train' } as const;
  const held = { source: 'mnist', part: 'test', select: disjointSelections(seed, [size.test])[0] } as const;
  const clock = stopwatch();

  const name = `mnist-${Date.now().toString(36)}`;
  const mechanism = await fitMechanism(context, {
    name,
    dataset: { ...train, select: forMechanism },
    d1: 'public',
    epsilon,
    lambda,
    seed,
    prototypes: size.prototypes,
    settings: size.mechanism,
  });
  const mechanismSeconds = clock();
  terminal.say(
    `  mechanism ${mechanism.id.slice(0, 12)}… learnt and signed (${mechanismSeconds.toFixed(1)} s)`,
  );

  const task = await api.post<TaskDocument>(
    '/v1/tasks',
    { name, artifact: mechanism.id, minimumBatch: 1_000 },
    signal,
  );
  const fleet = await simulateDevices({
    url: api.url,
    task: task.name,
    trustedKeys: await trustedKeys(api),
    data: loadDataset({ ...train, select: forDevices }, { roots: config.dataRoots }),
    maximumEpsilon: epsilon,
    resend: size.resent,
    remember: SAMPLES,
    terminal,
    signal,
  });
  const counts = await settledCounts(api, task.name, signal);
  const collectionSeconds = clock();
  terminal.say(
    `  ${counts.stored} reports stored, ${counts.repeated} repeated, ${total(counts.rejected)} rejected (${collectionSeconds.toFixed(1)} s)`,
  );

  const classifier = await fitClassifier(context, {
    name,
    task: task.name,
    seed,
    settings: size.classifier,
    evaluation: { dataset: held, roof: { ...train, select: forDevices } },
  });
  const classifierSeconds = clock();
  terminal.say(`  classifier ${classifier.id} fitted (${classifierSeconds.toFixed(1)} s)`);

  const { cleanInput, privateInput, ceilingPrivateInput, noPrivacy, auxiliaryOnly } =
    classifier.metrics.evaluation ?? {};
  if (
    cleanInput === undefined ||
    privateInput === undefined ||
    ceilingPrivateInput === undefined ||
    noPrivacy === undefined ||
    auxiliaryOnly === undefined
  )
    throw new Error(
      `classifier ${classifier.id} came back without all of the evaluation that the demo asked for`,
    );
  const { artifact } = fleet;
  const { claim } = artifact.body;
  const part = (of: string) => claim.parts.find((p) => p.of === of)?.epsilon ?? claim.epsilon;
  return {
    version,
    size: size.name,
    dataset: {
      name: 'MNIST',
      auxiliary: size.auxiliary,
      devices: size.devices,
      test: size.test,
      classes: artifact.body.labels.length,
    },
    engine: { backend: classifier.engine.name, library: classifier.engine.library },
    seed,
    epsilon: { total: claim.epsilon, features: part('representation'), label: part('label') },
    lambda,
    claim: {
      kind: inWords(claim.kind),
      neighbouring: inWords(claim.neighbouring),
      composition: claim.composition,
      assumptions: claim.assumptions.map(inWords),
      d1: inWords(claim.d1.kind),
    },
    accuracy: {
      cleanInput: cleanInput.value,
      privateInput: privateInput.value,
      ceilingPrivateInput,
      noPrivacy,
      auxiliaryOnly,
    },
    intervals: { cleanInput, privateInput },
    reports: {
      devices: fleet.devices,
      accepted: fleet.accepted,
      stored: counts.stored,
      repeated: counts.repeated,
      rejected: total(counts.rejected),
      resent: fleet.resent,
    },
    seconds: {
      mechanism: mechanismSeconds,
      collection: collectionSeconds,
      classifier: classifierSeconds,
      total: (performance.now() - start) / 1000,
    },
    artifact: { id: artifact.id, bytes: await artifactBytes(api, artifact.id), signer: artifact.signer },
    classifier: { id: classifier.id },
    task: { name: task.name },
    samples: await deviceSamples(api, mechanism.id, fleet),
  };
}

/** The terms of a claim as a newcomer reads them. */
const WORDS: Record<string, string> = {
  'pure-ldp': 'pure ε-local differential privacy',
  'any-two-records': 'any two records (image and label)',
  public: 'public: the encoder was trained on it without protection',
  'idealised-real-arithmetic':
    'Laplace noise as of real numbers, though computers round (docs/guarantees.md)',
  'one-report-per-record': 'one report a record; a retry sends the same bytes',
};

const inWords = (term: string): string => WORDS[term] ?? term;

/** Seconds since the last call. */
function stopwatch(): () => number {
  let last = performance.now();
  return () => {
    const now = performance.now();
    const seconds = (now - last) / 1000;
    last = now;
    return seconds;
  };
}

async function artifactBytes(api: PlatformClient, id: string): Promise<number> {
  const response = await fetch(new URL(`/v1/artifacts/${id}`, api.url));
  return (await response.arrayBuffer()).byteLength;
}
