import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/root';

/** The compiler in a checkout of its own, with the packages of this one. */
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fanfare-compile-'));
  for (const file of [join('scripts', 'compile.mjs'), 'tsconfig.json']) {
    cpSync(join(ROOT, file), join(root, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  mkdirSync(join(root, 'src', 'deep'), { recursive: true });
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const node = (...args: string[]) => spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
const compile = () => node(join('scripts', 'compile.mjs'), 'src');

test('what was compiled runs, with its types gone and its JSON beside it', () => {
  writeFileSync(
    join(root, 'src', 'main.ts'),
    `import type { Absent } from './absent';
     import { greeting, type Named } from './deep/greeting';
     import names from './names.json';
     class Guest implements Named { constructor(readonly name: string) {} }
     const guests: Absent extends never ? Guest[] : Guest[] = names.map((name) => new Guest(name));
     console.log(guests.map(greeting).join('; '));
     void import('undici').then(({ Pool }) => console.log(typeof Pool));`,
  );
  writeFileSync(
    join(root, 'src', 'deep', 'greeting.ts'),
    `export interface Named { name: string }
     export const greeting = ({ name }: Named): string => 'Hello, ' + name;`,
  );
  writeFileSync(join(root, 'src', 'deep', 'ambient.d.ts'), 'declare const ambient: string;');
  writeFileSync(join(root, 'src', 'names.json'), '["Ada", "Grace"]');

  expect(compile()).toMatchObject({ status: 0, stderr: '' });

  expect(node(join('dist', 'src', 'main.js'))).toMatchObject({
    stdout: 'Hello, Ada; Hello, Grace\nfunction\n',
    stderr: '',
  });
  expect(existsSync(join(root, 'dist', 'src', 'main.js.map'))).toBe(true);
  expect(existsSync(join(root, 'dist', 'src', 'deep', 'ambient.d.js'))).toBe(false);
});

test('a file that cannot be read as TypeScript fails with its name and line', () => {
  writeFileSync(join(root, 'src', 'broken.ts'), 'export const one = 1;\nexport const two = ;\n');

  const { status, stderr } = compile();

  expect(status).toBe(1);
  expect(stderr).toContain(join('src', 'broken.ts:2:'));
  expect(stderr).not.toContain('node_modules');
});
