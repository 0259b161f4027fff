import { collect } from '../collect.mjs';
import { copyRows, insertRows } from '../copier.mjs';
import { startGateway } from '../gateway-process.mjs';
import { PAYLOAD_BYTES } from '../sample-reports.mjs';
import { startDevices } from '../workers.mjs';

const BATCHES = { count: 40_000, batch: 500, connections: 8 };
const SINGLES = { count: 6_400, batch: 1, connections: 64 };

/** The whole way on the log in PostgreSQL, in one process: what a set-up without Kafka does. */
export async function run({ stage, stops, alternate, share }) {
  const { pool } = stage.store;
  const scaled = ({ count, batch, connections }) => ({
    count: batch * connections * Math.max(1, Math.round((count * share) / (batch * connections))),
    batch,
    connections,
  });
  const [batches, singles] = [BATCHES, SINGLES].map(scaled);
  const gateway = await startGateway({ databaseUrl: stage.databaseUrl });
  stops.add(() => gateway.stop());
  const devices = startDevices(stops);
  const ours = (shape) => () =>
    collect({ stage, url: gateway.url, devices, pids: { gateway: gateway.pid }, ...shape });
  const table = { task: 'bench', artifact: stage.artifact, payloadBytes: PAYLOAD_BYTES, folder: stage.home };
  return [
    await alternate({
      name: 'postgres-log-batch/copy',
      work: `batches of ${batches.batch} over ${batches.connections} connections through PostgreSQL’s log, until stored`,
      unit: 'reports/s',
      better: 'more',
      ours: ours(batches),
      peer: () => copyRows(pool, { ...table, count: batches.count }),
      peerName: 'one COPY from a file (ceiling)',
      runs: 5,
    }),
    await alternate({
      name: 'postgres-log-single/insert',
      work: `single reports over ${singles.connections} connections through PostgreSQL’s log, until stored`,
      unit: 'reports/s',
      better: 'more',
      ours: ours(singles),
      peer: () => insertRows(pool, { ...table, ...singles }),
      peerName: 'one INSERT a report, no HTTP, no log',
      runs: 5,
    }),
  ];
}
