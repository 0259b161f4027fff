import { type LogBatch, type LogConsumer } from '@undertone/report-log';

import { type EntryOutcome } from '../counts/outcome-counts';
import { type CollectionTask } from '../tasks/collection-task';
import { checkEntries } from './entry-check';
import { type EntrySink } from './report-writer';

/** Takes reports from the log into the table. */
export class IngestConsumer implements LogConsumer {
  /** @param counted is told what became of the entries of each batch, once that is committed */
  constructor(
    readonly name: string,
    private readonly sink: EntrySink,
    private readonly findTask: (name: string) => Promise<CollectionTask | undefined>,
    private readonly counted: (tallies: readonly EntryOutcome[]) => void,
  ) {}

  positionOf(partition: number): Promise<bigint | undefined> {
    return this.sink.positionOf(partition);
  }

  async handle({ partition, entries }: LogBatch): Promise<void> {
    const checked = await checkEntries(entries, this.findTask);
    this.counted(await this.sink.write(partition, checked, entries[entries.length - 1].offset));
  }
}

/** Positions belong to a log: another log's offsets mean something else. */
export const consumerName = (logName: string): string => `ingest/${logName}`;
