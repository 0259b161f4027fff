/** Which rule of the input schema a record breaks. */
export type InputErrorCode =
  | 'wrong-type'
  | 'wrong-dimension'
  | 'not-a-number'
  | 'out-of-range'
  | 'unknown-level'
  | 'missing-column'
  | 'unknown-column';

/** A record that doesn't fit the input schema. The message holds raw values: show it on the device, don't log it. */
export class InputError extends Error {
  override readonly name = 'InputError';

  constructor(
    readonly code: InputErrorCode,
    message: string,
  ) {
    super(message);
  }
}
