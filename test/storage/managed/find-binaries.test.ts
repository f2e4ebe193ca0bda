/** Proves which PostgreSQL is found, and why others are refused. */

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  findPostgresBinaries,
  lookForPostgres,
  npmPackage,
} from '../../../src/storage/managed/find-binaries';
import { writeScript } from '../../temporal/download-site';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'fanfare-binaries-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function writeServer(folder: string, version: string, initdbVersion = version): string {
  const place = join(directory, folder);
  mkdirSync(place, { recursive: true });
  writeScript(join(place, 'postgres'), `echo "postgres (PostgreSQL) ${version}"`);
  writeScript(join(place, 'initdb'), `echo "initdb (PostgreSQL) ${initdbVersion}"`);
  return place;
}

const chosen = (place: string) => ({ FANFARE_POSTGRES_BIN: place, PATH: process.env.PATH });

test('without a setting, the npm package is found and answers', async () => {
  const binaries = await findPostgresBinaries({ env: { PATH: process.env.PATH } });
  expect(binaries).toMatchObject({ origin: 'npm', version: '18.4', major: 18 });
  expect(String(execFileSync(binaries.initdb, ['--version']))).toContain('18.4');
});

test('FANFARE_POSTGRES_BIN is taken before everything else', async () => {
  const place = writeServer('own', '17.2');
  expect(await findPostgresBinaries({ env: chosen(place) })).toEqual({
    directory: place,
    postgres: join(place, 'postgres'),
    initdb: join(place, 'initdb'),
    version: '17.2',
    major: 17,
    origin: 'FANFARE_POSTGRES_BIN',
  });
});

test.each([
  ['does not exist', (place: string) => place, 'does not hold both postgres and initdb'],
  ['is older than 15', () => writeServer('old', '14.9'), 'is PostgreSQL 14.9, older than 15'],
  ['holds two versions', () => writeServer('two', '18.1', '17.1'), 'postgres 18.1 and initdb 17.1'],
  ['holds another program', () => writeServer('other', ')'), 'does not answer like PostgreSQL'],
])('a FANFARE_POSTGRES_BIN that %s is one error, and nothing else is tried', async (_, make, why) => {
  const env = chosen(make(join(directory, 'nothing')));
  await expect(findPostgresBinaries({ env })).rejects.toMatchObject({
    name: 'StartupError',
    message: expect.stringContaining(why),
    wayOut: expect.stringContaining('unset it'),
  });
});

test('a program whose libraries do not load is not used, and what it said is passed on', async () => {
  const place = writeServer('broken', '18.4');
  writeScript(
    join(place, 'postgres'),
    'echo "libicuuc.so.60: cannot open shared object file" >&2',
    'exit 127',
  );
  const { found, tried } = await lookForPostgres({ env: chosen(place) });
  expect(found).toBeUndefined();
  expect(tried).toEqual([expect.stringContaining('libicuuc.so.60: cannot open shared object file')]);
});

test('a server of the wanted version is looked for beyond the first that works', async () => {
  const place = writeServer('path', '16.3');
  const env = { PATH: `${place}:${process.env.PATH}` };
  expect(await findPostgresBinaries({ env, major: 16 })).toMatchObject({ version: '16.3', origin: 'system' });
});

test('a version that no server has is one error with what was found and the ways out', async () => {
  await expect(findPostgresBinaries({ env: { PATH: process.env.PATH }, major: 99 })).rejects.toMatchObject({
    name: 'StartupError',
    message: expect.stringMatching(/made by PostgreSQL 99[\s\S]*npm: .* is PostgreSQL 18.4/),
    wayOut: expect.stringMatching(/Install PostgreSQL 99.*pg_dump/),
  });
});

describe('the npm package', () => {
  /** A copy as npm leaves it when it runs no install scripts: without the symbolic links. */
  async function copyWithoutLinks(): Promise<string> {
    const own = await npmPackage();
    if (!('directory' in own)) throw new Error(own.problem);
    const source = dirname(dirname(own.directory));
    const copy = join(directory, 'package');
    cpSync(source, copy, {
      recursive: true,
      filter: (file) => !/\.(so|dylib)(\.\d+)?$/.test(file) || !isLink(file),
    });
    return copy;
  }

  const isLink = (file: string) =>
    execFileSync('sh', ['-c', '[ -L "$0" ] && echo yes || true', file]).length > 0;
  const at = (root: string) => () => join(root, 'dist', 'index.js');

  test('gets its links when its install script was not run, also from several processes at once', async () => {
    const copy = await copyWithoutLinks();
    const postgres = join(copy, 'native', 'bin', 'postgres');
    expect(() => execFileSync(postgres, ['--version'], { stdio: 'pipe' })).toThrow(
      /cannot open shared object/,
    );

    const all = await Promise.all(Array.from({ length: 8 }, () => npmPackage(at(copy))));
    expect(all).toEqual(Array(8).fill({ directory: dirname(postgres) }));
    expect(String(execFileSync(postgres, ['--version']))).toContain('18.4');
  });

  test('is passed over when its links cannot be made', async () => {
    const copy = join(directory, 'package');
    mkdirSync(join(copy, 'native'), { recursive: true });
    const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }];
    writeFileSync(join(copy, 'native', 'pg-symlinks.json'), JSON.stringify(links));
    expect(await npmPackage(at(copy))).toEqual({ problem: expect.stringMatching(/cannot be made: ENOENT/) });
  });

  test('keeps a link that is there already', async () => {
    const copy = join(directory, 'package');
    mkdirSync(join(copy, 'native', 'lib'), { recursive: true });
    symlinkSync('elsewhere', join(copy, 'native', 'lib', 'libpq.so.5'));
    const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }];
    writeFileSync(join(copy, 'native', 'pg-symlinks.json'), JSON.stringify(links));
    expect(await npmPackage(at(copy))).toEqual({ directory: join(copy, 'native', 'bin') });
    expect(existsSync(join(copy, 'native', 'lib', 'libpq.so.5'))).toBe(false);
  });

  test('says so when it is not installed', async () => {
    const missing = () => {
      throw new Error('not found');
    };
    expect(await npmPackage(missing)).toEqual({ problem: expect.stringContaining('is not installed') });
  });
});
