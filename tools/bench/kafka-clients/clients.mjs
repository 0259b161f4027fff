// The clients that are compared, and the ways of sending that are tried with each.

/**
 * @typedef {{ name: string, package: string, version: string, driver: string, builtFromSource: boolean,
 *   own: boolean }} Client `own`: a dependency of the project, otherwise installed for the benchmark only
 */

/** @type {readonly Client[]} */
export const CLIENTS = [
  {
    name: 'kafkajs',
    package: 'kafkajs',
    version: '2.2.4',
    driver: 'kafkajs.mjs',
    builtFromSource: false,
    own: true,
  },
  {
    name: 'confluent',
    package: '@confluentinc/kafka-javascript',
    version: '1.10.1',
    driver: 'confluent.mjs',
    builtFromSource: true,
    own: false,
  },
  {
    name: 'platformatic',
    package: '@platformatic/kafka',
    version: '2.12.1',
    driver: 'platformatic.mjs',
    builtFromSource: false,
    own: false,
  },
];

/**
 * How sends are laid out. `safe`: one partition a send, one send in flight a partition. `spanning`: each send holds
 * messages of all partitions. `parallel`: one partition a send, four sends in flight to each partition.
 */
export const SENDING = ['safe', 'spanning', 'parallel'];

/**
 * How a consumer commits. `safe`: a commit that fails is left to the next one. `awaited-commit`, of kafkajs: through
 * `consumer.commitOffsets`, as its documentation shows, within the handler.
 */
export const CONSUMING = { kafkajs: ['safe', 'awaited-commit'], confluent: ['safe'], platformatic: ['safe'] };
