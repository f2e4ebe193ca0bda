/** The suites that speak with programs of the system (`npm run test:peers`). */
module.exports = {
  ...require('./jest.config.cjs'),
  testMatch: ['**/*.peers.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
