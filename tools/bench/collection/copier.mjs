import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import path from 'node:path';

/**
 * The ceiling: as many rows of the same shape go into a table with the same key by one server-side COPY from a file,
 * with no network, no process and no decision in between. Answers rows a second.
 */
export async function copyRows(pool, { folder, task, artifact, payloadBytes, count }) {
  const file = path.join(folder, 'rows.csv');
  const hex = (bytes) => `\\x${randomBytes(bytes).toString('hex')}`;
  const at = new Date().toISOString();
  const row = () => `${task},${hex(16)},${artifact},${hex(payloadBytes)},${at}`;
  writeFileSync(file, Array.from({ length: count }, row).join('\n'));
  chmodSync(file, 0o644);
  await pool.query('CREATE TABLE IF NOT EXISTS copied (LIKE reports INCLUDING ALL)');
  await pool.query('TRUNCATE copied');
  const began = performance.now();
  await pool.query(`COPY copied FROM '${file}' WITH (FORMAT csv)`);
  const seconds = (performance.now() - began) / 1000;
  rmSync(file);
  return count / seconds;
}

/** What a gateway without a log would do: each report in an INSERT of its own. Answers rows a second. */
export async function insertRows(pool, { task, artifact, payloadBytes, count, connections }) {
  await pool.query('CREATE TABLE IF NOT EXISTS inserted (LIKE reports INCLUDING ALL)');
  await pool.query('TRUNCATE inserted');
  const rows = Array.from({ length: count }, () => [
    task,
    randomBytes(16),
    artifact,
    randomBytes(payloadBytes),
  ]);
  const clients = await Promise.all(Array.from({ length: connections }, () => pool.connect()));
  const began = performance.now();
  await Promise.all(
    clients.map(async (client) => {
      for (let values = rows.pop(); values !== undefined; values = rows.pop()) {
        await client.query({
          name: 'insert-one',
          text: `INSERT INTO inserted (task, id, artifact, payload, received_at)
                 VALUES ($1, $2, $3, $4, now()) ON CONFLICT DO NOTHING`,
          values,
        });
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  for (const client of clients) client.release();
  return count / seconds;
}
