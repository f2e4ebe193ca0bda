/**
 * `{{NAME}}` placeholders. A text is split once into literals and names and then filled many times; no
 * code is generated. Spaces inside the braces are allowed; any other `{{` is literal text.
 */
export type EscapeTarget = 'none' | 'html' | 'xml';

export interface CompiledText {
  /** Distinct names, in order of first appearance. */
  readonly placeholders: readonly string[];
  /** Fills every placeholder; the caller has checked that each has a value. */
  render(params: Readonly<Record<string, string | number>>): string;
}

const PLACEHOLDER = /\{\{ *([A-Z][A-Z0-9_]*) *\}\}/g;

export function compileText(text: string, target: EscapeTarget): CompiledText {
  const parts = text.split(PLACEHOLDER);
  const placeholders = [...new Set(parts.filter((_, i) => i % 2 === 1))];
  const escaped = ESCAPE[target];
  return {
    placeholders,
    render(params) {
      let out = parts[0] ?? '';
      for (let i = 1; i < parts.length; i += 2) {
        out += escaped(String(params[parts[i] as string] ?? '')) + (parts[i + 1] ?? '');
      }
      return out;
    },
  };
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
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

const ESCAPE: Record<EscapeTarget, (value: string) => string> = {
  none: (value) => value,
  html: (value) => value.replace(/[&<>"']/g, entity),
  xml: (value) => value.replace(NOT_XML, '').replace(/[&<>"']/g, entity),
};
