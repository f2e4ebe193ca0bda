/** Bodies as a mail may carry them: lines of at most 998 bytes that end in CRLF, and no byte over 127. */
export interface EncodedText {
  encoding: '7bit' | 'quoted-printable' | 'base64';
  body: string;
}

const LINE_MAX = 998;
const LINE_ENCODED = 76;

/** Plain text goes out as it is; the rest in whichever of the two encodings is shorter. */
export function encodeText(text: string): EncodedText {
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
