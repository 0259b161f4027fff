import { type ConfigVariables, type Environment, isSet, textOf } from './load-config';
import { type Variable } from './variable';
import { VARIABLES } from './variables';

export interface DescribedVariable {
  readonly name: string;
  /** As text; a secret is masked, an absent value is empty. */
  readonly shown: string;
  readonly from: 'environment' | 'default' | 'unset';
}

const MASK = '••••••';

/** What a program would run with, safe to print. */
export function describeConfig(variables: ConfigVariables, environment: Environment): DescribedVariable[] {
  return Object.values(variables).map((variable) => {
    const text = textOf(variable, environment);
    return {
      name: variable.name,
      shown: text === undefined ? '' : masked(variable, text),
      from: isSet(variable.name, environment) ? 'environment' : text === undefined ? 'unset' : 'default',
    };
  });
}

/** Where an address holds a password, only that is masked: host and database are worth seeing. */
function masked(variable: Variable, text: string): string {
  if (variable.secret === 'no') return text;
  if (!URL.canParse(text)) return MASK;
  const url = new URL(text);
  const user = url.username === '' ? '' : `${url.username}${url.password === '' ? '' : `:${MASK}`}@`;
  return `${url.protocol}//${user}${url.host}${url.pathname}`;
}

/** The text of `.env.example`: every variable, commented out at its default. */
export function renderEnvExample(): string {
  const entries = Object.values<Variable>(VARIABLES).map(
    ({ name, about, defaultText }) => `# ${about}\n# ${name}=${defaultText ?? ''}`,
  );
  return `# Copy to .env and change what should differ. The process's own environment counts more than this file.\n# Made by node tools/env-example.mjs from libs/platform/config.\n\n${entries.join('\n\n')}\n`;
}
