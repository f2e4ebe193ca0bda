/** Proves that progress is one rewritten line on a terminal, and a few plain lines elsewhere. */

import { createProgressLine, type Output } from '../../src/cli/progress-line';

function output(isTTY: boolean, columns?: number): Output & { text: string } {
  const out = {
    text: '',
    isTTY,
    columns,
    write(text: string) {
      out.text += text;
    },
  };
  return out;
}

test('on a terminal one line is rewritten and then replaced', () => {
  const out = output(true);
  const line = createProgressLine(out);
  line.update('a: 1 s');
  line.update('a: 2 s');
  line.finish('a: done');
  expect(out.text).toBe('\r\x1b[Ka: 1 s\r\x1b[Ka: 2 s\r\x1b[Ka: done\n');
});

test('on a terminal the line can be taken away without a trace', () => {
  const out = output(true);
  const line = createProgressLine(out);
  line.update('a: 1 s');
  line.finish();
  line.finish();
  expect(out.text).toBe('\r\x1b[Ka: 1 s\r\x1b[K');
});

test('a line longer than the terminal is wide does not wrap', () => {
  const out = output(true, 10);
  createProgressLine(out).update('0123456789abcdef');
  expect(out.text).toBe('\r\x1b[K012345678');
});

test('without a terminal there are plain lines, no more often than the interval, and always the last', () => {
  const out = output(false);
  let now = 0;
  const line = createProgressLine(out, { plainIntervalMs: 1_000, now: () => now });
  for (now = 0; now <= 2_500; now += 100) line.update(`at ${now}`);
  line.finish('done');
  expect(out.text).toBe('at 0\nat 1000\nat 2000\ndone\n');
});
