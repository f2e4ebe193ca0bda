import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Programs of the system that test suites named `*.peers.test.ts` speak with, because an opinion from outside is
 * worth most where it shares no code with ours. test/support/peers.json lists them. As a command, this prints the
 * Debian packages that they come from.
 */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const PEERS = JSON.parse(readFileSync(join(ROOT, 'test', 'support', 'peers.json'), 'utf8'));

/** Places of programs that only administrators start, and that a user's PATH leaves out. */
const SYSTEM_PLACES = ['/usr/sbin', '/usr/local/sbin'];

/** The suites whose files are named `*.<kind>.test.ts`. */
export function suitesNamed(kind) {
  return readdirSync(join(ROOT, 'test'), { recursive: true })
    .filter((name) => name.endsWith(`.${kind}.test.ts`))
    .map((name) => `test/${name.replaceAll('\\', '/')}`)
    .sort();
}

/** What the suites that match one of these patterns need and this machine has not; all suites without a pattern. */
export function missingPeers(patterns = []) {
  const chosen = suitesNamed('peers').filter(
    (suite) => patterns.length === 0 || patterns.some((pattern) => new RegExp(pattern).test(suite)),
  );
  return PEERS.filter(
    (peer) => chosen.some((suite) => peer.suites.some((start) => suite.startsWith(start))) && !isThere(peer),
  ).map(({ name, package: from, way = `apt-get install --no-install-recommends ${from}` }) => ({
    name,
    way,
  }));
}

function isThere({ program, probe, cached, root }) {
  if (root) return process.getuid?.() === 0;
  if (cached) return existsSync(join(cacheDirectory(), cached));
  if (probe) return spawnSync(probe[0], probe.slice(1), { stdio: 'ignore' }).status === 0;
  const places = [...(process.env.PATH ?? '').split(delimiter), ...SYSTEM_PLACES];
  return places.some((place) => existsSync(join(place, program)));
}

/** As src/temporal/executable.ts has it; read before anything is built. */
export function cacheDirectory() {
  const { XDG_CACHE_HOME } = process.env;
  const base = XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), '.cache');
  return join(base, 'fanfare');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(`${[...new Set(PEERS.flatMap((peer) => peer.package ?? []))].join('\n')}\n`);
}
