/** Ends a run with one line that a machine can read: "12 passed, 0 failed", and ", 2 skipped" if any were. */
module.exports = class CountReporter {
  getLastError() {
    return undefined;
  }

  onRunComplete(_contexts, results) {
    // A file that could not be loaded has no tests to count, and must not look like a pass.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    const parts = [`${results.numPassedTests} passed`, `${failed} failed`];
    if (skipped > 0) parts.push(`${skipped} skipped`);
    // Jest writes its own summary to stderr after the reporters; only the end of the process comes later.
    process.once('exit', () => process.stdout.write(`\n${parts.join(', ')}\n`));
  }
};
