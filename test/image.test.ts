import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './support/root';

/** No image is built here: what can be known of the recipe without building it. */
describe('the image', () => {
  const admitted = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  const copied = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(/\s+/).slice(1, -1));

  test('copies something', () => {
    expect(copied).toContain('src');
  });

  test.each(copied)('is given %s', (path) => {
    expect(existsSync(join(ROOT, path))).toBe(true);
    expect(admitted).toContain(path);
  });
});
