import { closest, distance } from 'fastest-levenshtein';
import { type Variable } from './variable';
import { VARIABLES } from './variables';

export type Environment = Readonly<Record<string, string | undefined>>;
export type ConfigVariables = Readonly<Record<string, Variable>>;
/** The values of variables, by the names of their fields. */
export type ConfigOf<S extends ConfigVariables> = {
  readonly [K in keyof S]: S[K] extends Variable<infer T> ? T : never;
};

/** All that is wrong with a configuration, in one message. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'invalid-configuration';

  constructor(readonly problems: readonly { variable: string; detail: string }[]) {
    const places = problems.length === 1 ? 'one place' : `${problems.length} places`;
    const lines = problems.map(({ variable, detail }) => `  ${variable} ${detail}`);
    super(`The configuration is wrong in ${places}:\n${lines.join('\n')}`);
  }
}

const PREFIX = 'UNDERTONE_';
const KNOWN = Object.values<Variable>(VARIABLES).map(({ name }) => name);
const NEAR = 4;

/**
 * Reads a program's configuration, once. An empty variable counts as unset. A key that starts with `UNDERTONE_` and belongs to no
 * program is refused; one that belongs to another program is left alone.
 * @throws ConfigError naming every variable that is wrong
 */
export function loadConfig<S extends ConfigVariables>(variables: S, environment: Environment): ConfigOf<S> {
  const problems = Object.keys(environment)
    .filter((key) => key.startsWith(PREFIX) && !KNOWN.includes(key) && environment[key] !== undefined)
    .sort()
    .map((key) => ({ variable: key, detail: `is not known${nearest(key)}` }));
  const values: Record<string, unknown> = {};
  for (const [field, variable] of Object.entries(variables)) {
    const text = textOf(variable, environment);
    if (text === undefined) continue;
    const missing = variable.together?.filter((name) => !isSet(name, environment)) ?? [];
    if (missing.length > 0)
      problems.push({
        variable: variable.name,
        detail: `is set without ${missing.join(' and ')}; set them all, or none`,
      });
    const parsed = variable.schema.safeParse(text);
    if (parsed.success) values[field] = parsed.data;
    else
      problems.push({
        variable: variable.name,
        detail: explain(variable, text, parsed.error.issues[0].message),
      });
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(values) as ConfigOf<S>;
}

/** The text that counts for a variable. */
export function textOf(variable: Variable, environment: Environment): string | undefined {
  return isSet(variable.name, environment) ? environment[variable.name]?.trim() : variable.defaultText;
}

/** Whether the environment itself says something of a variable. */
export const isSet = (name: string, environment: Environment): boolean =>
  (environment[name]?.trim() ?? '') !== '';

const explain = (variable: Variable, text: string, rule: string): string =>
  variable.secret === 'yes' ? `${rule} (its value is not shown)` : `${rule}; got "${text}"`;

function nearest(key: string): string {
  const candidate = closest(key, KNOWN);
  return distance(key, candidate) <= NEAR
    ? `; did you mean ${candidate}?`
    : '; see .env.example for those that are';
}
