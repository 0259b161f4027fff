import { isNativeError } from 'node:util/types';

/**
 * What must never reach a log: what people sent, who they are, and secrets. Fields of these names are replaced wherever they stand in
 * a logged object, and so is every run of bytes.
 */
export const PRIVATE_FIELDS = [
  'payload',
  'payloads',
  'record',
  'records',
  'report',
  'reports',
  'body',
  'headers',
  'ip',
  'ips',
  'remoteAddress',
  'remotePort',
  'forwarded',
  'cookie',
  'authorization',
  'password',
  'secret',
  'secretKey',
  'signingKey',
  'token',
  'connectionString',
  'databaseUrl',
  'parameters',
];

const PRIVATE = new Set(PRIVATE_FIELDS.map((name) => name.toLowerCase()));
export const NOT_LOGGED = '[not logged]';
const DEEPEST = 6;

/** A copy of a plain object, an array or an error without private data; anything else as it is. */
export function withoutPrivateData(value: unknown, depth = 0): unknown {
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (isNativeError(value)) return describeError(value, depth);
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
  if (depth >= DEEPEST) return '[too deep to log]';
  if (Array.isArray(value)) return value.map((item) => withoutPrivateData(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      isPrivate(key, item) ? NOT_LOGGED : withoutPrivateData(item, depth + 1),
    ]),
  );
}

export interface DescribedError {
  type: string;
  message: string;
  code?: unknown;
  stack?: string;
  cause?: unknown;
}

/**
 * Name, message, code, stack and cause of an error. Its other fields are left out: a database driver puts the row at fault in them.
 */
export function describeError(error: Error, depth = 0): DescribedError {
  const message = withoutArguments(error);
  return {
    type: error.name,
    message,
    ...('code' in error ? { code: error.code } : {}),
    stack: framesOf(error),
    ...(error.cause === undefined || depth >= DEEPEST
      ? {}
      : { cause: withoutPrivateData(error.cause, depth + 1) }),
  };
}

/** Prisma quotes the arguments of a refused call before the last line, which says what was wrong with it. */
const withoutArguments = ({ name, message }: Error): string =>
  name.startsWith('PrismaClient') ? (message.trim().split('\n').at(-1) ?? '') : message;

/** The stack without the message that it starts with. */
function framesOf({ stack }: Error): string | undefined {
  return stack
    ?.split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}

const isPrivate = (key: string, value: unknown): boolean => PRIVATE.has(key.toLowerCase()) && !isCount(value);

/** `reports: 12` is a count. */
export const isCount = (value: unknown): boolean => ['number', 'boolean', 'undefined'].includes(typeof value);

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Array.isArray(value);
};
