import { connect } from 'node:net';
import { LIMITS } from '../../../src/domain/limits';
import type { Receipt } from '../../../src/providers/provider';
import { createReturnPath } from '../../../src/providers/smtp/return-path';
import type { SmtpProvider } from '../../../src/providers/smtp/smtp-provider';
import { bringMail } from '../../support/smtp-client';
import { deliveryReport } from './smtp-carrier';
import { openSmtp } from './smtp-rig';

const RETURN_PATH = { domain: 'bounces.example.org', secret: 'secret' };
const paths = createReturnPath(RETURN_PATH.domain, RETURN_PATH.secret);
const ID = 'msg_01kb3zz0q5rs7x2m8h4c9d6e1f';

describe('the listener for mail about mail', () => {
  let provider: SmtpProvider;
  let receipts: Receipt[];
  let unsubscribed: string[];
  let failing: Error | undefined;
  beforeEach(async () => {
    [receipts, unsubscribed, failing] = [[], [], undefined];
    provider = openSmtp('smtp://127.0.0.1:1', {
      returnPath: RETURN_PATH,
      listen: { host: '127.0.0.1', port: 0 },
      unsubscribe: async (token) => void unsubscribed.push(token),
    });
    await provider.start(async (some) => {
      if (failing) throw failing;
      receipts.push(...some);
    });
  });
  afterEach(() => provider.close());

  const bring = (to: string, raw: string, { from = '' } = {}) =>
    bringMail(provider.inboundPort, { from, to, raw });

  const bounce = (fields: string) => deliveryReport(paths.addressFor(ID), fields).raw;

  test.each([
    ['Action: failed\r\nStatus: 5.1.1', [{ id: ID, type: 'undelivered', code: '5.1.1' }]],
    ['Action: FAILED\r\nStatus: 4.4.7 (expired)', [{ id: ID, type: 'undelivered', code: '4.4.7' }]],
    [
      'Action: failed\r\nStatus: 5.0.0\r\nDiagnostic-Code: smtp; 550-5.2.1 The account\r\n 550 5.2.1 is disabled',
      [{ id: ID, type: 'undelivered', code: '5.2.1', data: { reply: '550' } }],
    ],
    [
      'Action: failed\r\nStatus: 5.1.0\r\nDiagnostic-Code: smtp; 550 5.1.0 Sender address rejected: User unknown',
      [{ id: ID, type: 'undelivered', code: '550', data: { reply: '550' } }],
    ],
    [
      'Action: failed\r\nStatus: 5.0.0\r\nDiagnostic-Code: smtp; 550 Mail from [5.9.12.34] refused: 5.7.1 listed',
      [{ id: ID, type: 'undelivered', code: '5.7.1', data: { reply: '550' } }],
    ],
    [
      'Action: failed\r\nStatus: 5.0.0\r\nDiagnostic-Code: smtp; 554 [5.1.1.34] is listed',
      [{ id: ID, type: 'undelivered', code: '5.0.0', data: { reply: '554' } }],
    ],
    ['Action: delivered\r\nStatus: 2.0.0', [{ id: ID, type: 'delivered' }]],
    ['Action: delayed\r\nStatus: 4.4.1', []],
    ['Action: relayed\r\nStatus: 2.0.0', []],
    ['Status: 5.1.1', []],
  ])('a delivery report that says %j', async (fields, expected) => {
    expect(await bring(paths.addressFor(ID), bounce(fields))).toBe('250');
    expect(receipts).toHaveLength(expected.length);
    expect(receipts).toMatchObject(expected);
    expect(JSON.stringify(receipts)).not.toContain('@');
  });

  test('a host that changes the case of an address does no harm', async () => {
    const upper = paths.addressFor(ID).toUpperCase();
    expect(await bring(upper, bounce('Action: failed\r\nStatus: 5.1.1'))).toBe('250');
    expect(receipts).toMatchObject([{ id: ID, code: '5.1.1' }]);
  });

  test('a return path that is not ours is nobody', async () => {
    const raw = bounce('Action: failed\r\nStatus: 5.1.1');
    const own = paths.addressFor(ID);
    for (const to of [
      `b+${ID}.0000000000000000@bounces.example.org`,
      own.replace('zz0', 'zz1'),
      own.replace('@bounces.', '@other.'),
      'postmaster@bounces.example.org',
      'ann@example.com',
    ]) {
      expect(await bring(to, raw)).toBe('550 5.1.1');
    }
    expect(receipts).toEqual([]);
  });

  test('a report from somebody who could be answered is none', async () => {
    const raw = bounce('Action: failed\r\nStatus: 5.1.1');
    expect(await bring(paths.addressFor(ID), raw, { from: 'ann@example.com' })).toBe('250');
    expect(receipts).toEqual([]);
  });

  test('an absence note to the return path says nothing', async () => {
    const raw =
      'From: ann@example.com\r\nSubject: Away\r\nAuto-Submitted: auto-replied\r\n\r\n5.1.1 Action: failed\r\n';
    expect(await bring(paths.addressFor(ID), raw)).toBe('250');
    expect(receipts).toEqual([]);
  });

  const feedback = (type: string, original: string) =>
    [
      'From: fbl@provider.example',
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type=feedback-report; boundary="f"',
      '',
      '--f',
      'Content-Type: text/plain',
      '',
      'Somebody complained.',
      '--f',
      'Content-Type: message/feedback-report',
      '',
      `Feedback-Type: ${type}`,
      'User-Agent: Reporter/1',
      'Version: 1',
      original,
      '--f',
      'Content-Type: message/rfc822',
      '',
      `Return-Path: <${paths.addressFor(ID)}>`,
      'Message-ID: <x@example.org>',
      '',
      'Hello',
      '--f--',
      '',
    ].join('\r\n');

  test.each([
    ['fbl@bounces.example.org', `Original-Mail-From: <${paths.addressFor(ID)}>\r\n`],
    ['fbl@bounces.example.org', ''],
    [paths.addressFor(ID), 'Original-Mail-From: <x@example.org>\r\n'],
  ])('a complaint sent to %s is about the message that left under that path', async (to, original) => {
    expect(await bring(to, feedback('abuse', original), { from: 'fbl@provider.example' })).toBe('250');
    expect(receipts).toMatchObject([{ id: ID, type: 'delivered', code: 'complaint' }]);
  });

  test('a report by a host about a signature that failed is no complaint of a person', async () => {
    const from = 'dmarc@provider.example';
    const report = feedback('auth-failure', 'Auth-Failure: dmarc\r\n');
    for (const to of ['fbl@bounces.example.org', paths.addressFor(ID)])
      expect(await bring(to, report, { from })).toBe('250');
    expect(receipts).toEqual([]);
  });

  test('praise is no complaint, and neither is one with a path somebody made up', async () => {
    const from = 'fbl@provider.example';
    await bring('fbl@bounces.example.org', feedback('not-spam', ''), { from });
    const forged = `Original-Mail-From: <b+${ID}.0000000000000000@bounces.example.org>\r\n`;
    await bring('fbl@bounces.example.org', feedback('abuse', forged), { from });
    await bring('fbl@bounces.example.org', feedback('abuse', `Original-Mail-From: <${ID}>\r\n`), { from });
    expect(receipts).toEqual([]);
  });

  test("a mail to the unsubscribing address unsubscribes by the link's token in its subject", async () => {
    const [to, token] = ['u@bounces.example.org', 'Some.Token_1-~'];
    expect(await bring(to, `Subject: ${token}\r\n\r\n`, { from: 'ann@example.com' })).toBe('250');
    expect(unsubscribed).toEqual([token]);
    const away = `Auto-Submitted: auto-replied\r\nSubject: ${token}\r\n\r\n`;
    await bring(to, away, { from: 'ann@example.com' });
    await bring(to, `Subject: ${token}\r\n\r\n`);
    await bring(to, 'Subject: please take me off\r\n\r\n', { from: 'ann@example.com' });
    expect(unsubscribed).toHaveLength(1);
  });

  test('what could not be stored is brought again', async () => {
    failing = new Error('the database is away');
    const raw = bounce('Action: failed\r\nStatus: 5.1.1');
    expect(await bring(paths.addressFor(ID), raw)).toBe('451 4.3.0');
    failing = undefined;
    expect(await bring(paths.addressFor(ID), raw)).toBe('250');
    expect(receipts).toHaveLength(1);
  });

  test('a report that brings back a large message is read, and only its beginning', async () => {
    const raw = bounce('Action: failed\r\nStatus: 5.1.1').replace(/--r--\r\n$/, '');
    const returned = `--r\r\nContent-Type: message/rfc822\r\n\r\nSubject: x\r\n\r\n${'All of it.\r\n'.repeat(100_000)}--r--\r\n`;
    expect(await bring(paths.addressFor(ID), raw + returned)).toBe('250');
    expect(receipts).toMatchObject([{ id: ID, code: '5.1.1' }]);
  });

  test('a mail that is larger than any report is refused', async () => {
    const raw = bounce('Action: failed\r\nStatus: 5.1.1');
    const huge =
      raw +
      'x'
        .repeat(70)
        .concat('\r\n')
        .repeat(LIMITS.smtpInboundBytes / 72 + 1);
    expect(await bring(paths.addressFor(ID), huge)).toBe('552 5.3.4');
    expect(receipts).toEqual([]);
  }, 90_000);

  test.each([
    ['an empty line', '\r\n'],
    ['a broken multipart', 'Content-Type: multipart/report; boundary=""\r\n\r\n--\r\n--\r\n'],
    ['bytes', '\u0000\u0001\u00ff\r\n\r\n\u0000'],
    [
      'parts within parts',
      `${Array.from({ length: 500 }, (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}\r\n`).join('')}`,
    ],
  ])('%s instead of a report is taken, and says nothing', async (_, raw) => {
    expect(await bring(paths.addressFor(ID), raw)).toBe('250');
    expect(receipts).toEqual([]);
  });

  test('it offers neither log-in nor a certificate that is not ours', async () => {
    const said = await new Promise<string>((done) => {
      let text = '';
      const socket = connect(provider.inboundPort ?? 0, '127.0.0.1');
      socket.on('data', (chunk) => {
        text += chunk.toString();
        if (/^250 .*\r\n$/m.test(text)) socket.write('QUIT\r\n');
        else if (/^220 .*\r\n$/.test(text)) socket.write('EHLO x\r\n');
      });
      socket.on('close', () => done(text));
    });
    expect(said).toContain('SIZE');
    expect(said).not.toMatch(/AUTH|STARTTLS/);
  });
});
