/**
 * What keeps a local broker from running. The code is stable; the message names the value, the rule and what to do.
 *
 * Codes: 'java-missing', 'maven-missing', 'not-fetched' (this machine can't run a broker as it is: suites are skipped);
 * 'bad-argument', 'folder-in-use', 'folder-not-writable', 'folder-of-other-size', 'disk-full', 'port-in-use', 'broker-ended',
 * 'broker-not-ready', 'unknown-node', 'node-not-running', 'node-running', 'closed'.
 */
export class KafkaLocalError extends Error {
  name = 'KafkaLocalError';

  constructor(code, message, options) {
    super(message, options);
    this.code = code;
  }
}

const MACHINE_LACKS = new Set(['java-missing', 'maven-missing', 'not-fetched']);

/** True for what the machine lacks, as against what went wrong. */
export const isLackOfMachine = (error) => error instanceof KafkaLocalError && MACHINE_LACKS.has(error.code);

/** An error about writing below `folder` in words that say what to do; any other error as it is. */
export function aboutWriting(error, folder, otherwise = 'name another --folder') {
  const text = `${error?.code ?? ''} ${error?.message ?? error}`;
  if (/ENOSPC|EDQUOT|no space left|disk quota/i.test(text)) {
    return new KafkaLocalError('disk-full', `no space is left for ${folder}: free some and start again`, {
      cause: error,
    });
  }
  if (/EROFS|EACCES|EPERM|ENOTDIR|ENOENT|read-only file system|permission denied/i.test(text)) {
    return new KafkaLocalError(
      'folder-not-writable',
      `${folder} can't be written (${firstLine(error)}): make it writable for this user, or ${otherwise}`,
      { cause: error },
    );
  }
  return error;
}

export const firstLine = (error) => String(error?.message ?? error).split('\n')[0];
