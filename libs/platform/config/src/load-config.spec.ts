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

  it('says that Kafka is not there yet', () => {
    expect(failure({ KAFKA_BROKERS: 'a:9092' }).message).toContain(
      'unset it to use the PostgreSQL report log',
    );
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
