import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * Rules about the repository itself that no linter knows. Each has a reason and an example that breaks it;
 * a rule whose example stops failing is a rule that no longer works.
 */
interface Rule {
  name: string;
  why: string;
  example: { path: string; text: string };
  /** What is wrong with the file, or undefined. */
  finding(path: string, text: string): string | undefined;
}

const ROOT = resolve(__dirname, '..');
const LINES_MAX = 400;
/** What a build, a run or an installation leaves in the checkout; also what git keeps. */
const NOT_SOURCE = new Set(['node_modules', 'dist', 'coverage', '.git', '.fanfare']);
const PRODUCT = /^(src|workflows|activities|workers)\/.*\.ts$/;
const CODE = /\.(tsx?|mts|cts|mjs|cjs|js)$/;

const RULES: Rule[] = [
  {
    name: 'no test is singled out',
    why: 'a forgotten .only silently skips every other test of its file',
    example: { path: 'test/a.test.ts', text: "test.only('x', () => undefined);" },
    finding: (path, text) =>
      match(path, /\.test\.ts$/, text, /\b(?:test|it|describe)\.only\b|\bf(?:it|describe)\(/),
  },
  {
    name: 'a test is called test',
    why: 'two names for one thing make a reader look for a difference',
    example: { path: 'test/a.test.ts', text: "  it('sends', () => undefined);" },
    finding: (path, text) => match(path, /^test\/.*\.ts$/, text, /^\s*it(?:\.\w+)?[(`]/m),
  },
  {
    name: 'a skipped test says why',
    why: 'a skip without a reason is never taken back; the reason is a comment on the line above',
    example: { path: 'test/a.test.ts', text: "\ntest.skip('x', () => undefined);" },
    finding(path, text) {
      if (!/^test\/.*\.ts$/.test(path)) return undefined;
      const lines = text.split('\n');
      const at = lines.findIndex(
        (line, i) =>
          /\b(?:test|it|describe)\.(?:skip|todo)\b|\bx(?:it|test|describe)\(/.test(line) &&
          !/^\s*(?:\/\/|\*)/.test(lines[i - 1] ?? ''),
      );
      return at < 0 ? undefined : `line ${at + 1}: ${lines[at]?.trim()}`;
    },
  },
  {
    name: 'the product logs, only the command line prints',
    why: 'lines printed past the logger have no level, no ids and no redaction',
    example: { path: 'src/messaging/outbox.ts', text: "console.log('sent');" },
    finding: (path, text) =>
      path.startsWith('src/cli/') ? undefined : match(path, PRODUCT, text, /\bconsole\.\w+/),
  },
  {
    name: 'no path of one machine',
    why: 'it works for its author only',
    example: { path: 'scripts/x.mjs', text: "const cache = '/home/alex/cache';" },
    finding: (path, text) =>
      match(path, /./, text, /(?:^|[\s'"`(=:])\/(?:home|root|Users|work|mnt|tmp|private)\/[\w.-]+/m),
  },
  {
    name: `a file has at most ${LINES_MAX} lines, or says at its head why it is "long because" of something`,
    why: 'a file that holds one idea is shorter; the exceptions are worth a sentence',
    example: { path: 'src/messaging/outbox.ts', text: '\n'.repeat(LINES_MAX + 1) },
    finding(path, text) {
      const lines = text.split('\n');
      if (!CODE.test(path) || path.endsWith('.gen.ts') || lines.length <= LINES_MAX) return undefined;
      return /long because/i.test(lines.slice(0, 20).join('\n')) ? undefined : `${lines.length} lines`;
    },
  },
  {
    name: 'a file is named for what it holds',
    why: 'nobody finds a thing in utils, and everything ends there',
    example: { path: 'src/messaging/utils.ts', text: '' },
    finding(path) {
      if (!PRODUCT.test(path) || path === 'src/contracts/common.ts') return undefined;
      const name = basename(path, '.ts');
      if (name !== name.toLowerCase()) return 'not kebab-case';
      return path
        .split('/')
        .some((part) => /^(?:utils?|helpers?|common|misc|shared|lib)(?:\.ts)?$/.test(part))
        ? 'a name that says nothing'
        : undefined;
    },
  },
  {
    name: 'recipients are moved in one place',
    why: 'each statement that writes a state must refuse foreign rows, keep the ranks and keep the counters',
    example: { path: 'src/campaigns/runs/x.ts', text: 'sql`\n  update recipients r set state = 1`' },
    finding(path, text) {
      if (path === 'src/campaigns/ledger/move-recipients.ts') return undefined;
      // It takes addresses and values away, and writes no state.
      if (path === 'src/campaigns/ledger/erase-recipients.ts') return undefined;
      // A freeze makes recipients.
      const made = path.startsWith('src/campaigns/audience/') ? '' : '|insert\\s+into|insertInto';
      const writes = `\\b(?:update|updateTable|delete\\s+from|deleteFrom${made})\\b[\\s(']+recipients\\b`;
      return match(path, PRODUCT, text, new RegExp(writes, 'i'));
    },
  },
  {
    name: 'settings are read in one place',
    why: 'docs/configuration.md can only be complete if src/config.ts is',
    example: { path: 'src/messaging/outbox.ts', text: 'const size = process.env.SIZE;' },
    // A command may hand the environment on as a whole, to readConfig or to what starts other programs.
    finding: (path, text) =>
      match(path, PRODUCT, text, /process\.env\s*[.?[]|\}\s*=\s*process\.env/) ??
      (path.startsWith('src/cli/') ? undefined : match(path, PRODUCT, text, /process\.env/)),
  },
  {
    name: 'nothing is left for later without an issue',
    why: 'a note without a number is forgotten',
    example: { path: 'src/app.ts', text: '// TO' + 'DO: close it' },
    finding: (path, text) => match(path, CODE, text, /\b(?:TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))/),
  },
  {
    name: 'a page of documentation has one title and its links lead somewhere',
    why: 'lists of pages are made from titles, and a dead link is a promise broken',
    example: { path: 'docs/x.md', text: '# X\n\nSee [the other](nowhere.md).' },
    finding(path, text) {
      if (!path.endsWith('.md')) return undefined;
      const prose = text.replace(/<!--[\s\S]*?-->/g, '').replace(/^(`{3,})[\s\S]*?^\1/gm, '');
      if (!/^\s*# \S/.test(prose)) return 'does not begin with a title';
      if ((prose.match(/^# /gm) ?? []).length > 1) return 'more than one title';
      const dead = [...prose.matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)]
        .map((found) => found[1] ?? '')
        .filter((target) => !existsSync(join(ROOT, dirname(path), target)));
      return dead.length > 0 ? `links to ${dead.join(', ')}` : undefined;
    },
  },
  {
    name: 'the lockfile names no server',
    why: 'where packages come from is the setting of the machine that installs them',
    example: { path: 'package-lock.json', text: '"resolved": "https://example.org/x.tgz"' },
    finding: (path, text) => match(path, /^package-lock\.json$/, text, /"resolved": "https?:[^"]*"/),
  },
];

// This file holds the examples that break the rules.
const files = listFiles('').filter((path) => path !== 'test/tidy.test.ts');
const texts = new Map(files.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));

describe('the repository', () => {
  test.each(RULES)('$name', ({ finding, why }) => {
    const findings = [...texts].flatMap(([path, text]) => {
      const found = finding(path, text);
      return found === undefined ? [] : [`${path}: ${found}`];
    });
    if (findings.length > 0) throw new Error(`${why}\n${findings.join('\n')}`);
  });

  test('has no .swcrc, which the bundler of the workflows would pick up and break on', () => {
    expect(existsSync(join(ROOT, '.swcrc'))).toBe(false);
  });

  test('can run what it calls a script', () => {
    const scripts = files.filter((path) => path.startsWith('.ci/') || /^docker\/.*\.sh$/.test(path));
    expect(scripts).toContain('.ci/run');
    expect(scripts.filter((path) => (statSync(join(ROOT, path)).mode & 0o111) === 0)).toEqual([]);
  });
});

describe('the rules', () => {
  test.each(RULES)('catch their example: $name', ({ example, finding }) => {
    expect(finding(example.path, example.text)).toBeDefined();
  });
});

function listFiles(directory: string): string[] {
  return readdirSync(join(ROOT, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
    if (NOT_SOURCE.has(entry.name)) return [];
    return entry.isDirectory() ? listFiles(path) : [path];
  });
}

function match(path: string, where: RegExp, text: string, what: RegExp): string | undefined {
  if (!where.test(path)) return undefined;
  const found = what.exec(text);
  if (!found) return undefined;
  const line = text.slice(0, found.index).split('\n').length;
  return `line ${line}: ${found[0].trim()}`;
}
