import type { FieldCode } from './field-codes';
import { LIMITS } from './limits';
import { measureSms, outsideGsm7 } from './sms-encoding';
import type { ValidationIssue } from './validation-issue';

/** Warnings about the parts of a template as one recipient would get them (api.md 5, preview). */
export interface PreviewedEmail {
  subject: string;
  /** The HTML with its placeholders, and the HTML with the values. */
  source: string;
  html: string;
  params: Readonly<Record<string, string | number>>;
}

export function lintEmail({ subject, source, html, params }: PreviewedEmail): ValidationIssue[] {
  return [
    ...(subject.length > SUBJECT_CHARS_SHOWN
      ? [
          warning(
            'subject',
            'long_subject',
            `${subject.length} characters; many programs show ${SUBJECT_CHARS_SHOWN}`,
          ),
        ]
      : []),
    ...(/[\r\n]/.test(subject)
      ? [warning('subject', 'line_break', 'A value brings a line break: a message with it is refused')]
      : []),
    ...insecureImages(html),
    ...openLinks(source, params),
  ].slice(0, LIMITS.lintFindings);
}

/** Desktop mail programs cut subjects here, and RFC 5322 advises this line length. */
const SUBJECT_CHARS_SHOWN = 78;

function insecureImages(html: string): ValidationIssue[] {
  const count = [...html.matchAll(/<img\b[^<>]*?\ssrc\s*=\s*["']?\s*http:/gi)].length;
  if (count === 0) return [];
  const which = count === 1 ? 'An image is' : `${count} images are`;
  return [warning('html', 'insecure_image', `${which} fetched over http:, which many programs do not show`)];
}

/** Links that begin with a placeholder lead wherever its value says. */
function openLinks(source: string, params: Readonly<Record<string, string | number>>): ValidationIssue[] {
  const names = new Set<string>();
  for (const match of source.matchAll(/\b(?:href|src)\s*=\s*["']?\s*\{\{ *([A-Z][A-Z0-9_]*) *\}\}/gi)) {
    names.add(match[1] as string);
  }
  return [...names]
    .filter((name) => !/^(?:https?|mailto|tel):/i.test(String(params[name] ?? '')))
    .map((name) => {
      const message = `A link begins with {{${name}}}, whose value here does not begin with http:, https:, mailto: or tel:`;
      return warning('html', 'link_without_scheme', message);
    });
}

/** What makes a text need more segments than necessary. */
export function lintSms(text: string): ValidationIssue[] {
  const { encoding, segments } = measureSms(text);
  if (segments === 1) return [];
  const findings = [warning('text', 'several_segments', `Sent, and paid for, as ${segments} segments`)];
  if (encoding === 'gsm7') return findings;
  const found = outsideGsm7(text);
  const told = found
    .slice(0, CHARACTERS_TOLD)
    .map(({ character, position }) => `${named(character)} at ${position}`);
  const more = found.length > CHARACTERS_TOLD ? `, and ${found.length - CHARACTERS_TOLD} more` : '';
  const message = `Not in the GSM alphabet, so that a segment holds 67 characters and not 153: ${told.join(', ')}${more}`;
  return [...findings, warning('text', 'not_gsm7', message)];
}

const CHARACTERS_TOLD = 10;

function named(character: string): string {
  const point = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character) ? `${character} (U+${point})` : `U+${point}`;
}

const warning = (path: string, code: FieldCode, message: string): ValidationIssue => ({
  path,
  code,
  message,
  severity: 'warning',
});
