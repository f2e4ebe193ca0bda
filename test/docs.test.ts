import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { promisify } from 'node:util';
import { VARIABLES } from '../src/config-variables';
import { ERRORS } from '../src/domain/errors';
import { FIELD_CODES } from '../src/domain/field-codes';
import {
  type FanfareProcess,
  makePlace,
  type Place,
  startFanfare,
  untilReady,
} from './support/fanfare-process';
import { freshNamespace } from './support/namespaces';
import { MAIN } from './support/root';

const run = promisify(execFile);

const ROOT = resolve(__dirname, '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

describe('docs/errors.md', () => {
  const entries = [...read('docs/errors.md').matchAll(/^### (\S+)\n(\d{3}), (\w+)\. /gm)];

  test('has every code of the catalogue and no other, with its status and retry class', () => {
    const actual = Object.entries(ERRORS).map(([code, { status, retry }]) => [code, String(status), retry]);
    expect(entries.map(([, ...entry]) => entry)).toEqual(actual);
  });

  test('has every code of a field and no other, each with its meaning', () => {
    const rows = [...section(read('docs/errors.md'), 'Fields').matchAll(/^\| `(\w+)` \| (.+) \|$/gm)];
    expect(rows.map(([, code, meaning]) => [code, meaning])).toEqual(Object.entries(FIELD_CODES));
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

describe('the way of one message in docs/architecture.md', () => {
  const rows = [
    ...section(read('docs/architecture.md'), 'One message, out and back').matchAll(
      /^\| (\d+) \| `(\S+)` \| .+ \| (?:(import)|`(\S+)`|) *\|$/gm,
    ),
  ].map(([, number, file = '', isImport, word]) => ({ number: Number(number), file, isImport, word }));

  test('leads out through at most 14 files, and back through at most 9', () => {
    const back = rows.slice(rows.findLastIndex(({ number }) => number === 1));
    expect(rows.length - back.length).toBeLessThanOrEqual(14);
    expect(back.length).toBeLessThanOrEqual(9);
  });

  test('each file is reached from one above it as the table says', () => {
    expect(rows.length).toBeGreaterThan(20);
    const imports = (from: string, to: string) =>
      [...read(from).matchAll(/from '(\.[^']+)'/g)].some(
        ([, path = '']) => `${posix.join(posix.dirname(from), path)}.ts` === to,
      );
    const unreached = rows.filter(({ file, isImport, word }, at) => {
      const above = rows.slice(0, at).map((row) => row.file);
      if (isImport) return !above.some((one) => imports(one, file) || imports(file, one));
      if (word) return !read(file).includes(word) || !above.some((one) => read(one).includes(word));
      return !existsSync(join(ROOT, file));
    });
    expect(unreached).toEqual([]);
  });
});

describe('what the source says of these pages', () => {
  const sources = ['src', 'workflows', 'activities', 'workers', 'test']
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true }).map((path) => `${folder}/${path}`),
    )
    // That file holds examples of what is wrong.
    .filter((path) => path.endsWith('.ts') && path !== 'test/tidy.test.ts')
    .map((path) => ({ path, text: read(path) }));
  const inSources = (what: RegExp) =>
    sources.flatMap(({ path, text }) => [...text.matchAll(what)].map(([, found = '']) => ({ path, found })));

  test('every section of api.md that is named exists', () => {
    const sections = [...read('docs/api.md').matchAll(/^## (\d+)\. \S/gm)].map(([, number]) => number);
    const named = inSources(/\bapi\.md\s+(\d+(?:(?:, | and )\d+)*)/g);
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ found }) => !found.match(/\d+/g)?.every((one) => sections.includes(one)))).toEqual(
      [],
    );
  });

  test('every page that is named exists', () => {
    const places = (name: string) => [name, `docs/${name}`].map((path) => join(ROOT, path));
    const named = inSources(/(?<![\w./-])((?:[\w-]+\/)*[\w-]+\.md)\b/g);
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ found }) => !places(found).some((path) => existsSync(path)))).toEqual([]);
  });
});

describe('a link from one page to a heading', () => {
  const pages = ['README.md', 'CHANGELOG.md']
    .concat(readdirSync(join(ROOT, 'docs'), { recursive: true }).map((path) => `docs/${path}`))
    .filter((path) => path.endsWith('.md'))
    .map((path) => ({ path, text: read(path) }));
  // As GitHub makes them.
  const anchors = new Map(
    pages.map(({ path, text }) => {
      const titles = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title.toLowerCase());
      return [path, titles.map((title) => title.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'))];
    }),
  );

  test.each(pages)('leads there: $path', ({ path, text }) => {
    const links = [...text.matchAll(/\]\(((?:[\w./-]+\.md)?)#([^)\s]+)\)/g)];
    const dead = links.filter(([, target = '', anchor = '']) => {
      const to = target === '' ? path : posix.join(posix.dirname(path), target);
      return !anchors.get(to)?.includes(anchor);
    });
    expect(dead.map(([link]) => link)).toEqual([]);
  });
});

describe('a command that a page shows', () => {
  const pages = ['README.md', 'SECURITY.md'].concat(
    readdirSync(join(ROOT, 'docs'), { recursive: true })
      .map((path) => `docs/${path}`)
      .filter((path) => path.endsWith('.md') && !path.startsWith('docs/decisions/')),
  );
  // A value that is left out cannot be tried.
  const lines = new Set(
    pages
      .flatMap((page) => [...read(page).matchAll(/(?:^|`|\$ )fanfare ([a-z][^`\n]* --[^`\n#>|]*)/gm)])
      .map(([, line = '']) => line.trim())
      .filter((line) => !line.includes('…')),
  );

  test.each([...lines])('has options and choices that the program knows: fanfare %s', async (line) => {
    const words = (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''));
    const { stdout } = await run(process.execPath, [MAIN, ...words, '--help']);
    for (const option of words.filter((word) => word.startsWith('--')))
      expect(stdout).toContain(`${option} `);
  });
});

describe('docs/decisions/README.md', () => {
  test('has every decision by its number and title', () => {
    const listed = read('docs/decisions/README.md').matchAll(
      /^\| (\d+) \| \[(.+)\]\((.+\.md)\) \| \S.* \|$/gm,
    );
    const written = readdirSync(join(ROOT, 'docs/decisions'))
      .filter((name) => /^\d/.test(name))
      .map((name) => {
        const [, number, title] =
          /^# (\d+)\. (.+)\n\n\d{4}-\d\d-\d\d, accepted\.\n/.exec(read(`docs/decisions/${name}`)) ?? [];
        return [number, title, name];
      });
    expect([...listed].map(([, ...entry]) => entry)).toEqual(
      written.sort((a, b) => Number(a[0]) - Number(b[0])),
    );
  });
});

describe('what a newcomer types in as it stands', () => {
  let place: Place;
  let fanfare: FanfareProcess;
  beforeAll(async () => {
    const { address, namespace } = await freshNamespace();
    place = await makePlace({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace });
    fanfare = startFanfare(place);
    await untilReady(fanfare);
  }, 120_000);
  afterAll(async () => {
    await fanfare.stop();
    await place.remove();
  });

  /** The first program below a heading, run by node. */
  async function type(page: string, heading: string): Promise<{ script: string; stdout: string }> {
    const [, script = ''] = /^```js\n([\s\S]*?)^```/m.exec(section(read(page), heading)) ?? [];
    // A package may call itself by its name.
    const options = { cwd: ROOT, env: place.env, timeout: 60_000 };
    return { script, stdout: (await run(process.execPath, ['-e', script], options)).stdout };
  }

  test('README’s program for a backend sends its message', async () => {
    const { script, stdout } = await type('README.md', 'From your own backend');
    expect(script).toContain('fanfare/client');
    expect(stdout).toMatch(/^the message is (delivered|undelivered|rejected|expired)$/m);
  }, 120_000);

  test('the first campaign is one call, which ends and is explained', async () => {
    const { script, stdout } = await type('docs/first-campaign.md', 'One call');
    expect(script).toContain('recipients: [');
    expect(stdout).toMatch(/total: 3,/);
    expect(stdout).toMatch(/rejected: 1,/);
    expect(stdout.trim().split('\n').at(-1)).toMatch(/^.+refused.+\.$/);
  }, 120_000);
});

function section(page: string, title: string): string {
  const [, rest = ''] = page.split(`\n## ${title}\n`);
  return rest.split('\n## ')[0] ?? '';
}
