import { compile } from 'html-to-text';
import { LIMITS } from '../../domain/limits';
import { plainTextOf } from './plain-text';

/**
 * The plain-text part of a template's HTML, derived when a version is saved. Placeholders stay, to be filled
 * without escaping. HTML beyond the limits, which no mail program shows completely, gets our own quicker pass:
 * for markup that nests without end, the library takes quadratic time and finally overflows the stack.
 */
export function derivedText(html: string): string {
  if (html.length > LIMITS.derivedTextChars || nesting(html) > LIMITS.derivedTextDepth)
    return plainTextOf(html);
  try {
    return tidy(convert(html));
  } catch {
    // The nesting was deeper than counted, for example because of end tags inside a script.
    return plainTextOf(html);
  }
}

/** Removes spaces that cells and rows leave at ends of lines, and lines of spaces. */
function tidy(text: string): string {
  return text
    .replace(/[ \t\u00a0]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

const heading = { format: 'heading', options: { uppercase: false } };

const convert = compile({
  // No line breaks, because the reader's program knows the width of its window.
  wordwrap: false,
  formatters: {
    // An image's alt text describes it; its address is of no use to a reader.
    altText: (image, _walk, builder) => builder.addInline(String(image.attribs?.alt ?? '')),
  },
  selectors: [
    // Headings keep their case, because capitals would not apply to the values filled in later.
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, ...heading })),
    {
      selector: 'a',
      options: { linkBrackets: ['(', ')'], hideLinkHrefIfSameAsText: true, noAnchorUrl: true },
    },
    { selector: 'img', format: 'altText' },
    { selector: 'table', format: 'block' },
    { selector: 'tr', format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    { selector: 'td', format: 'inlineSurround', options: { suffix: ' ' } },
    { selector: 'title', format: 'skip' },
    { selector: 'hr', options: { length: 20 } },
  ],
});

/** Upper bound of how deep elements are nested: an end tag counts only for an open element. */
function nesting(html: string): number {
  const open = new Map<string, number>();
  let depth = 0;
  let deepest = 0;
  for (const [, slash, tag] of html.matchAll(/<(\/?)([a-z][a-z0-9]{0,20})/gi)) {
    const name = (tag as string).toLowerCase();
    const count = open.get(name) ?? 0;
    if (VOID.has(name) || (slash && count === 0)) continue;
    open.set(name, count + (slash ? -1 : 1));
    depth += slash ? -1 : 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/** Elements without an end tag, or with one that is usually left out, so that a long list does not count as deep. */
const VOID = new Set(
  'area base br col embed hr img input link meta source track wbr p li dt dd option tr td th'.split(' '),
);
