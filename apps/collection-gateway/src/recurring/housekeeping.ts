import { type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

/** Something that goes on in the background. */
export interface BackgroundWork {
  start(): void;
  /** Resolves when nothing of it runs and nothing will. */
  stop(): Promise<void>;
}

/** Background work that goes on as long as the service runs. */
export class Housekeeping implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(private readonly works: readonly BackgroundWork[]) {}

  onApplicationBootstrap(): void {
    for (const work of this.works) work.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.works.map((work) => work.stop()));
  }
}
