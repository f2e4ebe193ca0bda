import { generateKeyPairSync } from 'node:crypto';
import { MAIL_SERVICES } from '../../../src/providers/mail-events/mail-services';
import type { Provider } from '../../../src/providers/provider';
import type { DkimOptions } from '../../../src/providers/smtp/dkim';
import { createSenderBreaker } from '../../../src/providers/smtp/sender-breaker';
import { type SmtpCarrier, startSmtpCarrier } from './smtp-carrier';
import { mail, openSmtp } from './smtp-rig';
import { verifyDkim } from './verify-dkim';

const keyOf = (domain: string): { options: DkimOptions; record: string } => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const bytes = publicKey.export({ type: 'spki', format: 'der' }).subarray(12);
  return {
    options: {
      ...{ domain, selector: `of-${domain.split('.')[0]}` },
      privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    },
    record: `v=DKIM1; k=ed25519; p=${bytes.toString('base64')}`,
  };
};

describe('mail of registered domains', () => {
  let carrier: SmtpCarrier;
  let provider: Provider;
  beforeEach(async () => {
    carrier = await startSmtpCarrier();
  });
  afterEach(async () => {
    await provider.close();
    await carrier.close();
  });
  const url = () => `smtp://127.0.0.1:${carrier.port}?tls=none`;

  test('is signed with the key of its own domain, other mail with the common key', async () => {
    const [books, maps, common] = [keyOf('books.example'), keyOf('maps.example'), keyOf('relay.example')];
    const keys = new Map([books, maps].map(({ options }) => [options.domain, options]));
    provider = openSmtp(url(), { dkim: common.options, dkimOf: (domain) => keys.get(domain) });
    for (const from of ['"Ann" <ann@books.example>', 'ben@maps.example', 'cid@news.books.example']) {
      await provider.handOver([mail({ from })]);
    }
    const records = [books, maps, common].map(({ record }) => record);
    const signers = carrier.mails.map((text) => /\sd=([^;]*);/.exec(text)?.[1]);
    expect(signers).toEqual(['books.example', 'maps.example', 'relay.example']);
    expect(carrier.mails.map((text, i) => verifyDkim({ mail: text, record: records[i] as string }))).toEqual([
      true,
      true,
      true,
    ]);
  });

  test('is signed with a new key as soon as there is one', async () => {
    let key = keyOf('books.example');
    provider = openSmtp(url(), { dkimOf: () => key.options });
    const first = key.record;
    await provider.handOver([mail({ from: 'ann@books.example' })]);
    key = keyOf('books.example');
    await provider.handOver([mail({ from: 'ann@books.example' })]);
    const [before, after] = carrier.mails as [string, string];
    expect([first, key.record].map((record) => verifyDkim({ mail: before, record }))).toEqual([true, false]);
    expect([first, key.record].map((record) => verifyDkim({ mail: after, record }))).toEqual([false, true]);
  });
});

describe('mail that a service reports about', () => {
  test.each([
    ['ses', /^X-SES-MESSAGE-TAGS: fanfare=msg_7\r$/m],
    ['sendgrid', /^X-SMTPAPI: \{"unique_args":\{"fanfare":"msg_7"\}\}\r$/m],
    ['mailgun', /^X-Mailgun-Variables: \{"fanfare":"msg_7"\}\r$/m],
    ['postmark', /^X-PM-Metadata-fanfare: msg_7\r$/m],
  ] as const)('names the message as %s gives it back', async (service, header) => {
    const carrier = await startSmtpCarrier();
    const provider = openSmtp(`smtp://127.0.0.1:${carrier.port}?tls=none`, {
      eventHeaders: MAIL_SERVICES[service].headers,
    });
    expect(provider.capabilities.receipts).toBe(true);
    await provider.handOver([mail({ id: 'msg_7' })]);
    expect(carrier.mails[0]).toMatch(header);
    await provider.close();
    await carrier.close();
  });
});

test('a sender’s way that is closed for one workspace is open for another', () => {
  const breaker = createSenderBreaker({ onClosed: () => undefined });
  for (let i = 0; i < 100; i++) breaker.refused('ws_1 books.example');
  expect(breaker.ask('ws_1 books.example').kind).toBe('closed');
  expect(breaker.ask('ws_2 books.example').kind).toBe('open');
});
