import type { ValidationIssue } from './validation-issue';

/**
 * Checks addresses in a block: those that the reader's program would follow or fetch. Allowed are web, mail and
 * telephone addresses, and addresses that begin with a placeholder. Addresses that run code or embed data are
 * refused.
 */
export function addressFindings(block: Record<string, unknown>, at: string): ValidationIssue[] {
  const findings: ValidationIssue[] = [];
  const waiting: { value: unknown; path: string; key: string }[] = [
    { value: block.data, path: `${at}.data`, key: '' },
  ];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, path, key } = next;
    if (typeof value === 'string') {
      if (ADDRESS_KEY.test(key)) findings.push(...addressFinding(value, path));
      if (block.type === 'Html' && key === 'contents') findings.push(...markupFindings(value, path));
    } else if (typeof value === 'object' && value !== null) {
      for (const [inner, child] of Object.entries(value)) {
        waiting.push({ value: child, path: `${path}.${inner}`, key: inner });
      }
    }
  }
  return findings;
}

/** `url`, `href`, `linkHref`, `src`, `imageUrl` and similar names in any block type. */
const ADDRESS_KEY = /(?:url|href|src)$/i;

const ALLOWED = new Set(['http', 'https', 'mailto', 'tel']);

function addressFinding(value: string, path: string): ValidationIssue[] {
  const scheme = schemeOf(value);
  if (scheme === undefined) {
    const message = 'Without a scheme, such as https:, this leads nowhere from an email';
    return isComplete(value) ? [] : [{ path, code: 'relative_url', message, severity: 'warning' }];
  }
  if (ALLOWED.has(scheme)) return [];
  const message = 'Only http:, https:, mailto:, tel: and placeholders may begin an address';
  return [{ path, code: 'url_scheme', message, severity: 'error' }];
}

/** Empty, within the message, or up to the placeholder it begins with. */
const isComplete = (value: string) => /^\s*(?:$|#|\{\{ *[A-Z])/.test(value);

/** The scheme as browsers find it, which skip control characters and spaces. `undefined` without a scheme. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those that browsers leave out.
const PASSED_OVER = /[\u0000-\u0020\u007f-\u00a0]/g;

function schemeOf(value: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i
    .exec(value.slice(0, SCHEME_LOOK).replace(PASSED_OVER, ''))?.[1]
    ?.toLowerCase();
}

/** A scheme is short. Text with more blanks than this before its scheme is no address. */
const SCHEME_LOOK = 2_000;

/** Raw markup is the author's own responsibility, but an address that runs code is still refused. */
function markupFindings(markup: string, path: string): ValidationIssue[] {
  for (const match of markup.matchAll(/\b(?:href|src|action)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi)) {
    const scheme = schemeOf(decoded(match[1] ?? match[2] ?? match[3] ?? ''));
    if (scheme === undefined || !RUNS.has(scheme)) continue;
    const message = `An address in this markup begins with ${scheme}:, which runs code`;
    return [{ path, code: 'url_scheme', message, severity: 'error' }];
  }
  return [];
}

const RUNS = new Set(['javascript', 'vbscript', 'data']);

/** Decodes the entities by which a letter or a colon can be written. */
function decoded(attribute: string): string {
  return attribute
    .slice(0, SCHEME_LOOK)
    .replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(colon|tab|newline));?/gi, (_, hex, decimal, name) => {
      if (name) return name.toLowerCase() === 'colon' ? ':' : ' ';
      const point = hex ? Number.parseInt(hex, 16) : Number(decimal);
      return point <= 0x10ffff ? String.fromCodePoint(point) : '';
    });
}
