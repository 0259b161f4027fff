// Speed on one broker: produce and consume, the project's client against each other one in turns.
import { watchProcesses } from '../form/process-use.mjs';
import { startClient } from './client.mjs';

const PARTITIONS = 3;
const BATCH = 1_000;
const COUNT = 200_000;
const CONSUMED_TIMES = 2;
const RUNS = 5;

/**
 * @param {{ cluster: object, topics: object, contestants: { client: string, folder: string }[], share: number,
 *   alternate: Function, stops: import('../form/stops.mjs').Stops }} options the first contestant is ours
 */
export async function measureThroughput({ cluster, topics, contestants, share, alternate, stops }) {
  const sends = Math.max(PARTITIONS, Math.round((COUNT * share) / BATCH));
  const entries = contestants.map((contestant) => {
    const worker = startClient(contestant, cluster.brokers);
    stops.add(() => worker.stop());
    return { ...contestant, worker };
  });
  const watched = async ({ worker }, count, work) => {
    const { result, processes } = await watchProcesses(
      { client: worker.pid, broker: cluster.nodes[0].pid },
      () => worker.ask(work),
    );
    return { figure: count / result.seconds, processes };
  };
  const produce = async (entry) => {
    const topic = await topics.create({ partitions: PARTITIONS });
    const figure = await watched(entry, sends * BATCH, {
      kind: 'produce',
      topic,
      partitions: PARTITIONS,
      sends,
      batch: BATCH,
    });
    await topics.delete([topic]);
    return figure;
  };
  const full = await topics.create({ partitions: PARTITIONS });
  await entries[0].worker.ask({
    kind: 'produce',
    topic: full,
    partitions: PARTITIONS,
    sends: sends * CONSUMED_TIMES,
    batch: BATCH,
  });
  let groups = 0;
  const consume = (entry) => {
    const count = sends * CONSUMED_TIMES * BATCH;
    return watched(entry, count, { kind: 'consume', topic: full, group: `${full}-${++groups}`, count });
  };

  const [ours, ...peers] = entries;
  const rows = [];
  for (const peer of peers) {
    const rest = { unit: 'messages/s', better: 'more', peerName: peer.client, runs: RUNS };
    rows.push(
      await alternate({
        name: `produce/${peer.client}`,
        work: `${ours.client} produces batches of ${BATCH}, one in flight to each of ${PARTITIONS} partitions`,
        ours: () => produce(ours),
        peer: () => produce(peer),
        ...rest,
      }),
      await alternate({
        name: `consume/${peer.client}`,
        work: `${ours.client} consumes and commits each batch, from joining the group on`,
        ours: () => consume(ours),
        peer: () => consume(peer),
        ...rest,
      }),
    );
  }
  return rows;
}
