import { generateKeyPairSync } from 'node:crypto';
import { createDkimSigner } from '../../../src/providers/smtp/dkim';
import { composeMail, writeHeaders } from '../../../src/providers/smtp/mail-message';
import { mail } from './smtp-rig';

/** A mail as it leaves, and the record that the DNS would have for its signature. */
export interface SignedMail {
  mail: string;
  record: string;
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const ed25519 = generateKeyPairSync('ed25519');
const RECORDS = {
  rsa: `v=DKIM1; k=rsa; p=${rsa.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`,
  // The record has the bare 32 bytes, behind the twelve that name the kind of key.
  ed25519: `v=DKIM1; k=ed25519; p=${ed25519.publicKey.export({ type: 'spki', format: 'der' }).subarray(12).toString('base64')}`,
};

const HEADERS = {
  'List-Unsubscribe': `<https://example.org/u/${'t'.repeat(120)}>, <mailto:u+${'t'.repeat(60)}@bounces.example.org>`,
  'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  'List-Id': '<news.example.org>',
  'Feedback-ID': 'spring:ws:news:fanfare',
};

async function signed(kind: keyof typeof RECORDS, given: Parameters<typeof mail>[0]): Promise<SignedMail> {
  const { privateKey } = kind === 'rsa' ? rsa : ed25519;
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const signer = createDkimSigner({ domain: 'example.org', selector: 's1', privateKey: key });
  const { headers, body } = composeMail(mail(given), Date.now());
  const signature = await signer.sign(headers, body);
  const whole = `DKIM-Signature: ${signature}\r\n${writeHeaders(headers)}\r\n${body}`;
  return { mail: whole, record: RECORDS[kind] };
}

/** Each by both kinds of key, whatever the mail holds. */
export function signedMails(): Promise<SignedMail[]> {
  const mails = [
    {},
    { headers: HEADERS },
    {
      subject: 'Grüße aus Köln, und noch viel mehr davon, damit die Zeile gefaltet werden muss',
      headers: HEADERS,
    },
    { from: '"Großhandel, Köln" <news@example.org>', text: '', html: `<p>${'Grüße '.repeat(500)}</p>` },
    { html: undefined, text: 'Trailing   \n\n  spaces\t\tand\ttabs \n\n\n\n' },
    { html: undefined, text: '' },
    { html: `${'x'.repeat(5_000)}\n${'=é'.repeat(2_000)}`, text: '.\n..\n.dot\n' },
    { html: '日本語のメール'.repeat(300), text: '日本語' },
  ];
  return Promise.all((['rsa', 'ed25519'] as const).flatMap((kind) => mails.map((one) => signed(kind, one))));
}

/** A good one, and the same with what unsubscribing relies on changed, or with a second sender or subject. */
export async function tamperedMails(): Promise<{ good: SignedMail; tampered: SignedMail[] }> {
  const good = await signed('rsa', { headers: HEADERS });
  const whole = good.mail;
  const tampered = [
    whole.replace('One-Click', 'Two-Click'),
    whole.replace('https://example.org/u/', 'https://example.net/u/'),
    whole.replace('<news.example.org>', '<other.example.org>'),
    whole.replace('spring:ws', 'summer:ws'),
    whole.replace('\r\nTo:', '\r\nFrom: other@example.net\r\nTo:'),
    whole.replace('\r\nTo:', '\r\nSubject: Other\r\nTo:'),
    whole.replace('\r\nTo:', '\r\nReply-To: other@example.net\r\nTo:'),
    whole.replace('Hello', 'Hallo'),
  ];
  for (const one of tampered) expect(one).not.toBe(whole);
  return { good, tampered: tampered.map((one) => ({ ...good, mail: one })) };
}
