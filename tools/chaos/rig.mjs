import { setTimeout as pause } from 'node:timers/promises';

import { load } from '../bench/collection/packages.mjs';
import { Stage } from '../bench/collection/stage.mjs';
import { ChaosCluster } from './chaos-cluster.mjs';
import { SupervisedGateway } from './supervised-gateway.mjs';

export const PATIENCE_MS = 180_000;

/**
 * PostgreSQL, with `brokers` > 0 a Kafka cluster with the reports' topics, and supervised gateways that each take
 * reports and ingest them.
 */
export async function openRig(stops, { brokers, gateways, log }) {
  const stage = await Stage.open(stops);
  log('PostgreSQL runs');
  let cluster;
  if (brokers > 0) {
    cluster = await ChaosCluster.start(stops, brokers);
    log(`${brokers} broker(s) run: ${cluster.brokers.join(', ')}`);
  }
  const supervised = await Promise.all(
    Array.from({ length: gateways }, (_, i) =>
      SupervisedGateway.start(`gateway-${i + 1}`, {
        databaseUrl: stage.databaseUrl,
        brokers: cluster?.brokers,
      }),
    ),
  );
  stops.add(() => Promise.all(supervised.map((gateway) => gateway.close())));
  log(`${gateways} gateway(s) run: ${supervised.map(({ url }) => url).join(', ')}`);
  return { stage, cluster, gateways: supervised, task: await stage.newTask() };
}

/** @throws when the condition does not hold within three minutes */
export async function until(what, holds, { everyMs = 50, withinMs = PATIENCE_MS } = {}) {
  const end = Date.now() + withinMs;
  let last;
  for (;;) {
    try {
      if (await holds()) return;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end)
      throw new Error(`${what}: not within ${withinMs / 1000} s (${last?.message ?? 'not yet'})`);
    await pause(everyMs);
  }
}

/** Entries of PostgreSQL's log that the ingest is not past; 0 exactly when nothing waits. */
export async function postgresLag(pool) {
  const { rows } = await pool.query(
    `SELECT coalesce(sum(greatest(log.next_offset - 1 - coalesce(past.log_offset, -1), 0)), 0)::int AS lag
     FROM report_log_partitions log LEFT JOIN ingest_positions past USING (partition)`,
  );
  return rows[0].lag;
}

export const libraries = () => load('platform', 'report-log');
