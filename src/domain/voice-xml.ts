/**
 * Whether a text is a voice document that may be kept: well-formed XML whose root is `Response`, without
 * a document type or entities of its own, which a reader further down could be made to expand. What the
 * verbs inside mean is not judged here.
 */
export function voiceXmlFinding(xml: string): string | undefined {
  const open: string[] = [];
  let roots = 0;
  let at = /^\ufeff?\s*(?:<\?xml\s[^?]*\?>)?/.exec(xml)?.[0].length ?? 0;
  while (at < xml.length) {
    const next = xml.indexOf('<', at);
    const text = xml.slice(at, next < 0 ? xml.length : next);
    if (text.trim() !== '' && open.length === 0) return 'There is text outside the root element';
    if (FOREIGN_ENTITY.test(text)) return 'An & that is not one of XML’s own entities; write it as &amp;';
    if (next < 0) break;

    const hidden = hiddenUntil(xml, next);
    if (hidden === UNCLOSED) return 'A comment or a CDATA section is not closed';
    if (hidden !== undefined) {
      at = hidden;
      continue;
    }
    TAG.lastIndex = next;
    const tag = TAG.exec(xml);
    if (!tag) return `No valid XML at character ${next + 1}: ${what(xml, next)}`;
    at = TAG.lastIndex;

    const [, closing, name, attributes, selfClosing] = tag as unknown as [
      string,
      string,
      string,
      string,
      string,
    ];
    if (FOREIGN_ENTITY.test(attributes)) return `An attribute of <${name}> has an & that is not an entity`;
    if (closing) {
      if (open.pop() !== name) return `</${name}> at character ${next + 1} closes nothing that is open`;
      continue;
    }
    if (open.length === 0) {
      roots += 1;
      if (roots > 1) return 'There is more than one root element';
      if (name !== 'Response') return `The root element is <${name}>, and must be <Response>`;
    }
    if (!selfClosing) open.push(name);
  }
  if (open.length > 0) return `<${open.at(-1)}> is not closed`;
  return roots === 1 ? undefined : 'There is no root element; it must be <Response>';
}

const FOREIGN_ENTITY = /&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)/;

const TAG = /<(\/?)([A-Za-z_][\w.:-]*)((?:\s+[A-Za-z_][\w.:-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>/y;

const UNCLOSED = -1;

/** Where a comment or CDATA section that begins here ends. */
function hiddenUntil(xml: string, at: number): number | undefined {
  for (const [begin, end] of [
    ['<!--', '-->'],
    ['<![CDATA[', ']]>'],
  ] as const) {
    if (!xml.startsWith(begin, at)) continue;
    const found = xml.indexOf(end, at + begin.length);
    return found < 0 ? UNCLOSED : found + end.length;
  }
  return undefined;
}

function what(xml: string, at: number): string {
  if (/^<!(?:DOCTYPE|ENTITY)/i.test(xml.slice(at, at + 10))) return 'document types and entities are refused';
  return xml[at + 1] === '?' ? 'processing instructions are refused' : 'this is no complete tag';
}
