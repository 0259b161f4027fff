import { loadConfig, type UndertoneConfig, undertoneVariables } from '@undertone/config';
import { type Command, InvalidArgumentError } from 'commander';

import { PlatformClient } from './api/platform-client';
import { interruptSignal } from './interruption';
import { Terminal } from './output/terminal';
import { platformAddress } from './platform/platform-address';

export interface CommonOptions {
  json?: boolean;
  url?: string;
  home?: string;
  host?: string;
  port?: number;
}

/** What every command that talks to a platform works with. */
export interface CommandContext {
  terminal: Terminal;
  config: UndertoneConfig;
  api: PlatformClient;
  signal: AbortSignal;
}

/** The configuration of a command: the environment, with --home and --port on top. @throws ConfigError */
export function configOf(command: Command): UndertoneConfig {
  const { home, port, host } = command.optsWithGlobals<CommonOptions>();
  return loadConfig(undertoneVariables, {
    ...programEnvironment(command),
    ...(home === undefined ? {} : { UNDERTONE_HOME: home }),
    ...(port === undefined ? {} : { UNDERTONE_PORT: String(port) }),
    ...(host === undefined ? {} : { UNDERTONE_HOST: host }),
  });
}

export function terminalOf(command: Command): Terminal {
  return new Terminal({ style: command.optsWithGlobals<CommonOptions>().json ? 'json' : 'text' });
}

export function contextOf(command: Command): CommandContext {
  const config = configOf(command);
  const { url } = command.optsWithGlobals<CommonOptions>();
  const named =
    url ?? (programEnvironment(command).UNDERTONE_URL ? config.url : platformAddress(config.home)?.url);
  return {
    terminal: terminalOf(command),
    config,
    api: new PlatformClient(named ?? config.url),
    signal: interruptSignal(),
  };
}

const environments = new WeakMap<Command, NodeJS.ProcessEnv>();

/** The environment is read in main.ts and handed down with the program. */
export function setProgramEnvironment(program: Command, environment: NodeJS.ProcessEnv): void {
  environments.set(program, environment);
}

export function programEnvironment(command: Command): NodeJS.ProcessEnv {
  for (let c: Command | null = command; c; c = c.parent) {
    const environment = environments.get(c);
    if (environment) return environment;
  }
  return {};
}

const inRange = (name: string, low: number, high: number, integer: boolean, text: string): number => {
  const value = Number(text);
  if (
    text.trim() === '' ||
    !Number.isFinite(value) ||
    value < low ||
    value > high ||
    (integer && !Number.isInteger(value))
  ) {
    throw new InvalidArgumentError(
      `${name} must be ${integer ? 'a whole number' : 'a number'} from ${low} to ${high}, and "${text}" is not.`,
    );
  }
  return value;
};

/** Parsers of option values; each names the option, the value and the rule. */
export const parseEpsilon = (text: string): number => inRange('ε', 0.01, 64, false, text);
export const parseLambda = (text: string): number => inRange('λ', 0.01, 0.99, false, text);
export const parseSeed = (text: string): number => inRange('a seed', 0, 2 ** 31 - 1, true, text);
export const parseCount = (text: string): number => inRange('a count', 1, 100_000_000, true, text);
export const parseAddress = (text: string): string => {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError(`an address must be like http://127.0.0.1:8377, and "${text}" is not.`);
};
export const parsePort = (text: string): number => inRange('a port', 0, 65_535, true, text);
