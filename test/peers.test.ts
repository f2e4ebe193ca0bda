import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import peers from './support/peers.json';
import { ROOT } from './support/root';

const suites = readdirSync(__dirname, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.peers.test.ts'))
  .map((name) => `test/${name.replaceAll('\\', '/')}`);

describe('the suites that need programs of the system', () => {
  test('each have a program that is looked for, and each program a suite', () => {
    const needed = (suite: string) =>
      peers.some((peer) => peer.suites.some((start) => suite.startsWith(start)));
    expect(suites.filter((suite) => !needed(suite))).toEqual([]);
    const starts = peers.flatMap((peer) => peer.suites);
    expect(starts.filter((start) => !suites.some((suite) => suite.startsWith(start)))).toEqual([]);
  });

  test('are listed in the documentation with what they need', () => {
    const page = readFileSync(join(ROOT, 'docs/development.md'), 'utf8');
    const packages = peers.flatMap((peer) => peer.package ?? []);
    expect([...packages, '.ci/exim'].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  test('are not begun where a program is missing: all that is missing is named at once', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/test.mjs', 'peers'], {
      cwd: ROOT,
      env: { PATH: '/nowhere', HOME: '/nowhere' },
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^Nothing was run/);
    expect(stderr).toContain("Perl's Net::SMPP: apt-get install --no-install-recommends libnet-smpp-perl\n");
    expect(stderr).toContain('Exim, beside a Postfix: .ci/exim');
    expect(stderr.match(/: apt-get install/g)?.length).toBeGreaterThanOrEqual(2);
  });

  test('are begun where the programs of the chosen ones are there', () => {
    const { stderr } = spawnSync(process.execPath, ['scripts/test.mjs', 'peers', 'test/browser'], {
      cwd: ROOT,
      env: { PATH: '/nowhere', HOME: '/nowhere' },
      encoding: 'utf8',
    });
    expect(stderr.match(/^ {2}\S.*$/gm)).toEqual([expect.stringContaining('Chromium')]);
  });
});
