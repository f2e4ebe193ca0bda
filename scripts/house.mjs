import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/**
 * `npm run house`: figures of how easily a stranger finds his way, each with the most that it may be. They may only fall:
 * test/house.test.ts holds them against scripts/house.json, and `--write` takes those of now over. `--list` names the files.
 */
const CHECKOUT = join(dirname(fileURLToPath(import.meta.url)), '..');
/** Another folder is measured with `--root`. */
const ROOT = process.argv.includes('--root') ? process.argv[process.argv.indexOf('--root') + 1] : CHECKOUT;
const BASELINE = join(CHECKOUT, 'scripts/house.json');
const PRODUCT = ['src', 'workflows', 'activities', 'workers'];

/** In names of files, from the table of words: what the field calls otherwise. */
const HOME_MADE = [
  ...[
    'books',
    'closed-channels',
    'permits',
    'run-pace',
    'run-speed',
    'accept-judge',
    'verdict',
    'provider-desk',
  ],
  ...[
    'doubts',
    'in-doubt',
    'dispatch-memory',
    'backlog',
    'list-mail',
    'filled-length',
    'lost-ids',
    'present-state',
  ],
  ...[
    'mint',
    'sweeping',
    'recipient-news',
    'finding',
    'call-news',
    'call-places',
    'audience-places',
    'turns',
  ],
  ...[
    'send-turns',
    'keep-feeds',
    'keep-schedules',
    'relaunch',
    'recall-waiting',
    'ports',
    'repeated-transaction',
  ],
  ...[
    'strange-answers',
    'patience',
    'closers',
    'tied-process',
    'judge-answers',
    'turn-watch',
    'contact-news',
  ],
  ...['message-story', 'looks', 'stage-looks', 'turn-looks', 'turn-wanted', 'occurrence-hours', 'in-turns'],
];
const HOME_MADE_PATTERN = /-(?:part|lane|desk|news|judge|verdict|places|looks)$|^(?:judge|lane)-/;

/** One file by design, read by the list of them alone; and its name cannot change, because databases have recorded it. */
const MIGRATION = /^src\/storage\/migrations\//;

const VAGUE = /\b(?:whoever|nobody|somebody|everybody|told|news)\b/gi;
const REASONS = /\b(?:because|so that|for example)\b/gi;

const files = PRODUCT.flatMap((folder) => listFiles(folder)).filter((path) => path.endsWith('.ts'));
const sources = new Map(files.map((path) => [path, parse(path)]));
const { figures, notes } = measure();

if (process.argv.includes('--json')) {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
} else {
  const limits = existsSync(BASELINE) ? JSON.parse(readFileSync(BASELINE, 'utf8')) : {};
  const width = Math.max(...Object.keys(figures).map((name) => name.length));
  for (const [name, value] of Object.entries(figures)) {
    const limit = limits[name];
    const mark = limit === undefined || isWithin(name, value, limit) ? '' : `  was ${limit}`;
    process.stdout.write(`${name.padEnd(width)}  ${String(value).padStart(6)}${mark}\n`);
    if (process.argv.includes('--list'))
      for (const note of notes[name] ?? []) process.stdout.write(`    ${note}\n`);
  }
}
if (process.argv.includes('--write')) writeFileSync(BASELINE, `${JSON.stringify(figures, null, 2)}\n`);

/** Reasons and diagrams are wanted; of everything else, less is better. */
function isWithin(name, value, limit) {
  return /^(?:reasons|diagrams)/.test(name) ? value >= limit : value <= limit;
}

function measure() {
  const functions = [...sources].flatMap(([path, source]) => functionLengths(path, source));
  const importers = countImporters();
  const slivers = files.filter(
    (path) => importers.get(path) === 1 && lineCount(path) < 80 && !MIGRATION.test(path),
  );
  const comments = files.flatMap((path) => commentsOf(sources.get(path)));
  const words = comments.join(' ').split(/\s+/).length;
  const in10000 = (pattern) =>
    Math.round((comments.join(' ').match(pattern)?.length ?? 0) * (100_000 / words)) / 10;
  const rooms = ['src/campaigns', 'src/messaging'].map((root) => [root, roomsOf(root)]);
  const named = files.filter((path) => isHomeMade(basename(path, '.ts')) && !MIGRATION.test(path));
  const long = (lines) => functions.filter((one) => one.lines > lines);
  const notesOf = (list) => list.map(({ path, name, lines }) => `${path}: ${name}, ${lines} lines`);
  return {
    figures: {
      'functions over 70 lines': long(70).length,
      'functions over 100 lines': long(100).length,
      'files with one importer and under 80 lines': slivers.length,
      ...Object.fromEntries(
        rooms.flatMap(([root, { count, upward }]) => [
          [`rooms in ${root}`, count],
          [`imports between its rooms that go both ways, ${root}`, upward.length],
        ]),
      ),
      'home-made words in file names': named.length,
      'whoever, nobody, told, news in 10,000 words of comments': in10000(VAGUE),
      'reasons (because, so that, for example) in the same': in10000(REASONS),
      'diagrams in README and docs': diagrams(),
      'files of one endpoint': endpointFolders(),
    },
    notes: {
      'functions over 70 lines': notesOf(long(70)),
      'functions over 100 lines': notesOf(long(100)),
      'files with one importer and under 80 lines': slivers,
      ...Object.fromEntries(
        rooms.map(([root, { upward }]) => [`imports between its rooms that go both ways, ${root}`, upward]),
      ),
      'home-made words in file names': named,
    },
  };
}

function parse(path) {
  return ts.createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ts.ScriptTarget.Latest, true);
}

function lineCount(path) {
  return sources.get(path).getLineAndCharacterOfPosition(sources.get(path).end).line + 1;
}

/** From the line of its name to its closing brace; functions in functions are counted, and so are those around them. */
function functionLengths(path, source) {
  const found = [];
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body) {
      const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line;
      const last = source.getLineAndCharacterOfPosition(node.body.getEnd()).line;
      const name = node.name ?? node.parent?.name;
      found.push({ path, name: name ? name.getText(source) : `line ${first + 1}`, lines: last - first + 1 });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function importsOf(path) {
  return sources
    .get(path)
    .statements.filter(
      (one) => (ts.isImportDeclaration(one) || ts.isExportDeclaration(one)) && one.moduleSpecifier,
    )
    .map(({ moduleSpecifier }) => moduleSpecifier.text)
    .filter((text) => text.startsWith('.'))
    .map((text) => relative(ROOT, join(ROOT, dirname(path), text)).replaceAll('\\', '/'))
    .map((text) => [`${text}.ts`, `${text}/index.ts`].find((one) => sources.has(one)))
    .filter((one) => one !== undefined);
}

function countImporters() {
  const importers = new Map();
  for (const path of files) {
    for (const imported of new Set(importsOf(path)))
      importers.set(imported, (importers.get(imported) ?? 0) + 1);
  }
  return importers;
}

/** Folders at any depth, the root itself one of them; and pairs of them that import each other. */
function roomsOf(root) {
  const inside = files.filter((path) => path.startsWith(`${root}/`));
  const rooms = new Set(inside.map((path) => dirname(path)));
  const arrows = new Set();
  for (const path of inside) {
    for (const imported of importsOf(path)) {
      const [from, to] = [dirname(path), dirname(imported)];
      if (from !== to && rooms.has(to)) arrows.add(`${from} -> ${to}`);
    }
  }
  const upward = [...arrows].filter((arrow) => {
    const [from, to] = arrow.split(' -> ');
    return from < to && arrows.has(`${to} -> ${from}`);
  });
  return { count: rooms.size, upward };
}

function isHomeMade(name) {
  return HOME_MADE.includes(name) || HOME_MADE_PATTERN.test(name);
}

function commentsOf(source) {
  const text = source.text;
  const found = new Map();
  const visit = (node) => {
    for (const range of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) {
      found.set(range.pos, text.slice(range.pos, range.end));
    }
    for (const range of ts.getTrailingCommentRanges(text, node.getEnd()) ?? []) {
      found.set(range.pos, text.slice(range.pos, range.end));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...found.values()].map((comment) => comment.replace(/^\/\*\*?|\*\/$|^\s*\*|\/\//gm, ' '));
}

function diagrams() {
  const pages = [
    ...['README.md'].filter((path) => existsSync(join(ROOT, path))),
    ...listFiles('docs').filter((path) => extname(path) === '.md'),
  ];
  return pages
    .map((path) => readFileSync(join(ROOT, path), 'utf8'))
    .reduce((sum, text) => sum + (text.match(/^```mermaid|!\[[^\]]*\]\(/gm)?.length ?? 0), 0);
}

/** What comes in and goes out, the operation and the route: each folder that holds one of them is a file more. */
function endpointFolders() {
  const folders = [
    'src/contracts',
    'src/contracts/answers',
    'src/http',
    'src/http/operations',
    'src/http/routes',
  ];
  return folders.filter(
    (folder) =>
      existsSync(join(ROOT, folder)) && readdirSync(join(ROOT, folder)).some((name) => name.endsWith('.ts')),
  ).length;
}

function listFiles(folder) {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? listFiles(`${folder}/${entry.name}`) : [`${folder}/${entry.name}`],
  );
}
