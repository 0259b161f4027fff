import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';

/** Resolves when all is well, with what is worth showing of it; rejects with what is wrong. */
export type ReadinessCheck = () => Promise<void | Readonly<Record<string, string | number>>>;

/** What a service needs to answer requests; modules add their own checks as they start. */
@Injectable()
export class Readiness implements BeforeApplicationShutdown {
  private readonly checks = new Map<string, ReadinessCheck>();
  private stopping = false;

  add(name: string, check: ReadinessCheck): void {
    if (this.checks.has(name)) throw new Error(`there is a readiness check named "${name}" already`);
    this.checks.set(name, check);
  }

  all(): [name: string, check: ReadinessCheck][] {
    const stopped = (): Promise<void> => Promise.reject(new Error('the service is stopping'));
    return this.stopping ? [['service', stopped]] : [...this.checks];
  }

  /** From now on the service says that it takes no more requests. */
  stop(): void {
    this.stopping = true;
  }

  beforeApplicationShutdown(): void {
    this.stop();
  }
}
