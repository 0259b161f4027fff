import { type CommandContext } from '../command-context';
import { followWithProgress } from './follow-job';
import { type PlatformClient } from './platform-client';

/** A mechanism as the service lists it. */
export interface MechanismView {
  id: string;
  name: string;
  labels: string[];
  claim: { epsilon: number; parts: { of: string; epsilon: number }[] };
  createdAt: string;
  [more: string]: unknown;
}

export interface MechanismRequest {
  name: string;
  dataset: unknown;
  d1: 'public';
  epsilon: number;
  lambda: number;
  seed: number;
  prototypes?: number;
  settings?: Record<string, unknown>;
}

/** Queues a fit, follows it and returns the published mechanism. */
export async function fitMechanism(
  context: CommandContext,
  request: MechanismRequest,
): Promise<MechanismView> {
  const { api, signal } = context;
  const job = await api.post<{ id: string }>('/v1/mechanisms/jobs', request, signal);
  const done = await followWithProgress(context, `/v1/mechanisms/jobs/${job.id}`);
  return api.get<MechanismView>(`/v1/mechanisms/${(done.result as { mechanism: string }).mechanism}`, signal);
}

const ID = /^[0-9a-f]{64}$/;

/** An id as it is; a name as the id of its newest mechanism. @throws {ProblemError} `unknown-mechanism` */
export async function mechanismId(
  api: PlatformClient,
  reference: string,
  signal: AbortSignal,
): Promise<string> {
  if (ID.test(reference)) return reference;
  return (await api.get<MechanismView>(`/v1/mechanisms/${encodeURIComponent(reference)}`, signal)).id;
}

/** A real app pins these keys; the simulation asks the platform that it has just started. */
export async function trustedKeys(api: PlatformClient): Promise<string[]> {
  const { keys } = await api.get<{ keys: string[] }>('/v1/signing-keys');
  return keys;
}
