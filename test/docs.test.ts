import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { VARIABLES } from '../src/config';
import { ERRORS } from '../src/domain/errors';
import { makePlace, startFanfare, untilReady } from './support/fanfare-process';
import { freshNamespace } from './support/services';

const run = promisify(execFile);

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

describe('README.md', () => {
  test('its first campaign, typed in as it stands, runs to its end', async () => {
    const [, script = ''] =
      /^## A first campaign\n[\s\S]*?^```bash\n([\s\S]*?)^```/m.exec(read('README.md')) ?? [];
    expect(script).toContain('/api/campaign');

    const { address, namespace } = await freshNamespace();
    const place = await makePlace({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace });
    const fanfare = startFanfare(place);
    try {
      await untilReady(fanfare);
      const { stdout } = await run('bash', ['-c', script], { cwd: ROOT, env: place.env, timeout: 60_000 });
      expect(stdout).toMatch(/"received":4/);
      expect(stdout).toMatch(/total: 4,/);
      expect(stdout).toMatch(/rejected: [01],/);
    } finally {
      await fanfare.stop();
    }
    place.remove();
  }, 120_000);

  test('its program for a backend, typed in as it stands, sends its message', async () => {
    const [, script = ''] =
      /^## From your own backend\n[\s\S]*?^```js\n([\s\S]*?)^```/m.exec(read('README.md')) ?? [];
    expect(script).toContain('fanfare/client');

    const { address, namespace } = await freshNamespace();
    const place = await makePlace({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace });
    const fanfare = startFanfare(place);
    try {
      await untilReady(fanfare);
      // A package may call itself by its name.
      const { stdout } = await run(process.execPath, ['-e', script], {
        cwd: ROOT,
        env: place.env,
        timeout: 60_000,
      });
      expect(stdout).toMatch(/^the message is (delivered|undelivered|rejected|expired)$/m);
    } finally {
      await fanfare.stop();
    }
    place.remove();
  }, 120_000);
});

function section(page: string, title: string): string {
  const [, rest = ''] = page.split(`\n## ${title}\n`);
  return rest.split('\n## ')[0] ?? '';
}
