import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { load } from './packages.mjs';
import { openTask, publishSample } from './sample-task.mjs';

/** A look costs PostgreSQL a tenth of a millisecond, which would be taken from what is measured. */
const POLL_MS = 20;
const PATIENCE_MS = 120_000;

/** What every part stands on: an embedded PostgreSQL that waits for the disk (fsync on), and a published mechanism. */
export class Stage {
  #tasks = 0;

  constructor({ home, database, store, artifact }) {
    /** A folder that the server's account can read. */
    this.home = home;
    this.databaseUrl = database.url;
    this.store = store;
    this.artifact = artifact;
    /** The server's first process. */
    this.postgresPid = Number(
      readFileSync(path.join(home, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0],
    );
  }

  static async open(stops) {
    const { applyMigrations, connectStore, EmbeddedDatabase } = load('platform', 'store');
    const home = mkdtempSync(path.join(os.tmpdir(), 'undertone-bench-'));
    stops.add(() => rmSync(home, { recursive: true, force: true }));
    chmodSync(home, 0o755);
    const database = await EmbeddedDatabase.start({ home });
    stops.add(() => database.stop());
    await applyMigrations(database.url);
    const store = connectStore(database.url, { max: 70 });
    stops.add(() => store.close());
    return new Stage({ home, database, store, artifact: await publishSample(store) });
  }

  /** A new open task: its reports are the first in their part of the table. */
  async newTask() {
    const name = `bench-${++this.#tasks}`;
    await openTask(this.store, name, this.artifact);
    return name;
  }

  /**
   * The reports' topic, new and empty. What the ingest remembers of an earlier one is forgotten: it refuses, rightly, a
   * log that ends before its position.
   */
  async emptyReports(kafka, partitions) {
    const topic = await kafka.emptyReports(partitions);
    await this.store.pool.query('TRUNCATE ingest_positions');
    return topic;
  }

  /** Resolves to the time (ms since 1970) at which all `count` reports of the task were seen to be committed. */
  async stored(task, count) {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      const { rows } = await this.store.pool.query({
        name: 'bench-stored',
        text: `SELECT coalesce(sum(count), 0)::int AS stored FROM outcome_counts WHERE task = $1 AND outcome = 'stored'`,
        values: [task],
      });
      if (rows[0].stored >= count) return Date.now();
      if (Date.now() > end)
        throw new Error(
          `only ${rows[0].stored} of ${count} reports of ${task} were stored in ${PATIENCE_MS / 1000} s`,
        );
      await pause(POLL_MS);
    }
  }
}
