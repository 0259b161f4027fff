import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { undertoneVariables } from './configs';
import { describeConfig, renderEnvExample } from './describe-config';
import { loadConfig } from './load-config';
import { readEnvironment } from './read-environment';
import { VARIABLES } from './variables';

const ROOT = path.resolve(__dirname, '..', '..', '..', '..');

describe('describeConfig', () => {
  const shown = (environment: Record<string, string>) =>
    new Map(describeConfig(undertoneVariables, environment).map((v) => [v.name, v]));

  it('tells where a value is from', () => {
    const variables = shown({ UNDERTONE_PORT: '1234' });
    expect(variables.get('UNDERTONE_PORT')).toEqual({
      name: 'UNDERTONE_PORT',
      shown: '1234',
      from: 'environment',
    });
    expect(variables.get('UNDERTONE_HOST')).toMatchObject({ shown: '127.0.0.1', from: 'default' });
    expect(variables.get('DATABASE_URL')).toMatchObject({ shown: '', from: 'unset' });
  });

  it('masks secrets, and of a database address the password alone', () => {
    const variables = shown({
      DATABASE_URL: 'postgresql://app:hunter2@db:5432/undertone?sslkey=hunter2',
      UNDERTONE_SIGNING_KEY: 'ab'.repeat(32),
    });
    expect(variables.get('DATABASE_URL')?.shown).toBe('postgresql://app:••••••@db:5432/undertone');
    expect(variables.get('UNDERTONE_SIGNING_KEY')?.shown).toBe('••••••');
  });
});

describe('.env.example', () => {
  it('says what the code says (node tools/env-example.mjs makes it)', () => {
    expect(readFileSync(path.join(ROOT, '.env.example'), 'utf8')).toBe(renderEnvExample());
  });

  it('gives defaults that its own rules accept', () => {
    const lines = renderEnvExample().matchAll(/^# ([A-Z_]+)=(.*)$/gm);
    const environment = Object.fromEntries([...lines].map(([, name, text]) => [name, text]));
    expect(Object.keys(environment)).toHaveLength(Object.keys(VARIABLES).length);
    expect(loadConfig(VARIABLES, environment)).toEqual(loadConfig(VARIABLES, {}));
  });
});

describe('readEnvironment', () => {
  it('puts the environment over the file', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'config-'));
    try {
      expect(readEnvironment(folder)).toBe(process.env);
      writeFileSync(path.join(folder, '.env'), 'UNDERTONE_PORT=99\nPATH=/nowhere\n# UNDERTONE_HOST=x\n');
      const environment = readEnvironment(folder);
      expect(environment.UNDERTONE_PORT).toBe('99');
      expect(environment.PATH).toBe(process.env.PATH);
      expect(environment.UNDERTONE_HOST).toBeUndefined();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
