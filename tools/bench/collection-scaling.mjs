// How the way over Kafka grows: the ingest with 1, 2 and 4 processes on 1, 4 and 16 partitions, and producing to as many.
import { openKafkaStage } from './collection/kafka-stage.mjs';
import { run as ingestScaling } from './collection/parts/ingest-scaling.mjs';
import { run as produceScaling } from './collection/parts/produce-scaling.mjs';
import { Stage } from './collection/stage.mjs';
import { enlargeYoungGeneration } from './collection/young-generation.mjs';
import { withStops } from './form/stops.mjs';

const WORKS = { ingest: ingestScaling, produce: produceScaling };

export const PARTS = Object.keys(WORKS);

export async function run({ parts, share, measure, log }) {
  enlargeYoungGeneration();
  return withStops(async (stops) => {
    const kafka = await openKafkaStage(stops, log);
    if (kafka === undefined) return [];
    const stage = await Stage.open(stops);
    const rows = [];
    for (const part of parts) {
      rows.push(
        ...(await withStops((own) => WORKS[part]({ stage, kafka, stops: own, share, measure, log }))),
      );
    }
    return rows;
  });
}
