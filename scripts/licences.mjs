import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * `npm run licences`: the licences of what is installed with the product, from package-lock.json and the packages
 * themselves. THIRD-PARTY.md has to say the same, and every licence has to be one that the product may be passed on
 * with. `--write` writes the list anew.
 */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
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

/** Of packages whose package.json names none: what the file LICENSE in them says. */
const BY_THEIR_TEXT = { unionfs: 'Unlicense' };

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
/** What the console imports: vite bundles it, with what it needs in its turn, into the files that browsers load. */
const IN_THE_CONSOLE = [
  ...['react', 'react-dom', 'uplot'],
  ...['@tanstack/react-query', '@tanstack/react-router', '@tanstack/react-virtual'],
];

const found = [...installed(), ...bundled(), ...shown()].sort(
  (a, b) => compare(a.name, b.name) || compare(a.version, b.version),
);
const unique = found.filter((one, i) => i === 0 || lineOf(one) !== lineOf(found[i - 1]));

const refused = unique.filter(({ licence }) => !isAllowed(licence));
for (const one of refused)
  process.stderr.write(`${one.name} ${one.version} has the licence ${one.licence}.\n`);
if (process.argv.includes('--write')) writeFileSync(LIST, documentOf(unique));
const isCurrent = existsSync(LIST) && readFileSync(LIST, 'utf8') === documentOf(unique);
if (!isCurrent)
  process.stderr.write('THIRD-PARTY.md is not what is installed: npm run licences -- --write\n');
process.exitCode = refused.length === 0 && isCurrent ? 0 : 1;

/** What comes with an installation for use: not what only building and testing need. */
function installed() {
  return listed(([path, { dev, link }]) => path.includes('node_modules/') && !dev && !link);
}

/** What `packages/` bundles into files of our own goes out with them. */
function bundled() {
  return listed(([path, { dev }]) => dev && /^packages\/[^/]+\/node_modules\//.test(path));
}

function shown() {
  const reached = new Set();
  const add = (name) => {
    const path = `node_modules/${name}`;
    if (reached.has(path) || !packages[path]) return;
    reached.add(path);
    for (const one of Object.keys(packages[path].dependencies ?? {})) add(one);
  };
  for (const name of IN_THE_CONSOLE) add(name);
  return listed(([path]) => reached.has(path));
}

function listed(wanted) {
  return Object.entries(packages)
    .filter(wanted)
    .map(([path, { version, license }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      const licence = license ?? manifestOf(join(ROOT, path))?.license ?? BY_THEIR_TEXT[name];
      return { name, version, licence };
    });
}

function manifestOf(directory) {
  const file = join(directory, 'package.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  return undefined;
}

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

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
