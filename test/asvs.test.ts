/** Proves that docs/asvs.md leaves no requirement of levels 1 and 2 out, and that what it names is there. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './support/root';

/** The last numbers of each section of ASVS 5.0.0, by level. */
const REQUIREMENTS: Record<string, [level1: number[], level2: number[]]> = {
  '1.1': [[], [1, 2]],
  '1.2': [
    [1, 2, 3, 4, 5],
    [6, 7, 8, 9],
  ],
  '1.3': [
    [1, 2],
    [3, 4, 5, 6, 7, 8, 9, 10, 11],
  ],
  '1.4': [[], [1, 2, 3]],
  '1.5': [[1], [2]],
  '2.1': [[1], [2, 3]],
  '2.2': [[1, 2], [3]],
  '2.3': [[1], [2, 3, 4]],
  '2.4': [[], [1]],
  '3.2': [[1, 2], []],
  '3.3': [[1], [2, 3, 4]],
  '3.4': [
    [1, 2],
    [3, 4, 5, 6],
  ],
  '3.5': [
    [1, 2, 3],
    [4, 5],
  ],
  '3.7': [[], [1, 2]],
  '4.1': [[1], [2, 3]],
  '4.2': [[], [1]],
  '4.3': [[], [1, 2]],
  '4.4': [[1], [2, 3, 4]],
  '5.1': [[], [1]],
  '5.2': [[1, 2], [3]],
  '5.3': [[1, 2], []],
  '5.4': [[], [1, 2, 3]],
  '6.1': [[1], [2, 3]],
  '6.2': [
    [1, 2, 3, 4, 5, 6, 7, 8],
    [9, 10, 11, 12],
  ],
  '6.3': [
    [1, 2],
    [3, 4],
  ],
  '6.4': [
    [1, 2],
    [3, 4],
  ],
  '6.5': [[], [1, 2, 3, 4, 5]],
  '6.6': [[], [1, 2, 3]],
  '6.8': [[], [1, 2, 3, 4]],
  '7.1': [[], [1, 2, 3]],
  '7.2': [[1, 2, 3, 4], []],
  '7.3': [[], [1, 2]],
  '7.4': [
    [1, 2],
    [3, 4, 5],
  ],
  '7.5': [[], [1, 2]],
  '7.6': [[], [1, 2]],
  '8.1': [[1], [2]],
  '8.2': [[1, 2], [3]],
  '8.3': [[1], []],
  '8.4': [[], [1]],
  '9.1': [[1, 2, 3], []],
  '9.2': [[1], [2, 3, 4]],
  '10.1': [[], [1, 2]],
  '10.2': [[], [1, 2]],
  '10.3': [[], [1, 2, 3, 4]],
  '10.4': [
    [1, 2, 3, 4, 5],
    [6, 7, 8, 9, 10, 11],
  ],
  '10.5': [[], [1, 2, 3, 4, 5]],
  '10.6': [[], [1, 2]],
  '10.7': [[], [1, 2, 3]],
  '11.1': [[], [1, 2]],
  '11.2': [[], [1, 2, 3]],
  '11.3': [[1, 2], [3]],
  '11.4': [[1], [2, 3, 4]],
  '11.5': [[], [1]],
  '11.6': [[], [1]],
  '12.1': [[1], [2, 3]],
  '12.2': [[1, 2], []],
  '12.3': [[], [1, 2, 3, 4]],
  '13.1': [[], [1]],
  '13.2': [[], [1, 2, 3, 4, 5]],
  '13.3': [[], [1, 2]],
  '13.4': [[1], [2, 3, 4, 5]],
  '14.1': [[], [1, 2]],
  '14.2': [[1], [2, 3, 4]],
  '14.3': [[1], [2, 3]],
  '15.1': [[1], [2, 3]],
  '15.2': [[1], [2, 3]],
  '15.3': [[1], [2, 3, 4, 5, 6, 7]],
  '16.1': [[], [1]],
  '16.2': [[], [1, 2, 3, 4, 5]],
  '16.3': [[], [1, 2, 3, 4]],
  '16.4': [[], [1, 2, 3]],
  '16.5': [[], [1, 2, 3]],
  '17.1': [[], [1]],
  '17.2': [[], [1, 2, 3, 4]],
  '17.3': [[], [1, 2]],
};

const page = readFileSync(join(ROOT, 'docs/asvs.md'), 'utf8');
const rows = [
  ...page.matchAll(/^\| (\d+\.\d+\.\d+) \| ([12]) \| (.+?) \| (met|not met|n\/a) \| (.+) \|$/gm),
].map(([, number = '', level = '', requirement = '', state = '', reason = '']) => ({
  ...{ number, level: Number(level), requirement, state, reason },
}));

test('every requirement of levels 1 and 2 has a row, in the order of the standard, with its level', () => {
  const wanted = Object.entries(REQUIREMENTS).flatMap(([section, levels]) =>
    levels.flatMap((numbers, i) =>
      numbers.map((number) => ({ number: `${section}.${number}`, level: i + 1 })),
    ),
  );
  expect(wanted.filter(({ level }) => level === 1)).toHaveLength(70);
  expect(wanted).toHaveLength(253);
  const inOrder = wanted.sort((a, b) => a.number.localeCompare(b.number, 'en', { numeric: true }));
  expect(rows.map(({ number, level }) => ({ number, level }))).toEqual(inOrder);
});

test('what is met names a file that is there, and every other row a reason', () => {
  const named = (text: string) =>
    [...text.matchAll(/`([\w./-]+\.(?:ts|tsx|md|json|yml))`/g)].map(([, path]) => path);
  const missing = rows.flatMap(({ number, reason }) =>
    named(reason)
      .filter((path) => !existsSync(join(ROOT, String(path))))
      .map((path) => `${number} ${path}`),
  );
  expect(missing).toEqual([]);
  for (const { number, state, reason } of rows) {
    const proved =
      state === 'met' ? named(reason).length > 0 || /\]\(.+#.+\)/.test(reason) : /\.$|test\.ts`/.test(reason);
    expect([number, proved]).toEqual([number, true]);
  }
});

test('what is not met says why, and by which section of the contract where it collides', () => {
  const unexplained = rows
    .filter(({ state }) => state === 'not met')
    .filter(({ reason }) => reason.length < 80 || (/[Cc]ollide/.test(reason) && !/sections? \d/.test(reason)))
    .map(({ number }) => number);
  expect(unexplained).toEqual([]);
});

test('the counts at the head are those of the rows', () => {
  const counted = [1, 2].map((level) => {
    const of = rows.filter((row) => row.level === level);
    const states = ['met', 'not met', 'n/a'].map((state) => of.filter((row) => row.state === state).length);
    return `| ${[level, ...states, of.length].join(' | ')} |`;
  });
  for (const line of counted) expect(page).toContain(line);
});
