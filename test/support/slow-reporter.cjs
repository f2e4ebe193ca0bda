const { relative } = require('node:path');

const SHOWN = 15;

/** Ends a run of many files with those that took longest, since they are the ones worth a look. */
module.exports = class SlowReporter {
  getLastError() {
    return undefined;
  }

  onRunComplete(_contexts, { testResults }) {
    if (testResults.length <= SHOWN) return;
    const taken = testResults.map(({ perfStats: { start, end }, testFilePath }) => ({
      ms: end - start,
      testFilePath,
    }));
    const seconds = (ms) => (ms / 1_000).toFixed(1).padStart(7);
    const total = taken.reduce((sum, { ms }) => sum + ms, 0);
    const slowest = taken.sort((a, b) => b.ms - a.ms).slice(0, SHOWN);
    const lines = slowest.map(
      ({ ms, testFilePath }) => `${seconds(ms)} s  ${relative(process.cwd(), testFilePath)}`,
    );
    process.stdout.write(
      `\nThe slowest of ${taken.length} files, ${seconds(total).trim()} s in all:\n${lines.join('\n')}\n`,
    );
  }
};
