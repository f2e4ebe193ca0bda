import { generateKeyPairSync } from 'node:crypto';
import { createTransport } from 'nodemailer';
import { createDkimSigner } from '../../../src/providers/smtp/dkim';
import { signedMails, tamperedMails } from './dkim-mails';
import { verifyDkim } from './verify-dkim';

test('what is signed can be verified, whatever the mail holds', async () => {
  const mails = await signedMails();
  expect(mails.map(verifyDkim)).toEqual(mails.map(() => true));
});

test('the signature covers what unsubscribing relies on, and a second sender or subject', async () => {
  const { good, tampered } = await tamperedMails();
  expect([good, ...tampered].map(verifyDkim)).toEqual([true, ...tampered.map(() => false)]);
});

test("the verifier agrees with nodemailer's signer, which shares no code with ours", async () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const transport = createTransport({
    streamTransport: true,
    buffer: true,
    newline: 'windows',
    dkim: {
      domainName: 'example.org',
      keySelector: 's1',
      privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    },
  });
  const { message } = await transport.sendMail({
    ...{ from: 'news@example.org', to: 'ann@example.com', subject: 'Grüße aus Köln, von weit her' },
    ...{ text: 'Trailing   \n\nspaces\t\tand tabs \n\n\n', html: '<p>Hello</p>' },
  });
  const record = `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`;
  const mail = message.toString('latin1');
  expect(verifyDkim({ mail, record })).toBe(true);
  expect(verifyDkim({ mail: mail.replace('Hello', 'Hallo'), record })).toBe(false);
  expect(verifyDkim({ mail: mail.replace('To: ann', 'To: eve'), record })).toBe(false);
});

test('a key that signs no mail is refused at once', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  expect(() => createDkimSigner({ domain: 'example.org', selector: 's', privateKey: key })).toThrow(
    /type ec/,
  );
});
