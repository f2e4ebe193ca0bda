import { SaxesParser, type SaxesTagPlain, type XMLDecl } from 'saxes';
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
  const refused = refusedAtOnce(xml);
  if (refused) return { root: undefined, offsets: new Map(), problems: [refused] };
  return new TreeReader(xml, depthMax).read();
}

class TreeReader {
  private readonly offsets = new Map<XmlElement, number>();
  private readonly problems: XmlProblem[] = [];
  private readonly open: { element: XmlElement; children: XmlNode[] }[] = [];
  private root: XmlElement | undefined;
  private broken = false;
  private errors = 0;
  private tagAt = 0;
  private readonly parser = new SaxesParser({ xmlns: false, position: true });

  constructor(
    private readonly xml: string,
    private readonly depthMax: number,
  ) {}

  readonly read = (): XmlReading => {
    this.listen();
    try {
      // The parser takes a bare & for the beginning of a name that ends somewhere. A + in its place has the same
      // length and no such effect.
      const readable = replaceStrangers(this.xml, (offset) =>
        this.report('unknown_entity', STRANGER, offset),
      );
      this.parser.write(readable).close();
    } catch (reason) {
      if (reason !== GIVE_UP) throw reason;
      this.broken = true;
    }
    return { root: this.broken ? undefined : this.root, offsets: this.offsets, problems: this.problems };
  };

  private report(code: FieldCode, message: string, offset: number): void {
    this.problems.push({ code, message, offset });
    if (this.problems.length >= PROBLEMS_MAX) throw GIVE_UP;
  }

  private breakOff(code: FieldCode, message: string, offset: number): void {
    this.broken = true;
    this.report(code, message, offset);
  }

  private addText(text: string): void {
    const children = this.open.at(-1)?.children;
    if (!children || text === '') return;
    const before = children.at(-1);
    if (typeof before === 'string') children[children.length - 1] = before + text;
    else children.push(text);
  }

  private listen(): void {
    this.parser.on('error', (error) => this.onError(error));
    this.parser.on('xmldecl', (declaration) => this.onDeclaration(declaration));
    this.parser.on('processinginstruction', () => {
      this.report('processing_instruction', 'Processing instructions are refused', this.parser.position);
    });
    this.parser.on('comment', (text) => this.onComment(text));
    this.parser.on('cdata', (text) => this.onCdata(text));
    this.parser.on('text', (text) => this.addText(text));
    this.parser.on('opentagstart', (tag) => this.onTagStart(tag));
    this.parser.on('opentag', (tag) => this.onTag(tag));
    this.parser.on('closetag', () => {
      this.open.pop();
    });
  }

  private onError(error: Error): void {
    const { code, message } = explain(error.message);
    const offset = Math.min(this.parser.position, this.xml.length);
    this.errors += 1;
    // One mistake often breaks several grammar rules at one place, or one rule many times in a long tag.
    if (this.problems.at(-1)?.offset !== offset) this.breakOff(code, message, offset);
    if (this.errors >= ERRORS_MAX) throw GIVE_UP;
  }

  private onDeclaration({ version, encoding }: XMLDecl): void {
    if (version !== '1.0') this.report('invalid_xml', 'Only XML version 1.0 is read', 0);
    if (encoding !== undefined && !/^utf-?8$/i.test(encoding)) {
      this.report('invalid_xml', `The document says it is in ${encoding}; it is sent as UTF-8`, 0);
    }
  }

  private onComment(text: string): void {
    if (text.includes('{{')) {
      this.report('placeholder_in_comment', 'A comment may not hold {{', this.parser.position);
    }
  }

  private onCdata(text: string): void {
    if (text.includes('{{')) {
      const message =
        'A CDATA section may not hold {{: values are escaped for XML and would be read as written';
      this.report('placeholder_in_cdata', message, this.parser.position);
    }
    this.addText(text);
  }

  private onTagStart({ name }: { name: string }): void {
    // The parser has already read the character after the name.
    this.tagAt = Math.max(0, this.xml.lastIndexOf('<', this.parser.position - name.length));
  }

  private onTag({ name, attributes }: SaxesTagPlain): void {
    const children: XmlNode[] = [];
    const element = { name, attributes: Object.entries(attributes), children };
    this.offsets.set(element, this.tagAt);
    const parent = this.open.at(-1);
    if (parent) parent.children.push(element);
    else this.root ??= element;
    this.open.push({ element, children });
    if (this.open.length > this.depthMax) {
      this.breakOff(
        'too_deep',
        `Nested deeper than ${this.depthMax} levels; the rest was not read`,
        this.tagAt,
      );
      throw GIVE_UP;
    }
  }
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
