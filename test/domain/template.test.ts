/** Proves how placeholders are filled, and how long the result is. */

import fc from 'fast-check';
import { compileText } from '../../src/domain/template';

const value = fc.oneof(fc.string(), fc.integer());

test('a filled text is as long as it was said to be', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string(), fc.constantFrom('{{A}}', '{{ B }}', '{{a}}', '{{', '}}'))),
      fc.record({ A: value, B: value }),
      (parts, params) => {
        const text = compileText(parts.join(''), 'none');
        expect(text.filledLength(params)).toBe(text.render(params).length);
      },
    ),
  );
});

test('what is said about it costs nothing like filling it in', () => {
  const text = compileText('{{A}}'.repeat(500_000), 'html');
  expect(text.filledLength({ A: 'x'.repeat(16_384) })).toBe(500_000 * 16_384);
});
