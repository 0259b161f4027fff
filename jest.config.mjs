import { readFileSync } from 'node:fs';

const swc = JSON.parse(readFileSync(new URL('.swcrc', import.meta.url), 'utf8'));
const { paths } = JSON.parse(
  readFileSync(new URL('tsconfig.base.json', import.meta.url), 'utf8'),
).compilerOptions;
const moduleNameMapper = Object.fromEntries(
  Object.entries(paths).map(([name, [file]]) => [`^${name}$`, `<rootDir>/${file}`]),
);

// Published as ES modules only; Jest runs CommonJS.
const esModules = ['cbor2', '@cto\\.af', '@noble', 'content-disposition'].join('|');

const shared = {
  testEnvironment: 'node',
  moduleNameMapper,
  transform: { '^.+\\.(ts|js)$': ['@swc/jest', { ...swc, swcrc: false }] },
  transformIgnorePatterns: [`/node_modules/(?!(${esModules})/)`, '<rootDir>/(apps|libs)/.+/dist/'],
  modulePathIgnorePatterns: ['/dist/', '<rootDir>/.undertone', '<rootDir>/out', '<rootDir>/.cache'],
};

const spec = (suffix) =>
  ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/prisma'].map((d) => `${d}/**/*.${suffix}.ts`);

/**
 * x.spec.ts runs alone; x.pg.spec.ts needs a real PostgreSQL; x.kafka.spec.ts a real Kafka broker and a PostgreSQL;
 * x.e2e.spec.ts starts built programs.
 */
export default {
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: spec('spec'),
      testPathIgnorePatterns: ['pg', 'kafka', 'e2e'].map((kind) => `\\.${kind}\\.spec\\.ts$`),
    },
    {
      ...shared,
      displayName: 'postgres',
      testMatch: spec('pg.spec'),
      globalSetup: '<rootDir>/libs/platform/store/testing/jest-global-setup.ts',
      globalTeardown: '<rootDir>/libs/platform/store/testing/jest-global-teardown.ts',
    },
    {
      ...shared,
      displayName: 'kafka',
      testMatch: spec('kafka.spec'),
      setupFilesAfterEnv: ['<rootDir>/tools/kafka-local/jest-timeout.cjs'],
      globalSetup: '<rootDir>/tools/kafka-local/jest-global-setup.cjs',
      globalTeardown: '<rootDir>/tools/kafka-local/jest-global-teardown.cjs',
    },
    { ...shared, displayName: 'e2e', testMatch: spec('e2e.spec') },
  ],
};
