import { encodeReports, type Report } from '@undertone/protocol';
import {
  type ConsumerFailure,
  type LogConsumer,
  type ReportLog,
  type Subscription,
} from '@undertone/report-log';

import { consumerName, IngestConsumer } from '../src/ingest/ingest-consumer';
import { type EntrySink } from '../src/ingest/report-writer';
import { admitReports } from '../src/reports/report-admission';
import { type CollectionTask } from '../src/tasks/collection-task';
import { type CrashPlan } from './crash-plan';
import { TASKS } from './sample-entries';
import { SimulatedProcess } from './simulated-process';

/** What a gateway is made of; all of it was opened in the gateway's process. */
export interface GatewayParts {
  readonly log: ReportLog;
  readonly sink: EntrySink;
  /** Ends what runs beside the ingest: once after the intake and the ingest have stopped, before the log closes. */
  stop(): Promise<void>;
  /** After the log. */
  close(): Promise<void>;
}

export interface GatewaySurroundings {
  readonly plan: CrashPlan;
  /** Whether the log is told how far the ingest is; where not, a crash at that step comes after the batch. */
  readonly commitsOffsets: boolean;
  readonly open: (
    process: SimulatedProcess,
    onFailure: (failure: ConsumerFailure) => void,
  ) => Promise<GatewayParts>;
  readonly onFailure: (failure: ConsumerFailure) => void;
  readonly onDeath: (reason: Error) => void;
}

/** One gateway: takes reports in, and its ingest shares the log with those of the others. */
export class SimulatedGateway {
  readonly started: Promise<void>;
  private readonly process = new SimulatedProcess();
  private ready: { parts: GatewayParts; consumer: LogConsumer; subscription: Subscription } | undefined;
  private ended: Promise<void> | undefined;

  constructor(private readonly surroundings: GatewaySurroundings) {
    this.started = this.process
      .run(() => this.start())
      .catch((error: unknown) => {
        if (this.process.alive) throw error;
      });
    void this.process.died.then(() => this.stop()).catch(() => undefined);
  }

  get alive(): boolean {
    return this.process.alive && this.ended === undefined;
  }

  /** Whether it takes requests. */
  get isUp(): boolean {
    return this.alive && this.ready !== undefined;
  }

  /** Resolves to whether the device's request was answered with the receipt. */
  async send(task: CollectionTask, reports: readonly Report[]): Promise<boolean> {
    const { log } = this.ready!.parts;
    const answer = this.process.run(async () => {
      const receipt = await admitReports(task, encodeReports([...reports]), 'application/cbor', {
        append: (records) => log.append(records),
        count: async () => undefined,
      });
      expect(receipt).toEqual({ accepted: reports.length, rejected: [] });
      return true;
    });
    return Promise.race([
      answer.catch((error: Error) => {
        if (error.name !== 'ReportLogError') throw error;
        return false;
      }),
      this.process.died.then(() => false),
    ]);
  }

  lag(): Promise<number> {
    const { parts, consumer } = this.ready!;
    return this.process.run(() => parts.log.lag(consumer));
  }

  /** As `ReportLog.discard`, no further than `limits` says. */
  discard(limits: (partition: number) => bigint, limit: number): Promise<number> {
    const { parts, consumer } = this.ready!;
    const positionOf = async (partition: number): Promise<bigint | undefined> => {
      const position = await consumer.positionOf(partition);
      return position === undefined || position < limits(partition) ? position : limits(partition);
    };
    return this.process.run(() => parts.log.discard({ positionOf }, limit));
  }

  /** Ends in order: intake, ingest, log. Of a killed one, what goes on running without effect. */
  stop(): Promise<void> {
    return (this.ended ??= this.process.run(() => this.end()));
  }

  kill(): void {
    this.process.kill();
  }

  private async start(): Promise<void> {
    const { surroundings, process } = this;
    const parts = await surroundings.open(process, (failure) => {
      if (process.alive) surroundings.onFailure(failure);
    });
    const name = consumerName(parts.log.name);
    const ingest = new IngestConsumer(
      name,
      parts.sink,
      async (task) => TASKS.find((known) => known.name === task),
      () => undefined,
    );
    const consumer: LogConsumer = {
      name,
      positionOf: (partition) => ingest.positionOf(partition),
      handle: async (batch) => {
        await ingest.handle(batch);
        if (!surroundings.commitsOffsets && surroundings.plan.reach('offset-commit')) process.kill();
      },
    };
    const subscription = parts.log.subscribe(consumer);
    void subscription.died.then((reason) => {
      if (process.alive) surroundings.onDeath(reason);
    });
    this.ready = { parts, consumer, subscription };
  }

  private async end(): Promise<void> {
    await this.started.catch(() => undefined);
    if (this.ready === undefined) return;
    const { parts, subscription } = this.ready;
    await subscription.stop();
    await parts.stop();
    await parts.log.close();
    await parts.close();
  }
}
