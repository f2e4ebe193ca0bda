import { renderLayout } from '@fanfare/email-layout';
import { compile } from 'html-to-text';
import type { Channel } from '../../domain/channel';
import { renderableLayout } from '../../domain/email-layout';
import { DomainError, type FieldError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { judgeVoiceTemplate } from '../../domain/voice/voice-template';
import { plainTextOf } from './plain-text';
import type { TemplateContent, VersionContent } from './template-record';

/**
 * The parts that are derived once, when a template is saved. Where no body is given, an email's HTML comes from
 * its layout and a call's document from its flow; an email also gets a plain-text part. Throws
 * `invalid_request` for a layout that the renderer refuses.
 */
export function versionOf(channel: Channel, content: TemplateContent): VersionContent {
  if (channel === 'voice') {
    return {
      ...content,
      body: judgeVoiceTemplate({ body: content.body, flow: content.design }).body,
      text: null,
    };
  }
  if (channel !== 'email') return { ...content, text: null };
  const body =
    content.body.trim() === '' ? htmlOfLayout(content.design ?? {}, content.subject) : content.body;
  return { ...content, body, text: derivedText(body) };
}

/** A complete document. Placeholders stay unchanged, also in its title, and are filled later. */
function htmlOfLayout(layout: Record<string, unknown>, subject: string | null): string {
  const document = renderableLayout(layout);
  const html = withPlaceholders(tryToRender(document));
  const inside = html.slice(html.indexOf('<body>') + '<body>'.length, html.lastIndexOf('</body>'));
  const data = (layout.root as { data?: { lang?: unknown } } | undefined)?.data;
  const lang = typeof data?.lang === 'string' && LANGUAGE.test(data.lang) ? data.lang : 'en';
  return `<!DOCTYPE html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${(subject ?? '').replace(/[&<>]/g, (character) => ENTITIES[character] as string)}</title>
</head>
<body style="margin:0">${inside}</body>
</html>
`;
}

/** BCP 47, strict enough to keep other text out of an attribute. */
const LANGUAGE = /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$/;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Markdown percent-encodes addresses, including the braces of placeholders. */
function withPlaceholders(html: string): string {
  return html.replace(/%7B%7B(?:%20)*([A-Z][A-Z0-9_]*)(?:%20)*%7D%7D/g, '{{$1}}');
}

function tryToRender(document: Record<string, unknown>): string {
  try {
    return renderLayout(document);
  } catch (error) {
    throw notRenderable(document, error);
  }
}

/**
 * The renderer's error does not say which block it refused. Each block is therefore rendered alone, in an empty
 * layout.
 */
function notRenderable(document: Record<string, unknown>, cause: unknown): DomainError {
  const refused = Object.keys(document).filter((id) => !rendersAlone(id, document[id]));
  const errors: FieldError[] = (refused.length > 0 ? refused : ['root']).map((id) => ({
    path: `template.${id}`,
    code: 'not_renderable',
    message: 'This block cannot be rendered: a property has a value of a kind that its type does not take',
  }));
  const first = errors[0] as FieldError;
  return new DomainError('invalid_request', `${first.path}: ${first.message}`, { errors, cause });
}

function rendersAlone(id: string, block: unknown): boolean {
  const alone = {
    [id]: block,
    root: { type: 'EmailLayout', data: { childrenIds: id === 'root' ? [] : [id] } },
  };
  try {
    renderLayout(renderableLayout(id === 'root' ? { root: withoutChildren(block) } : alone));
    return true;
  } catch {
    return false;
  }
}

function withoutChildren(root: unknown): unknown {
  const { data, ...rest } = root as { data?: object };
  return { ...rest, data: { ...data, childrenIds: [] } };
}

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
