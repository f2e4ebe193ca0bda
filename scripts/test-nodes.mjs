import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cacheDirectory } from './peers.mjs';

/**
 * `npm run test:nodes`: the quick tests, recorded histories, the HTTP API and the client under each version of Node that is
 * supported, and whether any installed package says that it does not run there. The executables come from npm, once, into
 * the cache directory. Arguments name suites: `npm run test:nodes -- test/e2e/campaign.test.ts`; `--node 24` one version.
 */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const MAJORS = [20, 22, 24];
/** Beside the quick tests, where versions of Node have differed: workers and sandboxes, HTTP, streams. */
const MORE = ['test/replay/', 'test/http/', 'test/client/'];
const { values, positionals: suites } = parseArgs({
  options: { node: { type: 'string' } },
  allowPositionals: true,
});

function main() {
  const majors = values.node === undefined ? MAJORS : MAJORS.filter((major) => values.node === String(major));
  if (majors.length === 0) throw new Error(`--node is one of ${MAJORS.join(', ')}`);
  const failed = majors.filter((major) => !passes(major));
  process.stdout.write(
    failed.length === 0
      ? `All pass on Node ${majors.join(', ')}.\n`
      : `Failed on Node ${failed.join(', ')}.\n`,
  );
  process.exit(failed.length === 0 ? 0 : 1);
}

function passes(major) {
  const node = nodeOf(major);
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` };
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
  process.stdout.write(`== Node ${version}\n`);
  const asked = spawnSync('npm', ['ci', '--dry-run', '--ignore-scripts', '--omit=dev'], {
    ...{ cwd: ROOT, env, encoding: 'utf8' },
  });
  const refused = `${asked.stdout}${asked.stderr}`.split('\n').filter((line) => line.includes('EBADENGINE'));
  process.stdout.write(refused.map((line) => `${line}\n`).join(''));
  const chosen = suites.length === 0 ? [['quick'], ['all', ...MORE]] : [['all', ...suites]];
  const ended = chosen.map((given) => {
    const command = [join(ROOT, 'scripts', 'test.mjs'), ...given];
    return spawnSync(node, command, { cwd: ROOT, env, stdio: 'inherit' }).status;
  });
  return asked.status === 0 && refused.length === 0 && ended.every((status) => status === 0);
}

/** Path of an executable of the major version; the package of each platform has nothing but that file. */
function nodeOf(major) {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const place = join(cacheDirectory(), 'nodes', String(major));
  const name = `node-${process.platform}-${process.arch}`;
  const node = join(place, 'node_modules', name, 'bin', 'node');
  if (existsSync(node)) return node;
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'package.json'), '{"private":true}\n');
  const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund', `${name}@${major}`], {
    ...{ cwd: place, stdio: 'inherit' },
  });
  if (status !== 0) throw new Error(`Node ${major} could not be installed from npm as ${name}`);
  return node;
}

main();
