/** ESM tests compiled by swc; types are checked by `npm run typecheck`. */
export default {
  rootDir: '.',
  roots: ['<rootDir>/test'],
  testEnvironment: 'node',
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/consumers/'],
  modulePathIgnorePatterns: ['<rootDir>/test/consumers/', '<rootDir>/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^nestjs-fenced-lock$': '<rootDir>/lib/index.ts',
    '^nestjs-fenced-lock/postgres$': '<rootDir>/lib/stores/postgres/index.ts',
    '^nestjs-fenced-lock/testing$': '<rootDir>/lib/testing/index.ts',
    '^nestjs-fenced-lock/dashboard$': '<rootDir>/lib/dashboard/index.ts',
    '^nestjs-fenced-lock/terminus$': '<rootDir>/lib/terminus/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2022',
          keepClassNames: true,
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  // Suites mostly wait for servers, so two of them fit on two cores; more would only make each other late.
  maxWorkers: 2,
  testTimeout: 30_000,
};
