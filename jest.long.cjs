/** The suites that take long, half a minute to several (`npm run test:long`). */
module.exports = {
  ...require('./jest.config.cjs'),
  testMatch: ['**/*.long.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
