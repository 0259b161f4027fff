import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { JobRunner } from '@undertone/jobs';

/** Takes jobs while the service runs; as it stops, trainers save and their jobs go back into the queue. */
@Injectable()
export class JobLifecycle implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(private readonly runner: JobRunner) {}

  onApplicationBootstrap(): Promise<void> {
    return this.runner.start();
  }

  onModuleDestroy(): Promise<void> {
    return this.runner.stop();
  }
}
