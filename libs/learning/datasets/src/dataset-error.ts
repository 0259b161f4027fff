/**
 * Which rule a data file or its description breaks, for programs:
 * `invalid-spec` the description isn't one; `outside-roots` a path that leads out of the data folders;
 * `missing-file`, `unreadable-file` as the file system says; `damaged-file` not IDX, cut short, or with bytes too many;
 * `unsupported-file` IDX of numbers or a shape that isn't read here; `count-mismatch` images and labels differ in number;
 * `bad-selection` rows beyond the end; `no-such-row`; `no-labels`.
 */
export type DatasetErrorCode =
  | 'invalid-spec'
  | 'outside-roots'
  | 'missing-file'
  | 'unreadable-file'
  | 'damaged-file'
  | 'unsupported-file'
  | 'count-mismatch'
  | 'bad-selection'
  | 'no-such-row'
  | 'no-labels';

/** The message names the file or field, what was found and the rule; never a row's content. */
export class DatasetError extends Error {
  override readonly name = 'DatasetError';

  constructor(
    readonly code: DatasetErrorCode,
    message: string,
  ) {
    super(message);
  }
}
