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

/** A real app pins these keys; the simulation asks the platform that it has just started. */
export async function trustedKeys(api: PlatformClient): Promise<string[]> {
  const { keys } = await api.get<{ keys: string[] }>('/v1/signing-keys');
  return keys;
}
