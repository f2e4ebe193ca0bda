import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The packages of others that go out with the product, from package-lock.json and the packages themselves. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Of packages whose package.json names none: what the file LICENSE in them says. */
const BY_THEIR_TEXT = { unionfs: 'Unlicense' };

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));

/** Sorted by name and version, each once. */
export function shippedPackages() {
  const found = [...installed(), ...bundled(), ...shown()].sort(
    (a, b) => compare(a.name, b.name) || compare(a.version, b.version),
  );
  return found.filter(
    (one, i) => i === 0 || one.name !== found[i - 1].name || one.version !== found[i - 1].version,
  );
}

/** What comes with an installation for use: not what only building and testing need. */
function installed() {
  return listed(([path, { dev, link }]) => path.includes('node_modules/') && !dev && !link);
}

/** What `packages/` bundles into files of our own goes out with them. */
function bundled() {
  return listed(([path, { dev }]) => dev && /^packages\/[^/]+\/node_modules\//.test(path));
}

/** What the console imports: vite bundles it, with what it needs in its turn, into the files that browsers load. */
function shown() {
  const reached = new Set();
  const add = (name, from) => {
    const path = pathOf(name, from);
    if (path === undefined || reached.has(path)) return;
    reached.add(path);
    const { dependencies, peerDependencies, peerDependenciesMeta } = packages[path];
    const peers = Object.keys(peerDependencies ?? {}).filter((one) => !peerDependenciesMeta?.[one]?.optional);
    for (const one of [...Object.keys(dependencies ?? {}), ...peers])
      if (!one.startsWith('@types/')) add(one, path);
  };
  for (const name of importedByConsole()) add(name, '');
  return listed(([path, { link }]) => reached.has(path) && !link);
}

/** As Node looks a package up: in the importer's own folder first, then in those above it. */
function pathOf(name, from) {
  for (let base = from; ; base = folderOver(base)) {
    const path = `${base === '' ? '' : `${base}/`}node_modules/${name}`;
    if (packages[path]) return path;
    if (base === '') return undefined;
  }
}

const folderOver = (path) => path.slice(0, Math.max(path.lastIndexOf('/node_modules/'), 0));

/** `import … from`, `export … from`, `import '…'` and `import('…')` of a package. */
const IMPORTS = /((?:^(?:import|export)\b[^'";]*?\bfrom |^import |\bimport\())'([^'.][^']*)'/gm;

/** Types leave nothing in what is built, so that a package that gives types alone is none of these. */
function importedByConsole() {
  const sources = join(ROOT, 'console', 'src');
  const names = new Set();
  for (const file of readdirSync(sources, { recursive: true })) {
    if (!/\.tsx?$/.test(file)) continue;
    const text = readFileSync(join(sources, file), 'utf8');
    for (const [, statement, module] of text.matchAll(IMPORTS)) {
      if (!/^(?:import|export) type\b/.test(statement))
        names.add(
          module
            .split('/')
            .slice(0, module.startsWith('@') ? 2 : 1)
            .join('/'),
        );
    }
  }
  return names;
}

function listed(wanted) {
  return Object.entries(packages)
    .filter(wanted)
    .map(([path, { version, license, integrity }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      const licence = license ?? manifestOf(join(ROOT, path))?.license ?? BY_THEIR_TEXT[name];
      return { name, version, licence, integrity };
    });
}

function manifestOf(directory) {
  const file = join(directory, 'package.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  return undefined;
}

export function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
