/** Proves which braces are reported because they look like a placeholder. */

import { checkPlaceholders, lintPlaceholders } from '../../src/domain/template-lint';
import { cpuMs } from '../support/cpu-time';

const lint = (text: string) => lintPlaceholders([{ path: 'body', text }]);

describe('braces that look like a placeholder', () => {
  test.each([
    '{{name}}',
    '{{FIRST NAME}}',
    '{{ first_name }}',
    '{{Ünal}}',
    '{{user.name}}',
    '{{NAME}',
    '{NAME}}',
    '{{ NAME\t}}',
    '{{{NAME}}',
  ])('%j is warned about', (braces) => {
    expect(lint(`Hi ${braces}, {{CITY}}`)).toEqual([
      {
        path: 'body',
        code: 'not_a_placeholder',
        message: expect.stringContaining(braces),
        severity: 'warning',
      },
    ]);
  });

  test.each([
    '{{NAME}}',
    '{{ NAME }}',
    '{{A_1}}{{B}}',
    '{{}}',
    '{{1ST}}',
    '{ color: red }',
    'a {b} c',
    '{{',
    'x }} y',
    '{{\nNAME\n}}',
  ])('%j is not', (text) => {
    expect(lint(text)).toEqual([]);
  });

  test('each is reported once per text, up to a limit', () => {
    expect(lint('{{a}}{{a}}')).toHaveLength(1);
    expect(lint(Array.from({ length: 1_000 }, (_, i) => `{{a${i}}}`).join(''))).toHaveLength(50);
  });

  test.each(['{{', '{{ a', '{{{', '}}', '{{a '])('a megabyte of %j takes no time', (piece) => {
    const text = piece.repeat(1_000_000 / piece.length);
    expect(cpuMs(() => lint(text))).toBeLessThan(2_000);
  });
});

describe('placeholders', () => {
  const check = (...texts: string[]) => checkPlaceholders(texts.map((text, i) => ({ path: `t${i}`, text })));

  test('have names that a message can bring values for', () => {
    expect(check(`{{${'A'.repeat(64)}}}`)).toEqual([]);
    expect(check('x', `{{${'A'.repeat(65)}}}`)).toEqual([
      expect.objectContaining({ path: 't1', code: 'placeholder_too_long', severity: 'error' }),
    ]);
  });

  test('are as many in all texts together as a message can bring values for', () => {
    const names = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => `{{P${from + i}}}`).join('');
    expect(check(names(0, 60), names(40, 100))).toEqual([]);
    expect(check(names(0, 60), names(41, 101))).toEqual([
      expect.objectContaining({ path: 't1', code: 'too_many_placeholders', severity: 'error' }),
    ]);
  });
});
