const { relative } = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');

/** About what suites take that wait for whole programs, in milliseconds. Others are known by their size. */
const WAITS = [
  [/^test\/chaos\//, 200_000],
  [/\.long\.test\.ts$/, 150_000],
  [/^test\/(e2e|storage\/managed)\//, 60_000],
  [/^test\/(client|readme|docs|package|temporal)/, 30_000],
];

/**
 * The longest suites first also where nothing was run before: one that begins last is waited for by a machine that has
 * nothing else to do.
 */
module.exports = class LongestFirst extends Sequencer {
  time(test) {
    return super.time(test) ?? guess(test);
  }
};

function guess({ path, context }) {
  const file = relative(context.config.rootDir, path);
  const [, ms] = WAITS.find(([pattern]) => pattern.test(file)) ?? [];
  return ms ?? context.hasteFS.getSize(path) ?? 0;
}
