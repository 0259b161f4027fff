/**
 * The partition that Kafka's own default partitioner gives a key (murmur2, as in the Java client's `Utils`), so that
 * records of one key stay together whichever client wrote them.
 */
export function partitionOfKey(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}

const SEED = 0x9747b28c;
const MIX = 0x5bd1e995;

function murmur2(bytes: Uint8Array): number {
  const { length } = bytes;
  const whole = length & ~3;
  let hash = SEED ^ length;
  for (let i = 0; i < whole; i += 4) {
    let word = bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
    word = Math.imul(word, MIX);
    word = Math.imul(word ^ (word >>> 24), MIX);
    hash = Math.imul(hash, MIX) ^ word;
  }
  if (length > whole) {
    let rest = 0;
    for (let i = length - 1; i >= whole; i--) rest = (rest << 8) | bytes[i];
    hash = Math.imul(hash ^ rest, MIX);
  }
  hash = Math.imul(hash ^ (hash >>> 13), MIX);
  return hash ^ (hash >>> 15);
}
