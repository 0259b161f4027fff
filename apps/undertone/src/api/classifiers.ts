import { type CommandContext } from '../command-context';
import { followWithProgress } from './follow-job';

export interface IntervalView {
  value: number;
  low: number;
  high: number;
}

/** A classifier as the service lists it; accuracies are there when it was evaluated on held-out records. */
export interface ClassifierView {
  id: string;
  name: string;
  task: string;
  artifact: string;
  createdAt: string;
  metrics: {
    reports: number;
    evaluation?: {
      cleanInput: IntervalView;
      privateInput?: IntervalView;
      ceilingPrivateInput?: number;
      noPrivacy?: number;
      auxiliaryOnly?: number;
    };
  };
  engine: { name: string; library: string };
  [more: string]: unknown;
}

export interface ClassifierRequest {
  name: string;
  task: string;
  seed: number;
  settings?: Record<string, unknown>;
  evaluation?: { dataset: unknown; roof?: unknown };
}

/** Queues a fit, follows it and returns the stored classifier. */
export async function fitClassifier(
  context: CommandContext,
  request: ClassifierRequest,
): Promise<ClassifierView> {
  const { api, signal } = context;
  const job = await api.post<{ id: string }>('/v1/classifiers/jobs', request, signal);
  const done = await followWithProgress(context, `/v1/classifiers/jobs/${job.id}`);
  return api.get<ClassifierView>(
    `/v1/classifiers/${(done.result as { classifier: string }).classifier}`,
    signal,
  );
}
