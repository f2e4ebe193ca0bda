import { createHash } from 'node:crypto';
import { encodeWord, encodeWords, foldLines, quoteString } from 'nodemailer/lib/mime-funcs';
import type { HandOver } from '../provider';

/**
 * A message as mail (RFC 5322). Written by ourselves, as this is most of the work of sending: the library's
 * own composer takes four times as long for the same bytes (docs/benchmarks/carrier.md). The difficult parts, words
 * outside ASCII and folded lines, are left to the library.
 */
export interface MailMessage {
  /** Name and value, folded. */
  headers: [string, string][];
  body: string;
  messageId: string;
}

/** Ours, whatever the message brings. */
const RESERVED = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'return-path',
  'received',
  'dkim-signature',
]);

export function composeMail(message: HandOver, nowMs: number): MailMessage {
  const from = splitSender(message.from);
  // The same for every attempt: some mailboxes drop the second, and support can prove what happened.
  const messageId = `${message.id}@${domainOf(from.address)}`;
  const headers: [string, string][] = [
    ['From', from.name === '' ? from.address : `${encodeName(from.name)} <${from.address}>`],
    ['To', message.to],
    ['Subject', foldValue('Subject', encodeSubject(message.subject ?? ''))],
    ['Date', new Date(nowMs).toUTCString().replace('GMT', '+0000')],
    ['Message-ID', `<${messageId}>`],
    ['MIME-Version', '1.0'],
  ];
  for (const [name, value] of Object.entries(message.headers ?? {})) {
    if (!isHeaderName(name) || RESERVED.has(name.toLowerCase())) continue;
    const line = value.replace(/[\r\n]+/g, ' ').trim();
    headers.push([name, foldValue(name, isAscii(line) ? line : encodeWords(line, 'B', 52, false))]);
  }
  const { type, encoding, body } = contentOf(message);
  headers.push(['Content-Type', type]);
  if (encoding !== undefined) headers.push(['Content-Transfer-Encoding', encoding]);
  return { headers, body, messageId };
}

export function writeHeaders(headers: readonly [string, string][]): string {
  let text = '';
  for (const [name, value] of headers) text += `${name}: ${value}\r\n`;
  return text;
}

function contentOf({ id, text, html }: HandOver): { type: string; encoding?: string; body: string } {
  if (html === undefined) return part('plain', text ?? '');
  if (text === undefined || text === '') return part('html', html);
  // A line of it in the message's own text would end the part, so it must not be guessable.
  const boundary = `=_${createHash('sha256').update(id).update(html).digest('hex').slice(0, 32)}`;
  const parts = [part('plain', text), part('html', html)].map(
    ({ type, encoding, body }) =>
      `--${boundary}\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n`,
  );
  const type = `multipart/alternative;\r\n boundary="${boundary}"`;
  return { type, body: `${parts.join('')}--${boundary}--\r\n` };
}

function part(subtype: 'plain' | 'html', text: string) {
  return { type: `text/${subtype}; charset=utf-8`, ...encodeText(text) };
}

/** `"Name" <a@b>`, `Name <a@b>` or `a@b`. */
export function splitSender(sender: string): { name: string; address: string } {
  const [, name, address] = /^([^<>]*)<([^<>]+)>$/.exec(sender) ?? [];
  if (name === undefined || address === undefined) return { name: '', address: sender };
  const plain = name.trim().replace(/^"(.*)"$/, (_, quoted: string) => quoted.replace(/\\(.)/g, '$1'));
  return { name: plain, address };
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase();
}

function encodeName(name: string): string {
  if (!isAscii(name) || name.includes('=?')) return encodeWord(name, 'B', 52);
  return /^[\w !#$%&'*+/=?^`{|}~-]+$/.test(name) ? name : quoteString(name);
}

function encodeSubject(subject: string): string {
  const line = subject.replace(/[\r\n]+/g, ' ').trim();
  return isAscii(line) && !line.includes('=?') ? line : encodeWord(line, 'B', 52);
}

const FOLD_CHARS = 76;

function foldValue(name: string, value: string): string {
  if (name.length + 2 + value.length <= FOLD_CHARS) return value;
  return foldLines(`${name}: ${value}`, FOLD_CHARS).slice(name.length + 2);
}

const isHeaderName = (name: string) => /^[!-9;-~]{1,100}$/.test(name) && !/^content-/i.test(name);
const isAscii = (text: string) => !/[^\x20-\x7e\t]/.test(text);

/** Bodies as a mail may carry them: lines of at most 998 bytes that end in CRLF, and no byte over 127. */
interface EncodedText {
  encoding: '7bit' | 'quoted-printable' | 'base64';
  body: string;
}

const LINE_MAX = 998;
const LINE_ENCODED = 76;

/** Plain text goes out as it is; the rest in whichever of the two encodings is shorter. */
function encodeText(text: string): EncodedText {
  const lines = text.replace(/\r\n?|\n/g, '\r\n');
  if (isPlain(lines)) return { encoding: '7bit', body: lines };
  const bytes = Buffer.from(lines, 'utf8');
  // One byte of six costs as much in one encoding as all of them in the other.
  if (bytes.length - lines.length > lines.length / 6) return { encoding: 'base64', body: base64(bytes) };
  return { encoding: 'quoted-printable', body: quotedPrintable(bytes) };
}

function isPlain(text: string): boolean {
  if (/[^\x20-\x7e\r\n\t]/.test(text)) return false;
  for (let from = 0; ; ) {
    const end = text.indexOf('\r\n', from);
    if ((end < 0 ? text.length : end) - from > LINE_MAX) return false;
    if (end < 0) return true;
    from = end + 2;
  }
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/.{76}(?!$)/g, '$&\r\n');
}

/** RFC 2045, 6.7. */
function quotedPrintable(bytes: Buffer): string {
  const escaped = bytes
    .toString('latin1')
    .replace(/[^\x20-\x3c\x3e-\x7e\r\n\t]|[ \t](?=\r\n|$)/g, escapeByte);
  return escaped.split('\r\n').map(wrapLine).join('\r\n');
}

const escapeByte = (char: string) => `=${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

/** Soft line breaks, and none within an escape. */
function wrapLine(line: string): string {
  if (line.length <= LINE_ENCODED) return line;
  let wrapped = '';
  let from = 0;
  while (line.length - from > LINE_ENCODED) {
    let end = from + LINE_ENCODED - 1;
    if (line[end - 1] === '=') end -= 1;
    else if (line[end - 2] === '=') end -= 2;
    wrapped += `${line.slice(from, end)}=\r\n`;
    from = end;
  }
  return wrapped + line.slice(from);
}
