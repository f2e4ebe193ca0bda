/** @type {import('jest').Config} */
module.exports = {
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // Some need programs of the system, which not every machine has, and some take long: jest.peers.cjs and
  // jest.long.cjs run them.
  testPathIgnorePatterns: ['/node_modules/', '\\.(peers|long|figures)\\.test\\.ts$'],
  testEnvironment: '<rootDir>/test/support/environment.ts',
  runtime: '<rootDir>/test/support/runtime.cjs',
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  reporters: [
    'default',
    '<rootDir>/test/support/slow-reporter.cjs',
    '<rootDir>/test/support/count-reporter.cjs',
  ],
  testSequencer: '<rootDir>/test/support/longest-first.cjs',
  // A third beside two cores, because suites of the whole program wait for half of their time; the servers that tests
  // talk to share the machine with them, and with more they only make each other slow.
  maxWorkers: 3,
  testTimeout: 90_000,
  // Modules of the new kind only, which this test runner cannot load as they are.
  transformIgnorePatterns: [
    '/node_modules/(?!(openid-client|oauth4webapi|jose|uuid|@vonage/jwt/node_modules|node-fetch|fetch-blob|formdata-polyfill|data-uri-to-buffer)/)',
  ],
  transform: {
    '/node_modules/.+\\.js$': [
      '@swc/jest',
      { swcrc: false, jsc: { target: 'es2022' }, module: { type: 'commonjs' } },
    ],
    // Inline on purpose: the bundler of the workflows picks up a .swcrc in the project and breaks on it.
    '\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
        module: { type: 'commonjs' },
        sourceMaps: 'inline',
      },
    ],
  },
};
