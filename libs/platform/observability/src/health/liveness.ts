import { Injectable } from '@nestjs/common';

/** Whether the process can go on at all: modules tell where only a new process helps. */
@Injectable()
export class Liveness {
  private firstFailure: Error | undefined;
  private tell: (failure: Error) => void = () => undefined;

  /** Resolves with the first failure; never where there is none. */
  readonly failed = new Promise<Error>((resolve) => (this.tell = resolve));

  get failure(): Error | undefined {
    return this.firstFailure;
  }

  /** From now on the process counts as dead, and whoever serves it ends it. The first failure stands. */
  fail(failure: Error): void {
    this.firstFailure ??= failure;
    this.tell(failure);
  }
}
