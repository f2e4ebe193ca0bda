import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './support/root';

/**
 * The figures of `npm run house` may only fall, those that are wanted may only rise. When one has become better, take it
 * over with `npm run house -- --write`, so that it stays so.
 */
type Figures = Record<string, number>;

async function measure(...args: string[]): Promise<Figures> {
  const script = join(ROOT, 'scripts/house.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--json', ...args]);
  return JSON.parse(stdout) as Figures;
}

const isWanted = (name: string) => /^(?:reasons|diagrams)/.test(name);

test('no figure of the house is worse than it was', async () => {
  const limits = JSON.parse(readFileSync(join(ROOT, 'scripts/house.json'), 'utf8')) as Figures;
  const now = await measure();
  expect(Object.keys(now)).toEqual(Object.keys(limits));
  const worse = Object.entries(now).filter(([name, value]) => {
    const limit = limits[name] ?? 0;
    return isWanted(name) ? value < limit : value > limit;
  });
  expect(worse.map(([name, value]) => `${name}: ${value}, was ${limits[name]}`)).toEqual([]);
}, 120_000);

describe('the figures of a small house', () => {
  let house: string;
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(house, path)), { recursive: true });
    writeFileSync(join(house, path), text);
  };

  beforeAll(() => {
    house = mkdtempSync(join(tmpdir(), 'fanfare-house-'));
    const body = (lines: number) => '  run();\n'.repeat(lines);
    write('src/campaigns/runs/start.ts', `import '../ledger/verdict';\nfunction a() {\n${body(69)}}\n`);
    write('src/campaigns/ledger/verdict.ts', `import '../runs/end';\nfunction b() {\n${body(98)}}\n`);
    // Nine words, one of them vague and one that gives a reason.
    write(
      'src/campaigns/runs/end.ts',
      '// Nobody waits here, because the run has ended.\nexport const x = "news";\n',
    );
    write('README.md', '# House\n\n```mermaid\ngraph LR\n```\n');
  });
  afterAll(() => rmSync(house, { recursive: true, force: true }));

  test('they are counted as they are named', async () => {
    const figures = await measure('--root', house);
    const of = (start: string) => Object.entries(figures).find(([name]) => name.startsWith(start))?.[1];
    expect(of('functions over 70')).toBe(2);
    expect(of('functions over 100')).toBe(0);
    expect(of('files with one importer')).toBe(1);
    expect(of('rooms in src/campaigns')).toBe(2);
    expect(of('imports between its rooms')).toBe(1);
    expect(of('home-made')).toBe(1);
    expect(of('whoever')).toBeCloseTo(of('reasons') ?? 0);
    expect(of('whoever')).toBeGreaterThan(0);
    expect(of('diagrams')).toBe(1);
  }, 60_000);
});
