/**
 * Compares what devices had acknowledged with what is in the table and in the counts, by queries of its own.
 *
 * @param {import('pg').Pool} pool
 * @param {string} task
 * @param {import('./fleet.mjs').Fleet} fleet everything that it sent must be acknowledged or refused
 */
export async function audit(pool, task, fleet) {
  const { rows } = await pool.query(
    `SELECT encode(id, 'hex') AS id, encode(payload, 'hex') AS payload FROM reports WHERE task = $1`,
    [task],
  );
  const stored = new Map(rows.map(({ id, payload }) => [id, payload]));
  const counted = await countsOf(pool, task);
  const altered = rows.filter(({ id, payload }) => fleet.sent.get(id) !== payload).length;
  const lost = [...fleet.sent.keys()].filter((id) => !stored.has(id)).length - fleet.rejected;
  return {
    sent: fleet.sent.size,
    acked: fleet.acked,
    stored: rows.length,
    lost,
    /** In the table more than once, or counted more often than stored. */
    duplicated: rows.length - stored.size + Math.max(0, counted.stored - rows.length),
    /** Of no report that was sent, or with another payload. */
    altered,
    rejected: fleet.rejected + counted.rejected,
    counted,
  };
}

export async function countsOf(pool, task) {
  const { rows } = await pool.query(
    `SELECT outcome, sum(count)::int AS count FROM outcome_counts WHERE task = $1 GROUP BY outcome`,
    [task],
  );
  const of = (outcome) => rows.find((row) => row.outcome === outcome)?.count ?? 0;
  const rejected = rows
    .filter(({ outcome }) => outcome !== 'stored' && outcome !== 'repeated')
    .reduce((sum, { count }) => sum + count, 0);
  return { stored: of('stored'), repeated: of('repeated'), rejected };
}

/** The log itself, read from outside: how many acknowledged reports it lacks, and how many messages repeat one. */
export function auditLog(messages, fleet) {
  const ids = new Set(messages.map(({ key }) => key?.toString('hex')));
  const missing = [...fleet.sent.keys()].filter((id) => !ids.has(id)).length - fleet.rejected;
  return { messages: messages.length, repeats: messages.length - ids.size, missing };
}

/** What must hold after any fault run. */
export function hasHeld({ sent, acked, stored, lost, duplicated, altered, rejected, counted }, log) {
  return (
    acked === sent &&
    stored === acked &&
    counted.stored === stored &&
    [lost, duplicated, altered, rejected].every((count) => count === 0) &&
    (log === undefined || (log.missing === 0 && log.messages === counted.stored + counted.repeated))
  );
}
