/** Proves the text part that is derived from a template’s HTML. */

import { LIMITS } from '../../../src/domain/limits';
import { derivedText } from '../../../src/messaging/templates/template-parts';

describe('the text part derived from a template', () => {
  test.each([
    [
      'placeholders stay',
      '<h1>Hi {{NAME}}</h1><p>{{ CITY }}, <b>{{A}}</b></p>',
      'Hi {{NAME}}\n\n{{ CITY }}, {{A}}',
    ],
    [
      'a link shows where it leads',
      '<a href="https://e.org/?a={{ID}}">Go</a>!',
      'Go (https://e.org/?a={{ID}})!',
    ],
    [
      'a link that is its own text is told once',
      '<a href="https://e.org">https://e.org</a>',
      'https://e.org',
    ],
    ['a link within the page shows its words', '<a href="#top">Up</a>', 'Up'],
    [
      'an image is its alt text',
      'A<img src="https://e.org/x.png" alt="{{NAME}}’s hat">B<img src="y">',
      'A{{NAME}}’s hatB',
    ],
    ['an image in a link is its words', '<a href="{{LINK}}"><img alt="Hat" src="x"></a>', 'Hat ({{LINK}})'],
    [
      'cells stand beside, rows below each other',
      '<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>',
      'a b\nc',
    ],
    ['a list has its marks', '<ul><li>a</li><li>b</li></ul>', '* a\n * b'],
    [
      'styles, scripts, titles and comments are left out',
      '<head><title>t</title><style>p{}</style></head><body>a<script>x</script><!-- c -->b</body>',
      'ab',
    ],
    ['entities are decoded', '&lt;b&gt; &copy; &#233;', '<b> © é'],
  ])('%s', (_what, html, text) => {
    expect(derivedText(html)).toBe(text);
  });

  test('long lines are left to the reader’s program', () => {
    const words = 'word '.repeat(200).trim();
    expect(derivedText(`<p>${words}</p>`)).toBe(words);
  });

  test('text is derived of HTML of any length', () => {
    expect(derivedText(`<p>a</p>${'<b>x</b>'.repeat(LIMITS.derivedTextChars / 8)}<p>z</p>`)).toMatch(
      /^a\nx+z$/,
    );
  });

  const pieces = [
    '<div>',
    '<b>',
    '<b></i>',
    '<b/>',
    '<div><script></div></script>',
    '<ul><li>',
    '<table><tr><td>',
  ];
  test.each([...pieces, '<p>', '<a href="', '<!--', '<', '&amp;', '<style>'])(
    'as much of %j as there may be takes little time',
    (piece) => {
      // The processor's time, because the machine may be busy with other things.
      const begun = process.cpuUsage();
      derivedText(piece.repeat(Math.floor(LIMITS.derivedTextChars / piece.length)));
      derivedText(piece.repeat(Math.floor(LIMITS.templateBodyBytes / 4 / piece.length)));
      const { user, system } = process.cpuUsage(begun);
      expect((user + system) / 1_000).toBeLessThan(3_000);
    },
  );
});
