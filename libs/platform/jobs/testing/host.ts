import { Pool } from 'pg';
import { JobRunner } from '../src/job-runner';
import { countingHandler } from './counting-handler';

/** A service of its own, for specs that kill one: `host.ts DATABASE_URL HOME LEASE_MS`; ends gracefully on SIGTERM. */
const [url, home, leaseMs] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, max: 4 });
const runner = new JobRunner({
  pool,
  table: 'mechanism_jobs',
  kinds: ['count'],
  handlers: [countingHandler()],
  home,
  leaseMs: Number(leaseMs),
  pollMs: 100,
  onEvent: (event) => {
    if (event.type === 'started') process.stdout.write(`trainer ${event.pid}\n`);
  },
});

process.once('SIGTERM', () => {
  void runner
    .stop()
    .then(() => pool.end())
    .then(() => process.exit(0));
});
void runner.start().then(() => process.stdout.write('up\n'));
