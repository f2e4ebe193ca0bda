import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { VARIABLES } from '../src/config';
import { ERRORS } from '../src/domain/errors';

const ROOT = resolve(__dirname, '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

describe('docs/errors.md', () => {
  const entries = [...read('docs/errors.md').matchAll(/^### (\S+)\n(\d{3}), (\w+)\. /gm)];

  test('has every code of the catalogue and no other, with its status and retry class', () => {
    const actual = Object.entries(ERRORS).map(([code, { status, retry }]) => [code, String(status), retry]);
    expect(entries.map(([, ...entry]) => entry)).toEqual(actual);
  });
});

describe('docs/configuration.md', () => {
  const table = section(read('docs/configuration.md'), 'Variables');
  const rows = [...table.matchAll(/^\| `(\w+)` \| (\S+) \| \S.* \|$/gm)];

  test('has every variable and no other, in the same order', () => {
    expect(rows.map(([, name]) => name)).toEqual(Object.keys(VARIABLES.shape));
  });

  test('gives each the default that it has', () => {
    const defaults = VARIABLES.parse({}) as Record<string, unknown>;
    const written = Object.fromEntries(rows.map(([, name, value]) => [name, value]));
    const actual = Object.keys(VARIABLES.shape).map((name) => [
      name,
      defaults[name] === undefined ? 'none' : `\`${defaults[name]}\``,
    ]);
    expect(written).toEqual(Object.fromEntries(actual));
  });
});

function section(page: string, title: string): string {
  const [, rest = ''] = page.split(`\n## ${title}\n`);
  return rest.split('\n## ')[0] ?? '';
}
