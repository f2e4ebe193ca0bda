import { SaxesParser } from 'saxes';
import type { FieldCode } from '../field-codes';

/** An element as it was written, without comments and layout. Attributes are pairs, so that any name is safe. */
export interface XmlElement {
  name: string;
  attributes: readonly (readonly [name: string, value: string])[];
  children: readonly XmlNode[];
}
export type XmlNode = XmlElement | string;

export interface XmlProblem {
  code: FieldCode;
  message: string;
  /** Position in the text, in UTF-16 units. */
  offset: number;
}

export interface XmlReading {
  /** `undefined` when the text is no tree; a tree may have problems too. */
  root: XmlElement | undefined;
  /** Where each element begins. */
  offsets: ReadonlyMap<XmlElement, number>;
  problems: readonly XmlProblem[];
}

/** Stop after this many, because later problems mostly follow from the first ones. */
const PROBLEMS_MAX = 10;
/** Limit for the parser's own errors, several at one place counted each. */
const ERRORS_MAX = 100;

/**
 * Reads XML 1.0 as a tree: no document type, no entities except XML's own five, no processing instructions.
 * Nothing is expanded, so that the tree is never larger than the text, and every step is linear in its length.
 */
export function readXml(xml: string, depthMax: number): XmlReading {
  const offsets = new Map<XmlElement, number>();
  const problems: XmlProblem[] = [];
  const refused = refusedAtOnce(xml);
  if (refused) return { root: undefined, offsets, problems: [refused] };

  const open: { element: XmlElement; children: XmlNode[] }[] = [];
  let root: XmlElement | undefined;
  let broken = false;
  let errors = 0;
  let tagAt = 0;
  const parser = new SaxesParser({ xmlns: false, position: true });
  const report = (code: FieldCode, message: string, offset: number): void => {
    problems.push({ code, message, offset });
    if (problems.length >= PROBLEMS_MAX) throw GIVE_UP;
  };
  const breakOff = (code: FieldCode, message: string, offset: number): void => {
    broken = true;
    report(code, message, offset);
  };
  const addText = (text: string): void => {
    const children = open.at(-1)?.children;
    if (!children || text === '') return;
    const before = children.at(-1);
    if (typeof before === 'string') children[children.length - 1] = before + text;
    else children.push(text);
  };

  parser.on('error', (error) => {
    const { code, message } = explain(error.message);
    const offset = Math.min(parser.position, xml.length);
    errors += 1;
    // One mistake often breaks several grammar rules at one place, or one rule many times in a long tag.
    if (problems.at(-1)?.offset !== offset) breakOff(code, message, offset);
    if (errors >= ERRORS_MAX) throw GIVE_UP;
  });
  parser.on('xmldecl', ({ version, encoding }) => {
    if (version !== '1.0') report('invalid_xml', 'Only XML version 1.0 is read', 0);
    if (encoding !== undefined && !/^utf-?8$/i.test(encoding)) {
      report('invalid_xml', `The document says it is in ${encoding}; it is sent as UTF-8`, 0);
    }
  });
  parser.on('processinginstruction', () => {
    report('processing_instruction', 'Processing instructions are refused', parser.position);
  });
  parser.on('comment', (text) => {
    if (text.includes('{{')) {
      report('placeholder_in_comment', 'A comment may not hold {{', parser.position);
    }
  });
  parser.on('cdata', (text) => {
    if (text.includes('{{')) {
      const message =
        'A CDATA section may not hold {{: values are escaped for XML and would be read as written';
      report('placeholder_in_cdata', message, parser.position);
    }
    addText(text);
  });
  parser.on('text', addText);
  parser.on('opentagstart', ({ name }) => {
    // The parser has already read the character after the name.
    tagAt = Math.max(0, xml.lastIndexOf('<', parser.position - name.length));
  });
  parser.on('opentag', ({ name, attributes }) => {
    const children: XmlNode[] = [];
    const element = { name, attributes: Object.entries(attributes), children };
    offsets.set(element, tagAt);
    const parent = open.at(-1);
    if (parent) parent.children.push(element);
    else root ??= element;
    open.push({ element, children });
    if (open.length > depthMax) {
      breakOff('too_deep', `Nested deeper than ${depthMax} levels; the rest was not read`, tagAt);
      throw GIVE_UP;
    }
  });
  parser.on('closetag', () => {
    open.pop();
  });

  try {
    // The parser takes a bare & for the beginning of a name that ends somewhere. A + in its place has the same
    // length and no such effect.
    const readable = replaceStrangers(xml, (offset) => report('unknown_entity', STRANGER, offset));
    parser.write(readable).close();
  } catch (reason) {
    if (reason !== GIVE_UP) throw reason;
    broken = true;
  }
  return { root: broken ? undefined : root, offsets, problems };
}

const GIVE_UP = new Error('enough problems');

/** Half a surrogate pair, and characters that XML 1.0, 2.2 excludes; the parser would accept some of them. */
const NO_CHARACTER = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

/** Refuses, before parsing, text that may harm a parser, ours or a carrier's. */
function refusedAtOnce(xml: string): XmlProblem | undefined {
  const offset = xml.search(NO_CHARACTER);
  if (offset >= 0) return { code: 'invalid_text', message: 'A character that XML cannot hold', offset };
  const prolog = prologLength(xml);
  if (!/^<!DOCTYPE/i.test(xml.slice(prolog, prolog + 9))) return undefined;
  return {
    code: 'doctype_forbidden',
    message: 'A document type is refused, and with it entities of its own',
    offset: prolog,
  };
}

/** What may precede a document type: white space, comments, the declaration and instructions. */
function prologLength(xml: string): number {
  const space = /[\ufeff\t\n\r ]*/y;
  for (let at = 0; ; ) {
    space.lastIndex = at;
    at += space.exec(xml)?.[0].length ?? 0;
    const end = xml.startsWith('<!--', at) ? '-->' : xml.startsWith('<?', at) ? '?>' : undefined;
    const found = end === undefined ? -1 : xml.indexOf(end, at + 2);
    if (end === undefined || found < 0) return at;
    at = found + end.length;
  }
}

const STRANGER = 'An & that begins none of XML’s own entities; write &amp;';

/** Also matches comments and CDATA sections, so that the search skips them: they contain no entities. */
const ENTITY_OR_HIDDEN = /<!--|<!\[CDATA\[|&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)/g;

function replaceStrangers(xml: string, report: (offset: number) => void): string {
  if (!xml.includes('&')) return xml;
  const parts: string[] = [];
  let from = 0;
  const pattern = new RegExp(ENTITY_OR_HIDDEN);
  for (let found = pattern.exec(xml); found; found = pattern.exec(xml)) {
    if (found[0] === '&') {
      report(found.index);
      parts.push(xml.slice(from, found.index), '+');
      from = found.index + 1;
      continue;
    }
    const end = xml.indexOf(found[0] === '<!--' ? '-->' : ']]>', pattern.lastIndex);
    if (end < 0) break;
    pattern.lastIndex = end;
  }
  return parts.join('') + xml.slice(from);
}

/** The parser's message begins with its own position, which is reported separately. */
function explain(message: string): { code: FieldCode; message: string } {
  const told = message.replace(/^\d+:\d+: /, '').replace(/\.$/, '');
  if (/entity/.test(told)) return { code: 'unknown_entity', message: 'A reference to no character of XML' };
  if (/doctype/i.test(told)) return { code: 'doctype_forbidden', message: 'A document type is refused' };
  return { code: 'invalid_xml', message: told.charAt(0).toUpperCase() + told.slice(1) };
}
