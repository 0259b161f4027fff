import path from 'node:path';
import fc from 'fast-check';
import { serviceVariables, undertoneVariables } from './configs';
import { ConfigError, type Environment, loadConfig } from './load-config';
import { VARIABLES } from './variables';

const failure = (environment: Environment): ConfigError => {
  try {
    loadConfig(undertoneVariables, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
};

describe('loadConfig', () => {
  it('has a value for everything that is needed, with nothing set', () => {
    const config = loadConfig(undertoneVariables, {});
    expect(config).toMatchObject({
      home: path.resolve('.undertone'),
      host: '127.0.0.1',
      port: 8377,
      logLevel: 'info',
      engine: 'auto',
      dataRoots: [path.resolve('data')],
      trainers: 1,
      url: 'http://127.0.0.1:8377',
    });
    expect(config.databaseUrl).toBeUndefined();
    expect(config.kafkaBrokers).toBeUndefined();
  });

  it('reads what is set, as the type of its field', () => {
    const config = loadConfig(undertoneVariables, {
      UNDERTONE_PORT: '0',
      UNDERTONE_DATA_ROOTS: `/srv/a${path.delimiter}/srv/b`,
      UNDERTONE_SIGNING_KEY: 'AB'.repeat(32),
      DATABASE_URL: 'postgresql://u:p@db.example:5432/undertone',
    });
    expect(config.port).toBe(0);
    expect(config.dataRoots).toEqual(['/srv/a', '/srv/b']);
    expect(config.signingKey).toBe('ab'.repeat(32));
    expect(config.databaseUrl).toBe('postgresql://u:p@db.example:5432/undertone');
  });

  it('takes an empty variable as unset', () => {
    expect(loadConfig(undertoneVariables, { UNDERTONE_PORT: '', DATABASE_URL: ' ' }).port).toBe(8377);
  });

  it('names every bad variable, its value and its rule in one message', () => {
    const error = failure({
      UNDERTONE_PORT: '80a',
      UNDERTONE_TRAINERS: '0',
      UNDERTONE_ENGINE: 'torch',
      UNDERTONE_URL: 'localhost',
    });
    expect(error.problems.map(({ variable }) => variable).sort()).toEqual([
      'UNDERTONE_ENGINE',
      'UNDERTONE_PORT',
      'UNDERTONE_TRAINERS',
      'UNDERTONE_URL',
    ]);
    expect(error.message).toContain('wrong in 4 places');
    expect(error.message).toContain('UNDERTONE_PORT must be a whole number from 0 to 65535; got "80a"');
    expect(error.message).toContain(
      'UNDERTONE_ENGINE must be one of auto, tensorflow, wasm, cpu; got "torch"',
    );
  });

  it('refuses an unknown key and names the nearest known one', () => {
    expect(failure({ UNDERTONE_HOEM: '/x' }).message).toContain(
      'UNDERTONE_HOEM is not known; did you mean UNDERTONE_HOME?',
    );
    expect(failure({ UNDERTONE_QUITE_ANOTHER_THING: '1' }).message).toContain('see .env.example');
  });

  it('leaves alone the variables of other programs, and of other programs of ours', () => {
    const environment = {
      PATH: '/bin',
      UNDERTONE_CACHE_DIR: '/c',
      UNDERTONE_TRAINERS: 'not read by this one',
    };
    expect(loadConfig(serviceVariables, environment).port).toBe(8377);
  });

  it('never repeats a secret', () => {
    const error = failure({ DATABASE_URL: 'mysql://u:hunter2@h/d', UNDERTONE_SIGNING_KEY: 'c0ffee' });
    expect(error.problems).toHaveLength(2);
    expect(error.message).not.toMatch(/hunter2|c0ffee/);
    expect(error.message).toContain('UNDERTONE_SIGNING_KEY must be 64 hex digits');
  });

  it('wants a database in the address of a database', () => {
    expect(failure({ DATABASE_URL: 'postgresql://h:5432' }).message).toContain('must name a database');
  });

  it('reads the addresses of brokers', () => {
    const brokersOf = (text: string) => loadConfig(undertoneVariables, { KAFKA_BROKERS: text }).kafkaBrokers;
    expect(brokersOf('kafka-1.example:9092, 10.0.0.7:9093,[::1]:1')).toEqual([
      'kafka-1.example:9092',
      '10.0.0.7:9093',
      '[::1]:1',
    ]);
    for (const text of ['kafka', 'kafka:0', 'kafka:65536', ':9092', 'a:1,', 'kafka://a:9092', '::1:9092']) {
      expect(failure({ KAFKA_BROKERS: text }).message).toContain(
        `KAFKA_BROKERS must be addresses like host:port, separated by commas, each with a port from 1 to 65535; got "${text}"`,
      );
    }
  });

  it('wants all of a login, or none', () => {
    const login = {
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: 'gateway',
      KAFKA_SASL_PASSWORD: 'hunter2',
    };
    expect(loadConfig(undertoneVariables, login)).toMatchObject({
      kafkaSaslMechanism: 'scram-sha-512',
      kafkaSaslUsername: 'gateway',
      kafkaSaslPassword: 'hunter2',
    });
    const { message } = failure({ ...login, KAFKA_SASL_USERNAME: ' ' });
    expect(message).toContain(
      'KAFKA_SASL_MECHANISM is set without KAFKA_SASL_USERNAME; set them all, or none',
    );
    expect(message).toContain('KAFKA_SASL_PASSWORD is set without KAFKA_SASL_USERNAME');
    expect(message).not.toContain('hunter2');
    expect(failure({ KAFKA_SASL_USERNAME: 'gateway' }).message).toContain(
      'is set without KAFKA_SASL_MECHANISM and KAFKA_SASL_PASSWORD',
    );
  });

  it('reads the parts of a gateway', () => {
    const partsOf = (text: string) =>
      loadConfig(undertoneVariables, { UNDERTONE_GATEWAY_PARTS: text }).gatewayParts;
    expect(partsOf('')).toEqual(['edge', 'ingest']);
    expect(partsOf('ingest')).toEqual(['ingest']);
    expect(partsOf('ingest, edge')).toEqual(['ingest', 'edge']);
    for (const text of ['edge,', 'edges', 'edge,edge', ',']) {
      expect(failure({ UNDERTONE_GATEWAY_PARTS: text }).message).toContain(
        `UNDERTONE_GATEWAY_PARTS must be one or more of edge, ingest, each once, separated by commas; got "${text}"`,
      );
    }
  });

  it('takes a whole number exactly when it is one in the range', () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: -10, max: 70_000 }), fc.double({ noNaN: true })), (n) => {
        const accepted = Number.isInteger(n) && n >= 0 && n <= 65_535 && !Object.is(n, -0);
        const text = Object.is(n, -0) ? '-0' : String(n);
        const load = () => loadConfig({ port: VARIABLES.port }, { UNDERTONE_PORT: text });
        if (accepted) expect(load().port).toBe(n);
        else expect(load).toThrow(ConfigError);
      }),
    );
  });

  it('can be changed by nobody', () => {
    expect(Object.isFrozen(loadConfig(serviceVariables, {}))).toBe(true);
  });
});
