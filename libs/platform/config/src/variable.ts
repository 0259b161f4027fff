import path from 'node:path';
import { z } from 'zod';

/** One environment variable: its name, what its text means, and how it is shown. */
export interface Variable<T = unknown> {
  readonly name: string;
  /** A sentence for `.env.example` and the docs. */
  readonly about: string;
  readonly schema: z.ZodType<T, string>;
  /** The text that counts when the variable is unset or empty; undefined means that the value is then undefined. */
  readonly defaultText?: string;
  readonly secret: 'no' | 'yes';
  /** Names of variables that must be set where this one is. */
  readonly together?: readonly string[];
}

/** A variable that always has a value. */
type Given<T> = Variable<T> & { readonly defaultText: string };

interface Description {
  name: string;
  about: string;
  together?: readonly string[];
}

export function variable<T>(
  schema: z.ZodType<T, string>,
  description: Description & { defaultText: string },
): Given<T>;
export function variable<T>(
  schema: z.ZodType<T, string>,
  description: Description & { secret?: 'yes' },
): Variable<T | undefined>;
export function variable<T>(
  schema: z.ZodType<T, string>,
  {
    name,
    about,
    defaultText,
    secret = 'no',
    together,
  }: Description & { defaultText?: string; secret?: 'no' | 'yes' },
): Variable<T | undefined> {
  return { name, about, schema, defaultText, secret, together };
}

export function wholeNumber(range: { from: number; to: number }): z.ZodType<number, string> {
  const rule = `must be a whole number from ${range.from} to ${range.to}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, rule)
    .transform(Number)
    .refine((n) => n >= range.from && n <= range.to, rule);
}

export function oneOf<const T extends string>(...values: T[]): z.ZodType<T, string> {
  return z.string().pipe(z.enum(values, { error: `must be one of ${values.join(', ')}` })) as z.ZodType<
    T,
    string
  >;
}

/** An absolute path; a relative one is taken from the working directory. */
export function folder(): z.ZodType<string, string> {
  return z.string().transform((text) => path.resolve(text));
}

/** Absolute paths, separated as in PATH. */
export function folders(): z.ZodType<string[], string> {
  return z.string().transform((text) =>
    text
      .split(path.delimiter)
      .filter((part) => part !== '')
      .map((part) => path.resolve(part)),
  );
}

export function address(...protocols: string[]): z.ZodType<string, string> {
  const rule = `must be an address like ${protocols[0]}://host:port`;
  return z.string().refine((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    return url !== undefined && protocols.includes(url.protocol.slice(0, -1)) && url.hostname !== '';
  }, rule);
}

/** Names a database as well as a server. */
export function databaseAddress(): z.ZodType<string, string> {
  return address('postgresql', 'postgres').refine(
    (text) => URL.canParse(text) && new URL(text).pathname.length > 1,
    'must name a database: postgresql://user:password@host:port/database',
  );
}

export function hex(bytes: number): z.ZodType<string, string> {
  return z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${2 * bytes}}$`), `must be ${2 * bytes} hex digits`)
    .transform((text) => text.toLowerCase());
}

export function hostName(): z.ZodType<string, string> {
  return z.string().regex(/^[A-Za-z0-9.:_-]+$/, 'must be a host name or an IP address');
}

const ADDRESS = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/;

/** `host:port` addresses, separated by commas; IPv6 in brackets. */
export function hostPorts(): z.ZodType<readonly string[], string> {
  return list().refine(
    (parts) => parts.every(isHostPort),
    'must be addresses like host:port, separated by commas, each with a port from 1 to 65535',
  );
}

/** Some of the values, at least one, each once, separated by commas. */
export function someOf<const T extends string>(...values: T[]): z.ZodType<readonly T[], string> {
  return list().refine(
    (parts) =>
      parts.every((part) => (values as string[]).includes(part)) && new Set(parts).size === parts.length,
    `must be one or more of ${values.join(', ')}, each once, separated by commas`,
  ) as unknown as z.ZodType<readonly T[], string>;
}

const list = (): z.ZodType<readonly string[], string> =>
  z.string().transform((text) => text.split(',').map((part) => part.trim()));

function isHostPort(text: string): boolean {
  const port = Number(ADDRESS.exec(text)?.[2]);
  return port >= 1 && port <= 65_535;
}
