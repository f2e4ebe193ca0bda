/**
 * `{{NAME}}` placeholders. A text is split once into literals and names, and then filled many times; no code is
 * generated. Spaces inside the braces are allowed; any other `{{` is literal text.
 */
export type EscapeTarget = 'none' | 'html' | 'xml';

export interface CompiledText {
  /** Distinct names, in order of first appearance. */
  readonly placeholders: readonly string[];
  /** Length of the text with these values, before they are escaped. */
  filledLength(params: Readonly<Record<string, string | number>>): number;
  /** Fills every placeholder. The caller has checked that each has a value. */
  render(params: Readonly<Record<string, string | number>>): string;
}

/**
 * Marks a template whose text is not fully visible, so that it may have other placeholders. No placeholder can
 * have this name.
 */
export const ANY_PLACEHOLDER = '*';

/** In an email's body it always has a value: the link by which the recipient unsubscribes. */
export const UNSUBSCRIBE_URL = 'UNSUBSCRIBE_URL';

/**
 * The name of an optional placeholder, which is filled if there is a value. With it, a caller's link has
 * priority over ours.
 */
export const ifThere = (name: string): string => `${name}?`;
export const isIfThere = (placeholder: string): boolean => placeholder.endsWith('?');
export const nameOf = (placeholder: string): string => placeholder.replace(/\?$/, '');

const PLACEHOLDER = /\{\{ *([A-Z][A-Z0-9_]*) *\}\}/g;

/**
 * With `known`, a placeholder with another name is literal text, because a derived text must need no further
 * values.
 */
export function compileText(text: string, target: EscapeTarget, known?: ReadonlySet<string>): CompiledText {
  const parts = known ? splitAt(text, known) : text.split(PLACEHOLDER);
  const uses = new Map<string, number>();
  let literalChars = 0;
  for (const [i, part] of parts.entries()) {
    if (i % 2 === 0) literalChars += part.length;
    else uses.set(part, (uses.get(part) ?? 0) + 1);
  }
  const placeholders = [...uses.keys()];
  const escaped = ESCAPE[target];
  return {
    placeholders,
    filledLength(params) {
      let chars = literalChars;
      for (const [name, count] of uses) chars += count * String(params[name] ?? '').length;
      return chars;
    },
    render(params) {
      let out = parts[0] ?? '';
      for (let i = 1; i < parts.length; i += 2) {
        out += escaped(String(params[parts[i] as string] ?? '')) + (parts[i + 1] ?? '');
      }
      return out;
    },
  };
}

function splitAt(text: string, known: ReadonlySet<string>): string[] {
  const parts: string[] = [];
  let from = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    const name = match[1] as string;
    if (!known.has(name)) continue;
    parts.push(text.slice(from, match.index), name);
    from = match.index + match[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}

export function placeholdersOf(...texts: (string | null | undefined)[]): string[] {
  const names = new Set<string>();
  for (const text of texts) {
    for (const match of (text ?? '').matchAll(PLACEHOLDER)) names.add(match[1] as string);
  }
  return [...names];
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const entity = (character: string): string => ENTITIES[character] as string;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these may not stand in XML 1.0 at all (2.2).
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;
/** Includes the carriage return, which an XML parser would turn into a line feed. */
const XML_SPECIAL = /[&<>"'\r]/g;

/** For element content and attribute values in either kind of quotes; not for CDATA and comments. */
export const escapeXml = (value: string): string =>
  value.replace(NOT_XML, '').replace(XML_SPECIAL, (character) => ENTITIES[character] ?? '&#13;');

const ESCAPE: Record<EscapeTarget, (value: string) => string> = {
  none: (value) => value,
  html: (value) => value.replace(/[&<>"']/g, entity),
  xml: escapeXml,
};
