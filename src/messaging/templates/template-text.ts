import { compile } from 'html-to-text';
import { LIMITS } from '../../domain/limits';
import { plainTextOf } from './plain-text';

/**
 * The plain-text part of a template's HTML, derived when a version is saved. Placeholders stay, to be
 * filled unescaped. HTML beyond the bounds, which no mail program shows whole, gets our own quicker pass:
 * the library takes quadratic time, and at last the stack, for markup that nests without end.
 */
export function derivedText(html: string): string {
  if (html.length > LIMITS.derivedTextChars || nesting(html) > LIMITS.derivedTextDepth)
    return plainTextOf(html);
  try {
    return tidy(convert(html));
  } catch {
    // Nesting that was not seen for what it is, such as ends that stand in a script.
    return plainTextOf(html);
  }
}

/** Cells and rows leave blanks at ends of lines, and lines of nothing else. */
function tidy(text: string): string {
  return text
    .replace(/[ \t\u00a0]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

const heading = { format: 'heading', options: { uppercase: false } };

const convert = compile({
  // The reader's program knows the width of its window.
  wordwrap: false,
  formatters: {
    // What an image shows is said by its alt text; its address says nothing to a reader.
    altText: (image, _walk, builder) => builder.addInline(String(image.attribs?.alt ?? '')),
  },
  selectors: [
    // A heading in capitals would put values in capitals beside it that are not.
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

/** At most how deep elements stand in one another: an end counts only for an element that is open. */
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

/** Without an end; or with one that is usually left out, so that a long list is no deep one. */
const VOID = new Set(
  'area base br col embed hr img input link meta source track wbr p li dt dd option tr td th'.split(' '),
);
