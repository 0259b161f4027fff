// The ingest ceiling, in a process of its own: one COPY FROM STDIN of a buffer built beforehand, in the binary format,
// into a table of the reports' shape, key and partitioning. Works { kind: 'prepare', … } and { kind: 'copy' }.
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

import { serveWork } from '../form/worker.mjs';
import { sampleReports } from './sample-reports.mjs';

const [databaseUrl] = process.argv.slice(2);
const client = new pg.Client(databaseUrl);
await client.connect();

const HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)]);
const END = Buffer.from([0xff, 0xff]);
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0, 1);

let rows = Buffer.alloc(0);

async function prepare({ task, artifact, count }) {
  const now = Buffer.alloc(8);
  now.writeBigInt64BE(BigInt(Date.now() - POSTGRES_EPOCH_MS) * 1000n);
  const encoded = sampleReports({ task, artifact, count }).map((report) =>
    row([Buffer.from(task), report.id, Buffer.from(artifact), report.payload, now]),
  );
  rows = Buffer.concat([HEADER, ...encoded, END]);
  await client.query('DROP TABLE IF EXISTS copied');
  await client.query('CREATE TABLE copied (LIKE reports INCLUDING ALL) PARTITION BY LIST (task)');
  await client.query(
    `CREATE TABLE copied_here PARTITION OF copied FOR VALUES IN (${client.escapeLiteral(task)})`,
  );
  return { bytes: rows.length };
}

async function copy() {
  const began = performance.now();
  await new Promise((resolve, reject) => {
    const stream = client.query(
      copyFrom('COPY copied (task, id, artifact, payload, received_at) FROM STDIN WITH (FORMAT binary)'),
    );
    stream.once('finish', resolve).once('error', reject).end(rows);
  });
  return { seconds: (performance.now() - began) / 1000 };
}

function row(fields) {
  const count = Buffer.alloc(2);
  count.writeInt16BE(fields.length);
  const parts = fields.flatMap((field) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(field.length);
    return [length, field];
  });
  return Buffer.concat([count, ...parts]);
}

await serveWork(
  (work) => (work.kind === 'prepare' ? prepare(work) : copy()),
  () => client.end(),
);
