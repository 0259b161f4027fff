// The way of a report: from a device's request to the broker's acknowledgement, from the topic into the table, and the
// whole of it, each against what could be reached at most; then the same without Kafka. Gateway, devices, broker,
// PostgreSQL and each peer are processes of their own. "Stored" means: committed to the report table.
import { openKafkaStage } from './collection/kafka-stage.mjs';
import { run as endToEnd } from './collection/parts/end-to-end.mjs';
import { run as gatewayBatch } from './collection/parts/gateway-batch.mjs';
import { run as gatewaySingle } from './collection/parts/gateway-single.mjs';
import { run as ingest } from './collection/parts/ingest.mjs';
import { run as kafkaConsume } from './collection/parts/kafka-consume.mjs';
import { run as postgresLog } from './collection/parts/postgres-log.mjs';
import { Stage } from './collection/stage.mjs';
import { enlargeYoungGeneration } from './collection/young-generation.mjs';
import { withStops } from './form/stops.mjs';

const NEEDING_KAFKA = {
  'gateway-batch': gatewayBatch,
  'gateway-single': gatewaySingle,
  ingest,
  'kafka-consume': kafkaConsume,
  'end-to-end': endToEnd,
};
const WITHOUT_KAFKA = { 'postgres-log': postgresLog };

export const PARTS = [...Object.keys(NEEDING_KAFKA), ...Object.keys(WITHOUT_KAFKA)];

export async function run({ parts, share, alternate, measure, log }) {
  enlargeYoungGeneration();
  return withStops(async (stops) => {
    const stage = await Stage.open(stops);
    const kafka = parts.some((part) => part in NEEDING_KAFKA) ? await openKafkaStage(stops, log) : undefined;
    const rows = [];
    for (const part of parts) {
      if (part in NEEDING_KAFKA && kafka === undefined) continue;
      const work = NEEDING_KAFKA[part] ?? WITHOUT_KAFKA[part];
      rows.push(
        ...(await withStops((own) => work({ stage, kafka, stops: own, share, alternate, measure, log }))),
      );
    }
    return rows;
  });
}
