import nx from '@nx/eslint-plugin';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

const nodeBuiltins = [
  'node:*',
  'fs',
  'path',
  'crypto',
  'os',
  'stream',
  'http',
  'https',
  'net',
  'worker_threads',
  'buffer',
];

export default [
  {
    ignores: [
      '**/dist/**',
      '**/node_modules/**',
      'out/**',
      '.undertone/**',
      '.nx/**',
      '.cache/**',
      '**/src/generated/**',
    ],
  },
  ...tseslint.configs.recommended.map((c) => ({ ...c, files: ['**/*.ts'] })),
  {
    files: ['**/*.ts'],
    plugins: { '@nx': nx },
    rules: {
      '@nx/enforce-module-boundaries': [
        'error',
        {
          enforceBuildableLibDependency: false,
          allow: [],
          depConstraints: [
            { sourceTag: 'layer:client', onlyDependOnLibsWithTags: ['layer:client'] },
            { sourceTag: 'layer:learning', onlyDependOnLibsWithTags: ['layer:client', 'layer:learning'] },
            { sourceTag: 'layer:platform', onlyDependOnLibsWithTags: ['layer:client', 'layer:platform'] },
            {
              sourceTag: 'layer:app',
              onlyDependOnLibsWithTags: ['layer:client', 'layer:learning', 'layer:platform', 'layer:app'],
            },
            { sourceTag: 'room:ldp', onlyDependOnLibsWithTags: ['room:ldp'] },
            { sourceTag: 'room:artifact', onlyDependOnLibsWithTags: ['room:ldp', 'room:artifact'] },
            { sourceTag: 'room:protocol', onlyDependOnLibsWithTags: ['room:protocol'] },
            { sourceTag: 'room:engine', onlyDependOnLibsWithTags: ['room:engine'] },
            { sourceTag: 'room:datasets', onlyDependOnLibsWithTags: ['room:datasets', 'layer:client'] },
            { sourceTag: 'room:config', onlyDependOnLibsWithTags: ['room:config'] },
            {
              sourceTag: 'room:observability',
              onlyDependOnLibsWithTags: ['room:observability', 'room:config'],
            },
            {
              sourceTag: 'room:service',
              onlyDependOnLibsWithTags: [
                'room:service',
                'room:observability',
                'room:config',
                'room:protocol',
                'room:store',
              ],
            },
            { sourceTag: 'room:store', onlyDependOnLibsWithTags: ['room:store'] },
            {
              sourceTag: 'room:report-log',
              onlyDependOnLibsWithTags: ['room:report-log', 'room:store', 'room:protocol'],
            },
            { sourceTag: 'room:jobs', onlyDependOnLibsWithTags: ['room:jobs', 'room:store'] },
            {
              sourceTag: 'room:job-service',
              onlyDependOnLibsWithTags: [
                'room:job-service',
                'room:jobs',
                'room:service',
                'room:observability',
                'room:config',
                'room:store',
              ],
            },
          ],
        },
      ],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
    },
  },
  {
    // Nest reads constructor parameter types at run time, so they can't be type-only imports.
    files: ['apps/**/*.ts', 'libs/platform/observability/**/*.ts', 'libs/platform/job-service/**/*.ts'],
    rules: { '@typescript-eslint/consistent-type-imports': 'off' },
  },
  {
    files: ['libs/client/*/src/**/*.ts'],
    ignores: ['**/*.spec.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { group: nodeBuiltins, message: 'client libraries run in a browser: no Node built-ins' },
          ],
        },
      ],
    },
  },
  {
    files: ['**/*.ts'],
    ignores: ['**/*.spec.ts', '**/testing/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ImportDeclaration[source.value=/testing$/]',
          message: 'test doubles must not reach production code',
        },
      ],
    },
  },
  {
    files: ['**/*.ts'],
    ignores: [
      'libs/platform/config/**',
      '**/*.spec.ts',
      '**/testing/**',
      '**/test/**',
      'apps/*/src/main.ts',
      'prisma/**',
    ],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'read configuration through @undertone/config' },
      ],
    },
  },
  prettier,
];
