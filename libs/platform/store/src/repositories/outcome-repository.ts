import { type Pool } from 'pg';

/** What became of the reports of a task, counted; written by collection-gateway. */
export class OutcomeRepository {
  constructor(private readonly pool: Pool) {}

  /** Outcome → how often, summed over the shards; an outcome that was never met is absent. */
  async totals(task: string): Promise<Record<string, number>> {
    const { rows } = await this.pool.query<{ outcome: string; total: string }>(
      'SELECT outcome, sum(count) AS total FROM outcome_counts WHERE task = $1 GROUP BY outcome ORDER BY outcome',
      [task],
    );
    return Object.fromEntries(rows.map(({ outcome, total }) => [outcome, Number(total)]));
  }
}
