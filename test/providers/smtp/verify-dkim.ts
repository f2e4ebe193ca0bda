import { createHash, createPublicKey, verify } from 'node:crypto';
import type { SignedMail } from './dkim-mails';

/** Verifies the first DKIM-Signature by RFC 6376 and 8463, given the key's record. Knows sha256 alone, of relaxed form. */
export function verifyDkim({ mail, record }: SignedMail): boolean {
  const end = mail.indexOf('\r\n\r\n');
  const headers = mail.slice(0, end).split(/\r\n(?![ \t])/);
  const signature = headers.find((header) => /^dkim-signature:/i.test(header)) ?? '';
  const tags = tagsOf(signature.replace(/^[^:]*:/, ''));
  if (tags.v !== '1' || tags.c !== 'relaxed/relaxed' || tags.l !== undefined) return false;
  const body = Buffer.from(relaxedBody(mail.slice(end + 4)), 'latin1');
  if (createHash('sha256').update(body).digest('base64') !== tags.bh) return false;
  const unsigned = relaxedHeader(signature.replace(/([;:\s]b=)[^;]*/, '$1'));
  const signed = [
    ...chosen(headers, (tags.h ?? '').split(':')).map((one) => `${relaxedHeader(one)}\r\n`),
    unsigned,
  ];
  const data = Buffer.from(signed.join(''), 'latin1');
  const written = Buffer.from(tags.b ?? '', 'base64');
  const { k: kind, p: key = '' } = tagsOf(record);
  if (tags.a !== `${kind}-sha256`) return false;
  if (kind === 'rsa') return verify('sha256', data, spki(Buffer.from(key, 'base64')), written);
  // The record has the bare 32 bytes, without the twelve that name the kind of key; the hash is signed.
  const named = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(key, 'base64')]);
  return verify(null, createHash('sha256').update(data).digest(), spki(named), written);
}

const spki = (key: Buffer) => createPublicKey({ key, format: 'der', type: 'spki' });

function tagsOf(list: string): Record<string, string | undefined> {
  const pairs = list.split(';').map((tag) => tag.split(/=(.*)/s));
  return Object.fromEntries(pairs.map(([name = '', value = '']) => [name.trim(), value.replace(/\s/g, '')]));
}

/** From the last upwards, one for each time a name is listed; a name that is listed once more must have no more. */
function chosen(headers: string[], names: string[]): string[] {
  const left = [...headers];
  return names.flatMap((name) => {
    const at = left.findLastIndex((header) =>
      header.toLowerCase().startsWith(`${name.trim().toLowerCase()}:`),
    );
    return at < 0 ? [] : left.splice(at, 1);
  });
}

function relaxedHeader(header: string): string {
  const [name = '', value = ''] = header.split(/:(.*)/s);
  return `${name.trim().toLowerCase()}:${value
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim()}`;
}

function relaxedBody(body: string): string {
  const text = body
    .replace(/[ \t]+(?=\r\n|$)/g, '')
    .replace(/[ \t]+/g, ' ')
    .replace(/(\r\n)+$/, '');
  return text === '' ? '' : `${text}\r\n`;
}
