import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, shippedPackages } from './shipped-packages.mjs';

/**
 * `npm run licences`: the licences of what is installed with the product, from package-lock.json and the packages
 * themselves. THIRD-PARTY.md has to say the same, and every licence has to be one that the product may be passed on
 * with. `--write` writes the list anew.
 */
const LIST = join(ROOT, 'THIRD-PARTY.md');

/** Licences that ask for their text and nothing of our own source. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC-BY-4.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PostgreSQL',
  'Python-2.0',
  'Unlicense',
]);

const unique = shippedPackages();

const refused = unique.filter(({ licence }) => !isAllowed(licence));
for (const one of refused)
  process.stderr.write(`${one.name} ${one.version} has the licence ${one.licence}.\n`);
if (process.argv.includes('--write')) writeFileSync(LIST, documentOf(unique));
const isCurrent = existsSync(LIST) && readFileSync(LIST, 'utf8') === documentOf(unique);
if (!isCurrent)
  process.stderr.write('THIRD-PARTY.md is not what is installed: npm run licences -- --write\n');
process.exitCode = refused.length === 0 && isCurrent ? 0 : 1;

/** Of `(MIT OR GPL-2.0)` one is enough, of `MIT AND ISC` all are needed. */
function isAllowed(licence) {
  if (typeof licence !== 'string') return false;
  return licence
    .replace(/[()]/g, '')
    .split(/ OR /)
    .some((choice) => choice.split(/ AND /).every((one) => ALLOWED.has(one.trim())));
}

function documentOf(list) {
  const counts = new Map();
  for (const { licence } of list) counts.set(licence, (counts.get(licence) ?? 0) + 1);
  const sums = [...counts].sort(([, a], [, b]) => b - a).map(([licence, count]) => `${licence} ${count}`);
  return [
    '# Third-party software',
    '',
    'What is installed with Fanfare, with its licence; the texts are in the packages. Fanfare itself is under the',
    '[MIT licence](LICENSE). Made by `npm run licences -- --write`, and held against what is installed by `npm run check`.',
    '',
    `${list.length} packages: ${sums.join(', ')}.`,
    '',
    '| Package | Version | Licence |',
    '|---|---|---|',
    ...list.map(lineOf),
    '',
  ].join('\n');
}

function lineOf({ name, version, licence }) {
  return `| ${name} | ${version} | ${licence} |`;
}
