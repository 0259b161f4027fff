// What a driver offers, the same for every client; the contract is that of the report log: acknowledged means durable.
import { CLIENTS } from '../clients.mjs';

/**
 * `produce` writes values to one partition and resolves when all in-sync replicas have them (idempotent, acks all); it
 * rejects when it doesn't know that they do, after at most about a minute. `produceSpanning` is one send with values of
 * several partitions.
 *
 * `openConsumer` hands over each batch of one partition in order, from the beginning where nothing is committed, and
 * commits behind it once `take` has resolved. `ended` is called where the client says that it gives up by itself.
 *
 * @typedef {{ produce: (partition: number, values: Buffer[]) => Promise<void>,
 *   produceSpanning: (parts: { partition: number, values: Buffer[] }[]) => Promise<void>,
 *   close: () => Promise<void> }} Producer
 * @typedef {{ partition: number, values: Buffer[] }} Batch
 * @typedef {{ openProducer: (topic: string) => Promise<Producer>,
 *   openConsumer: (options: { topic: string, group: string, sessionMs: number, pattern: string,
 *     take: (batch: Batch) => Promise<void>, ended: (why: string) => void }) => Promise<{ close: () => Promise<void> }> }} Driver
 * @typedef {(options: { folder: string, brokers: string[], name: string }) => Driver} OpenDriver
 */

/** @param {string} client @returns {Promise<OpenDriver>} */
export async function driverOf(client) {
  const { driver } = CLIENTS.find(({ name }) => name === client);
  return (await import(`./${driver}`)).openDriver;
}
