import fc from 'fast-check';
import { TARGETS } from './targets';

/** A few hundred of the inputs of `npm run fuzz`, the same ones each time. */
describe('parsers take what is nearly right', () => {
  test.each(TARGETS)('$name', async ({ property }) => {
    const result = await fc.check(property as fc.IAsyncProperty<unknown>, { seed: 7, numRuns: 300 });
    expect(result.failed ? fc.defaultReportMessage(result) : '').toBe('');
    expect(result.numRuns).toBe(300);
  });
});
