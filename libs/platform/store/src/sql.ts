import { type Pool, type PoolClient } from 'pg';

/** A pool, a connection or a transaction, as far as a repository uses one. */
export interface Sql {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>;
}

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. A connection that is lost on the
 * way fails the transaction and is not used again.
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (transaction: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  // Lost between two statements, a connection says so by an event, which would end the process if nobody listened.
  let broken: Error | undefined;
  const lost = (error: Error): void => void (broken = error);
  client.on('error', lost);
  try {
    await client.query('BEGIN');
    const value = await work(client);
    await client.query('COMMIT');
    return value;
  } catch (error) {
    await client.query('ROLLBACK').catch(lost);
    throw error;
  } finally {
    if (broken === undefined) client.off('error', lost);
    client.release(broken);
  }
}
