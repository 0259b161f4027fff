const HEADER_BYTES = 20;
const BYTEA_OID = 17;

/**
 * A `bytea[]` parameter in PostgreSQL's binary array format: a third of the text form's work for both sides,
 * because no byte is written as hex. The statement casts the parameter: `$1::bytea[]`.
 */
export function byteaArray(values: readonly Uint8Array[]): Buffer {
  const bytes = values.reduce((sum, value) => sum + 4 + value.length, HEADER_BYTES);
  const array = Buffer.allocUnsafe(bytes);
  array.writeInt32BE(1, 0); // dimensions
  array.writeInt32BE(0, 4); // no nulls
  array.writeInt32BE(BYTEA_OID, 8);
  array.writeInt32BE(values.length, 12);
  array.writeInt32BE(1, 16); // lower bound
  let at = HEADER_BYTES;
  for (const value of values) {
    at = array.writeInt32BE(value.length, at);
    array.set(value, at);
    at += value.length;
  }
  return array;
}
