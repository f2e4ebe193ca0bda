import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { TARGETS } from './targets';

/**
 * `npm run fuzz -- --seconds 120 --seed 7 --only csv`: gives every parser inputs that are nearly right, each for its share of
 * the time, and prints for each failure the smallest input that was found with what repeats it.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 0x7fff_ffff) },
    only: { type: 'string', default: '' },
  },
});

async function main(): Promise<void> {
  const targets = TARGETS.filter(({ name }) => name.startsWith(values.only));
  const shareMs = (Number(values.seconds) * 1_000) / targets.length;
  const seed = Number(values.seed);
  if (!(shareMs > 0) || !Number.isInteger(seed))
    throw new Error('--seconds and --seed are numbers, and --only begins a name');
  process.stdout.write(`Seed ${seed}, ${Math.round(shareMs)} ms for each of ${targets.length} parsers\n`);
  for (const { name, property } of targets) {
    const result = await fc.check(property as fc.IAsyncProperty<unknown>, {
      seed,
      numRuns: Number.MAX_SAFE_INTEGER,
      interruptAfterTimeLimit: shareMs,
      markInterruptAsFailure: false,
    });
    process.stdout.write(`${result.failed ? 'FAILED' : 'passed'} ${name}: ${result.numRuns} inputs\n`);
    if (!result.failed) continue;
    process.exitCode = 1;
    process.stdout.write(`${fc.defaultReportMessage(result)}\n`);
  }
}

void main();
