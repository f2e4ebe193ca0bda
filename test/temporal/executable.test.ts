import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  cacheDirectory,
  type FindExecutableOptions,
  findTemporalExecutable,
} from '../../src/temporal/executable';
import { archiveOf, openDownloadSite, temporalScript, writeScript } from './download-site';

let root: string;
let bin: string;
let cacheDir: string;
let options: FindExecutableOptions;

/** Nobody listens on it: refused at once, as an unreachable site is in the end. */
const NOWHERE = 'http://127.0.0.1:9';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fanfare-executable-'));
  bin = join(root, 'bin');
  cacheDir = join(root, 'cache', 'fanfare');
  mkdirSync(bin);
  mkdirSync(cacheDir, { recursive: true });
  // The PATH of these tests has what is needed to unpack an archive, and nothing else.
  for (const tool of ['tar', 'gzip', 'chmod', 'sh', 'cat', 'cp', 'mkdir'])
    symlinkSync(which(tool), join(bin, tool));
  options = { cacheDir, env: { PATH: bin, HOME: root }, downloadUrl: NOWHERE };
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function which(tool: string): string {
  return spawnSync('sh', ['-c', `command -v ${tool}`])
    .stdout.toString()
    .trim();
}

describe('where the executable is looked for', () => {
  test('TEMPORAL_CLI_PATH comes before everything else', async () => {
    const path = join(root, 'mine');
    writeScript(path, temporalScript('9.0.0'));
    writeScript(join(bin, 'temporal'), temporalScript('1.0.0'));
    const found = await findTemporalExecutable({ ...options, cliPath: path });
    expect(found).toEqual({ path, version: '9.0.0', origin: 'TEMPORAL_CLI_PATH' });
  });

  test('a TEMPORAL_CLI_PATH that is wrong is said to be wrong, and nothing else is tried', async () => {
    writeScript(join(bin, 'temporal'), temporalScript('1.0.0'));
    const cliPath = join(root, 'missing');
    const finding = findTemporalExecutable({ ...options, cliPath });
    await expect(finding).rejects.toMatchObject({
      name: 'StartupError',
      message: expect.stringContaining(`TEMPORAL_CLI_PATH is ${cliPath}`),
    });
  });

  test('a program that is not the Temporal CLI does not pass for it', async () => {
    const cliPath = join(root, 'other');
    writeScript(cliPath, 'echo "other 1.0"');
    await expect(findTemporalExecutable({ ...options, cliPath })).rejects.toThrow('does not answer like');
  });

  test('the PATH comes before the cache', async () => {
    writeScript(join(bin, 'temporal'), temporalScript('1.0.0'));
    writeScript(join(cacheDir, 'temporal'), temporalScript('2.0.0'));
    const found = await findTemporalExecutable(options);
    expect(found).toEqual({ path: join(bin, 'temporal'), version: '1.0.0', origin: 'PATH' });
  });

  test('one on the PATH that does not work is passed over', async () => {
    writeScript(join(bin, 'temporal'), 'exit 3');
    writeScript(join(cacheDir, 'temporal'), temporalScript('2.0.0'));
    expect(await findTemporalExecutable(options)).toMatchObject({ version: '2.0.0', origin: 'cache' });
  });

  test('the cache is XDG_CACHE_HOME, or .cache in the home directory', () => {
    expect(cacheDirectory({ XDG_CACHE_HOME: '/x', HOME: '/h' })).toBe('/x/fanfare');
    expect(cacheDirectory({ XDG_CACHE_HOME: 'relative', HOME: '/h' })).toBe('/h/.cache/fanfare');
    expect(cacheDirectory({ HOME: '/h' })).toBe('/h/.cache/fanfare');
    expect(() => cacheDirectory({})).toThrow('no cache directory');
  });
});

describe('downloading', () => {
  test('the archive for this machine is fetched once and kept', async () => {
    const site = await openDownloadSite({ body: archiveOf(root, '3.0.0') });
    try {
      const progress: string[] = [];
      const onProgress = (text: string) => progress.push(text);
      const first = await findTemporalExecutable({ ...options, downloadUrl: site.url, onProgress });
      expect(first).toEqual({ path: join(cacheDir, 'temporal'), version: '3.0.0', origin: 'download' });
      expect(site.asked[0]).toMatch(/^\/cli\/archive\/latest\?platform=(linux|darwin)&arch=(amd64|arm64)$/);
      expect(progress[0]).toMatch(/^Downloading the Temporal server/);
      expect(readdirSync(cacheDir)).toEqual(['temporal']);

      const asked = site.asked.length;
      const second = await findTemporalExecutable({ ...options, downloadUrl: site.url });
      expect(second.origin).toBe('cache');
      expect(site.asked).toHaveLength(asked);
    } finally {
      await site.close();
    }
  });

  test.each([
    ['is cut off on the way', (whole: Buffer) => ({ body: whole, cut: true }), /download: /],
    ['is damaged', (whole: Buffer) => ({ body: whole.subarray(0, whole.length / 2) }), /cannot be unpacked/],
    ['is no archive but a page', () => ({ body: Buffer.from('<html>') }), /no archive/],
  ])('an archive that %s leaves nothing behind', async (_title, answer, why) => {
    const site = await openDownloadSite(answer(archiveOf(root, '3.0.0')));
    try {
      await expect(findTemporalExecutable({ ...options, downloadUrl: site.url })).rejects.toThrow(why);
      expect(readdirSync(cacheDir)).toEqual([]);
    } finally {
      await site.close();
    }
  });

  test('what is downloaded but does not work is not kept', async () => {
    const site = await openDownloadSite({ body: archiveOf(root, '"; exit 1; "') });
    try {
      await expect(findTemporalExecutable({ ...options, downloadUrl: site.url })).rejects.toThrow(
        /download: /,
      );
      expect(readdirSync(cacheDir)).toEqual([]);
    } finally {
      await site.close();
    }
  });
});

describe('building with Go', () => {
  const installing = [
    'if [ "$1" = version ]; then echo "go version go1.26.8 linux/amd64"; exit; fi',
    'mkdir -p "$GOMODCACHE/dependency" && chmod a-w "$GOMODCACHE/dependency"',
    'echo "$@" > "$HOME/asked"',
    'cp "$HOME/built" "$GOBIN/temporal"',
  ];

  test('it is done where the download site cannot be reached', async () => {
    writeScript(join(bin, 'go'), ...installing);
    writeScript(join(root, 'built'), temporalScript('4.0.0'));
    const progress: string[] = [];
    const found = await findTemporalExecutable({ ...options, onProgress: (text) => progress.push(text) });
    expect(found).toEqual({ path: join(cacheDir, 'temporal'), version: '4.0.0', origin: 'go' });
    expect(readFileSync(join(root, 'asked'), 'utf8')).toMatch(
      /^install .*temporalio\/cli\/cmd\/temporal@v1\.5\.1/,
    );
    expect(progress.at(-1)).toMatch(/^Building the Temporal server with Go, once.*so far$/);
    expect(readdirSync(cacheDir)).toEqual(['temporal']);
  });

  test('a build that fails shows its own last words', async () => {
    writeScript(join(bin, 'go'), String(installing[0]), 'echo "no route to proxy" >&2', 'exit 1');
    await expect(findTemporalExecutable(options)).rejects.toThrow(/go: go install failed: no route to proxy/);
    expect(readdirSync(cacheDir)).toEqual([]);
  });

  test('a Go that is too old is not used', async () => {
    writeScript(join(bin, 'go'), 'echo "go version go1.24.9 linux/amd64"');
    await expect(findTemporalExecutable(options)).rejects.toThrow(/Go 1\.25 or newer is needed/);
  });

  test('being asked to stop ends it at once and leaves nothing behind', async () => {
    writeScript(join(bin, 'go'), String(installing[0]), `exec ${which('sleep')} 60`);
    const stop = new AbortController();
    const onProgress = (text: string) => text.startsWith('Building') && stop.abort();
    const finding = findTemporalExecutable({ ...options, signal: stop.signal, onProgress });
    await expect(finding).rejects.toMatchObject({ name: 'AbortError' });
    expect(readdirSync(cacheDir)).toEqual([]);
  });
});

test('when nothing works, one message says what was tried and the ways out', async () => {
  const finding = findTemporalExecutable(options);
  await expect(finding).rejects.toMatchObject({
    name: 'StartupError',
    message: expect.stringMatching(
      /PATH: .*\n\s+cache: .*\n\s+download: 127\.0\.0\.1:9: .*\n\s+go: Go is not installed/,
    ),
    wayOut: expect.stringMatching(/TEMPORAL_CLI_PATH.*Go 1\.25.*TEMPORAL_ADDRESS/),
  });
});

test('what killed attempts left in the cache is cleared, what living ones are at is not', async () => {
  const dead = spawnSync('true').pid;
  const left = join(cacheDir, `unfinished-${dead}-abc`);
  const living = join(cacheDir, `unfinished-${process.ppid}-abc`);
  for (const directory of [left, living]) {
    mkdirSync(directory);
    writeFileSync(join(directory, 'archive.tar.gz'), 'half');
  }
  await expect(findTemporalExecutable(options)).rejects.toThrow();
  expect(existsSync(left)).toBe(false);
  expect(existsSync(living)).toBe(true);
});
