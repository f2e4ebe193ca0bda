import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { promisify } from 'node:util';
import { createDkimSigner } from '../../../src/providers/smtp/dkim';
import { composeMail, writeHeaders } from '../../../src/providers/smtp/mail-message';
import { mail } from './smtp-rig';

const run = promisify(execFile);

/** Where its packages are; another python3 may come first in the path. */
const DEBIANS_PYTHON = '/usr/bin/python3';

/** The outside opinion: dkimpy, with the key given by hand where it would ask the DNS. */
const VERIFY = `
import sys, json
try:
    import dkim
except ImportError:
    sys.exit('There is no dkimpy. Install it: apt-get install python3-dkim')
mails = json.load(sys.stdin)
for one in mails:
    print(dkim.verify(one['mail'].encode('latin1'), dnsfunc=lambda name, timeout=5: one['record'].encode()))
`;

async function verdicts(mails: { mail: string; record: string }[]): Promise<string[]> {
  const child = run(DEBIANS_PYTHON, ['-c', VERIFY]);
  child.child.stdin?.end(JSON.stringify(mails));
  return (await child).stdout.trim().split('\n');
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

async function signed(kind: keyof typeof RECORDS, given: Parameters<typeof mail>[0]) {
  const { privateKey } = kind === 'rsa' ? rsa : ed25519;
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const signer = createDkimSigner({ domain: 'example.org', selector: 's1', privateKey: key });
  const { headers, body } = composeMail(mail(given), Date.now());
  const signature = await signer.sign(headers, body);
  return `DKIM-Signature: ${signature}\r\n${writeHeaders(headers)}\r\n${body}`;
}

test('dkimpy verifies what is signed, whatever the mail holds', async () => {
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
  const given = await Promise.all(
    (['rsa', 'ed25519'] as const).flatMap((kind) =>
      mails.map(async (one) => ({ mail: await signed(kind, one), record: RECORDS[kind] })),
    ),
  );
  expect(await verdicts(given)).toEqual(given.map(() => 'True'));
}, 150_000);

test('the signature covers what unsubscribing relies on, and a second sender or subject', async () => {
  const whole = await signed('rsa', { headers: HEADERS });
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
  const given = [whole, ...tampered].map((one) => ({ mail: one, record: RECORDS.rsa }));
  expect(await verdicts(given)).toEqual(['True', ...tampered.map(() => 'False')]);
}, 150_000);

test('a key that signs no mail is refused at once', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  expect(() => createDkimSigner({ domain: 'example.org', selector: 's', privateKey: key })).toThrow(
    /type ec/,
  );
});
