import { watchProcesses } from '../../form/process-use.mjs';
import { startGateway } from '../gateway-process.mjs';
import { startDevices, startProducer } from '../workers.mjs';

const BATCH = 500;
const CONNECTIONS = 16;
const PARTITIONS = 3;

/** The batch endpoint in front of Kafka against raw kafkajs with the same messages, each until acknowledged. */
export async function run({ stage, kafka, stops, alternate, share }) {
  const count = CONNECTIONS * BATCH * Math.max(1, Math.round(12 * share));
  await kafka.emptyReports(PARTITIONS);
  const twin = await kafka.emptyTwin('bench.produce', PARTITIONS);
  const task = await stage.newTask();
  const { artifact, databaseUrl } = stage;
  const gateway = await startGateway({ databaseUrl, brokers: kafka.brokers, parts: 'edge' });
  stops.add(() => gateway.stop());
  const devices = startDevices(stops);
  const producer = startProducer(stops, kafka.brokers.join(','));
  await devices.ask({ kind: 'prepare', task, artifact, count, batch: BATCH });
  await producer.ask({ kind: 'prepare', task, artifact, count, partitions: PARTITIONS });

  const url = `${gateway.url}/v1/tasks/${task}/reports`;
  const rate = ({ result: { seconds, p50, p99 }, processes }) => ({
    figure: count / seconds,
    p50,
    p99,
    processes,
  });
  const ours = () =>
    watchProcesses({ gateway: gateway.pid, broker: kafka.pid, devices: devices.pid }, () =>
      devices.ask({ kind: 'send', url, connections: CONNECTIONS }),
    );
  const peer = () =>
    watchProcesses({ producer: producer.pid, broker: kafka.pid }, () =>
      producer.ask({ kind: 'send', topic: twin }),
    );
  return [
    await alternate({
      name: 'gateway-batch/kafka-produce',
      work: `batches of ${BATCH} over ${CONNECTIONS} connections into Kafka, until acknowledged`,
      unit: 'reports/s',
      better: 'more',
      ours: async () => rate(await ours()),
      peer: async () => rate(await peer()),
      peerName: 'raw kafkajs, same messages, same safe pattern (ceiling)',
      runs: 5,
    }),
  ];
}
