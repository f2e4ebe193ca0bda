/**
 * Derives plain text from an email's HTML in one quick pass, in time limited by the length. It is used for a
 * body that comes with a message, and for markup that is too much for the library behind template-parts.ts.
 * Placeholders stay, because they are filled afterwards; a value is therefore never read as markup.
 */
export function plainTextOf(html: string): string {
  let out = '';
  let href = '';
  let at = 0;
  // After the last `>` there is no tag. Searching for one from every `<` would take quadratic time.
  const lastClose = html.lastIndexOf('>');
  while (at < html.length) {
    const open = html.indexOf('<', at);
    if (open < 0 || open > lastClose) break;
    out += collapse(html.slice(at, open));
    const tag = tagAt(html, open);
    at = tag.end;
    if (tag.name === 'a') {
      if (tag.closing && isWorthShowing(href)) out += ` (${href})`;
      href = tag.closing ? '' : hrefOf(tag.text);
    } else if (tag.name === '') out += tag.text;
    else if (BREAKS.has(tag.name) || (tag.closing && BLOCKS.has(tag.name))) out += '\n';
  }
  return tidy(out + collapse(html.slice(at)));
}

const HIDDEN = new Set(['style', 'script', 'head', 'title']);
const BREAKS = new Set(['br', 'hr']);
const BLOCKS = new Set('p div tr li h1 h2 h3 h4 h5 h6 table ul ol blockquote'.split(' '));

interface Tag {
  /** In lower case; empty for a `<` that is plain text, which `text` then holds. */
  name: string;
  closing: boolean;
  text: string;
  end: number;
}

function tagAt(html: string, open: number): Tag {
  const markup = { name: '!', closing: false, text: '' };
  if (html.startsWith('<!--', open)) return { ...markup, end: after(html, '-->', open + 4) };
  const match = /^<(\/?)([a-z][a-z0-9]*)/i.exec(html.slice(open, open + 20));
  if (!match && /[!?]/.test(html[open + 1] ?? '')) return { ...markup, end: after(html, '>', open) };
  if (!match) return { name: '', closing: false, text: '<', end: open + 1 };

  const close = html.indexOf('>', open);
  const name = (match[2] as string).toLowerCase();
  const closing = match[1] === '/';
  if (closing || !HIDDEN.has(name)) return { name, closing, text: html.slice(open, close), end: close + 1 };
  const ending = new RegExp(`</${name}\\s*>`, 'gi');
  ending.lastIndex = close;
  return { ...markup, end: ending.exec(html) ? ending.lastIndex : html.length };
}

function after(html: string, ending: string, from: number): number {
  const found = html.indexOf(ending, from);
  return found < 0 ? html.length : found + ending.length;
}

function hrefOf(tag: string): string {
  const match = /\shref\s*=\s*(?:"([^"]*)"|'([^']*)')/i.exec(tag);
  return match?.[1] ?? match?.[2] ?? '';
}

const isWorthShowing = (href: string): boolean => href !== '' && !href.startsWith('#');

const collapse = (text: string): string => text.replace(/\s+/g, ' ');

function tidy(text: string): string {
  return text
    .replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,6});/gi, decodeEntity)
    .split('\n')
    .map((line) => line.replace(/[ \t\u00a0]+/g, ' ').trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

function decodeEntity(whole: string, name: string): string {
  if (!name.startsWith('#')) return NAMED[name.toLowerCase()] ?? whole;
  const hex = name[1] === 'x' || name[1] === 'X';
  const point = Number.parseInt(name.slice(hex ? 2 : 1), hex ? 16 : 10);
  const printable = point > 0x1f && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
  return printable ? String.fromCodePoint(point) : '';
}
