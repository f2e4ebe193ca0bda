/** Proves the plain text of an email’s HTML. */

import { plainTextOf } from '../../../src/messaging/templates/plain-text';
import { cpuMs } from '../../support/cpu-time';

describe('the plain text of an email', () => {
  test.each([
    ['blocks become lines', '<h1>Hi</h1><p>One\n  two</p><ul><li>a</li><li>b</li></ul>', 'Hi\nOne two\na\nb'],
    ['line breaks are kept', 'a<br>b<BR/>c<hr />d', 'a\nb\nc\nd'],
    [
      'a link shows where it leads',
      '<a class="x" href="https://e.org/?a={{ID}}">Go</a>!',
      'Go (https://e.org/?a={{ID}})!',
    ],
    ['a link within the page shows its words', "<a href='#top'>Up</a> <a>none</a>", 'Up none'],
    [
      'styles, scripts, titles and comments are left out',
      '<head><title>t</title></head><style>p{}</style>a<script>x<y</script ><!-- <p>c</p> -->b',
      'ab',
    ],
    [
      'entities are decoded',
      '&lt;b&gt; &amp;amp; &#233;&#xe9; A&nbsp;B &unknown; &#0;',
      '<b> &amp; éé A B &unknown;',
    ],
    ['placeholders stay', '<p>{{ NAME }}, <b>{{CITY}}</b></p>', '{{ NAME }}, {{CITY}}'],
    ['a lone angle bracket is text', '1 < 2 and 3 <4', '1 < 2 and 3 <4'],
    ['at most one line stays empty', '<div><p>a</p></div><div></div><p></p><p>b</p>', 'a\n\nb'],
    ['what is never closed is left out', 'a<style>p{}', 'a'],
  ])('%s', (_what, html, text) => {
    expect(plainTextOf(html)).toBe(text);
  });

  test.each(['<!--', '<style', '<style>', '<a href="', '<', '<a '])(
    'a megabyte of %s takes no time',
    (piece) => {
      const html = piece.repeat(1_000_000 / piece.length);
      expect(cpuMs(() => plainTextOf(html))).toBeLessThan(2_000);
    },
  );
});
