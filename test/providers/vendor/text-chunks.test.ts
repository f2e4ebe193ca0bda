import { chunksOf } from '../../../src/providers/vendor/text-chunks';

test('a character of two units is not cut in two', () => {
  expect(chunksOf('abc\u{1F600}de', 4)).toEqual(['abc', '\u{1F600}de']);
});
