/** The suites that take a minute or more each (`npm run test:long`). */
module.exports = {
  ...require('./jest.config.cjs'),
  testMatch: ['**/*.long.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
