/** Values of one size that tell where they belong: partition and number within the partition, then filling. */
export const VALUE_BYTES = 200;

export function valueOf(partition, number) {
  const value = Buffer.alloc(VALUE_BYTES, 0x2e);
  value.writeUInt32BE(partition, 0);
  value.writeUInt32BE(number, 4);
  return value;
}

export const numberOf = (value) => value.readUInt32BE(4);

/** The number of messages that only open the way; a reader leaves them out. */
export const WARM_UP = 0xffffffff;
