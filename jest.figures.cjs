/** Figures that hold on a quiet machine only (`npm run test:figures`); no run of all tests has them. */
module.exports = {
  ...require('./jest.config.cjs'),
  testMatch: ['**/*.figures.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
