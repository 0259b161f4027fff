import { ArtifactError } from '../artifact-error';

const MAXIMUM_DEPTH = 6;

/** A record read field by field: each is taken once, and `end` refuses what nobody took. */
export class Fields {
  private readonly rest: Map<string, unknown>;

  constructor(
    value: unknown,
    readonly path: string,
  ) {
    if (!isPlainRecord(value)) throw broken(path, value, 'a record');
    this.rest = new Map(Object.entries(value));
  }

  take(key: string): unknown {
    const value = this.rest.get(key);
    this.rest.delete(key);
    return value;
  }

  record(key: string): Fields {
    return new Fields(this.take(key), this.at(key));
  }

  /** A string of 1 to `longest` UTF-16 units. */
  text(key: string, longest = 200): string {
    return text(this.take(key), this.at(key), longest);
  }

  oneOf<T extends string>(key: string, ...values: T[]): T {
    const value = this.take(key);
    if (!values.includes(value as T)) throw broken(this.at(key), value, values.join(' or '));
    return value as T;
  }

  integer(key: string, { from, to }: { from: number; to: number }): number {
    const value = this.take(key);
    if (!Number.isInteger(value) || (value as number) < from || (value as number) > to) {
      throw broken(this.at(key), value, `an integer from ${from} to ${to}`);
    }
    return value as number;
  }

  number(key: string, rule: (value: number) => boolean = () => true, says = 'a finite number'): number {
    const value = this.take(key);
    if (typeof value !== 'number' || !Number.isFinite(value) || !rule(value)) {
      throw broken(this.at(key), value, says);
    }
    return value;
  }

  list<T>(key: string, longest: number, read: (item: unknown, path: string) => T): T[] {
    const value = this.take(key);
    const path = this.at(key);
    if (!Array.isArray(value) || value.length < 1 || value.length > longest) {
      throw broken(path, value, `a list of 1 to ${longest}`);
    }
    return Array.from(value as unknown[], (item, i) => read(item, `${path}[${i}]`));
  }

  end(): void {
    const [stranger] = this.rest.keys();
    if (stranger !== undefined) {
      throw new ArtifactError('invalid', `${this.at(stranger)} isn't a field of the format`);
    }
  }

  at(key: string): string {
    return this.path === '' ? key : `${this.path}.${key}`;
  }
}

export function text(value: unknown, path: string, longest = 200): string {
  if (typeof value !== 'string' || value.length < 1 || value.length > longest) {
    throw broken(path, value, `a text of 1 to ${longest} characters`);
  }
  return value;
}

export function distinct<T>(values: T[], path: string): T[] {
  const twice = values.find((value, i) => values.indexOf(value) !== i);
  if (twice !== undefined) throw broken(path, twice, 'named only once');
  return values;
}

/** A copy of plain data: what a JSON document can hold, with lists of at most `longestList`. */
export function plainData(value: unknown, path: string, longestList: number, depth = 0): unknown {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string' && value.length <= 1000) return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (depth < MAXIMUM_DEPTH && Array.isArray(value) && value.length <= longestList) {
    return Array.from(value, (item, i) => plainData(item, `${path}[${i}]`, longestList, depth + 1));
  }
  if (depth < MAXIMUM_DEPTH && isPlainRecord(value) && !Object.hasOwn(value, '__proto__')) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        plainData(item, `${path}.${key}`, longestList, depth + 1),
      ]),
    );
  }
  throw broken(
    path,
    value,
    `plain data (texts up to 1000 characters, finite numbers, true, false, null, lists up to ${longestList}, records, ${MAXIMUM_DEPTH} deep)`,
  );
}

/** Neither a list nor an instance of a class; also an object of another realm. */
function isPlainRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

export function broken(path: string, value: unknown, rule: string): ArtifactError {
  return new ArtifactError('invalid', `${path || 'the body'} is ${shown(value)}: it must be ${rule}`);
}

function shown(value: unknown): string {
  if (typeof value === 'string') return `"${value.length > 60 ? `${value.slice(0, 60)}…` : value}"`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
