/**
 * Whether a partition's next reports are likely to hold some that the table has. To find that out by a copy that fails
 * costs the copy, and leaves its rows in the table until the next vacuum; so after one, the table is asked first until
 * many reports have come without a repeat. However repeats fall, the rows of failed copies stay a small share.
 */
export class RepeatWatch {
  /** By partition, how many reports without a repeat are still to come. */
  private readonly wary = new Map<number, number>();

  /** @param reports so many without a repeat; 20 full batches unless given */
  constructor(private readonly reports = 100_000) {}

  expectsRepeats(partition: number): boolean {
    return this.wary.has(partition);
  }

  /** The table has a report that was to be added. */
  repeated(partition: number): void {
    this.wary.set(partition, this.reports);
  }

  /** So many reports have been added, and none of them was in the table. */
  wereNew(partition: number, count: number): void {
    const left = (this.wary.get(partition) ?? 0) - count;
    if (left > 0) this.wary.set(partition, left);
    else this.wary.delete(partition);
  }
}
