import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const CONTRACTS = resolve(__dirname, '../../src/contracts');

/** A field that is refused says why by a code of its own (docs/errors.md, Fields), never by zod's word `custom`. */
describe('checks of our own in the contracts', () => {
  const files = readdirSync(CONTRACTS, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && path !== 'validation-issue.ts')
    .map((path) => ({ path, text: readFileSync(join(CONTRACTS, path), 'utf8') }));

  test('there are some', () => {
    expect(
      files.flatMap(({ text }) => text.match(/\b(?:refused|finding)\w*\(/g) ?? []).length,
    ).toBeGreaterThan(30);
  });

  test('none makes an issue without a code', () => {
    const bare = files.filter(({ text }) => /code: 'custom'/.test(text)).map(({ path }) => path);
    expect(bare).toEqual([]);
  });

  test('each refinement has the code that it refuses with', () => {
    const counts = files
      .map(({ path, text }) => ({
        path,
        refinements: text.match(/\.refine\(/g)?.length ?? 0,
        codes: text.match(/\brefused\(/g)?.length ?? 0,
      }))
      .filter(({ refinements, codes }) => refinements !== codes);
    expect(counts).toEqual([]);
  });
});
