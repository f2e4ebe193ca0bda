import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What goes out with the product, from package-lock.json and the packages themselves. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Of packages whose package.json names none: what the file LICENSE in them says. */
const BY_THEIR_TEXT = { unionfs: 'Unlicense' };

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
/** What the console imports: vite bundles it, with what it needs in its turn, into the files that browsers load. */
const IN_THE_CONSOLE = [
  ...['react', 'react-dom', 'uplot'],
  ...['@tanstack/react-query', '@tanstack/react-router', '@tanstack/react-virtual'],
];

/** Each package and version once, sorted by both. */
export function shippedPackages() {
  const found = [...installed(), ...bundled(), ...shown()].sort(
    (a, b) => compare(a.name, b.name) || compare(a.version, b.version),
  );
  return found.filter((one, i) => i === 0 || keyOf(one) !== keyOf(found[i - 1]));
}

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
    .map(([path, { version, license, integrity, optional }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      const licence = license ?? manifestOf(join(ROOT, path))?.license ?? BY_THEIR_TEXT[name];
      return { name, version, licence, integrity, optional: optional === true };
    });
}

function manifestOf(directory) {
  const file = join(directory, 'package.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  return undefined;
}

const keyOf = ({ name, version, licence }) => `${name} ${version} ${licence}`;

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
