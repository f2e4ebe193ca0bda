/**
 * Proves which events of mail services are believed, by their own SDKs where there are any, and what they are read as.
 * Long because each of four services has a form and a proof of its own.
 */

import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { EventEmitter } from 'node:events';
import https from 'node:https';
import { EventWebhook } from '@sendgrid/eventwebhook';
import MessageValidator from 'sns-validator';
import type { Receipt } from '../../../src/providers/provider';
import { issueCertificate } from '../../support/x509';
import { startInboundVendors } from '../twilio/inbound-vendors';

const NOW = Date.now();
const SECONDS = Math.floor(NOW / 1_000);
const DAY_SECONDS = 86_400;
const AT = new Date(SECONDS * 1_000).toISOString();
const ID = 'msg_01kbsnwwwwwwwwwwwwwwwwwqva';
const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:mail';
const CERTIFICATE_URL = 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem';

const UNKNOWN = { type: 'undelivered', code: 'unknown_recipient' };
const HARD = { type: 'undelivered', code: '5.1.1' };
const POLICY = { type: 'undelivered', code: '5.7.1' };
const FULL = { type: 'undelivered', code: '5.2.2' };
const BOUNCED = { type: 'undelivered', code: 'bounced' };
const SENDER_REFUSED = {
  status: '5.1.0',
  diagnosticCode: 'smtp; 550 5.1.0 <news@example.org>: Sender address rejected: User unknown',
};
/** A code that stands only in the words of the receiving host. */
const inWords = (code: string, status = '5.0.0') => ({
  ...{ status, diagnosticCode: `smtp; 550-${code} [192.0.2.7] Mail from this host is blocked` },
});
const UNDETERMINED = { type: 'undelivered', code: 'undetermined' };

describe('events of mail services', () => {
  let receipts: Receipt[];
  let fetched: string[];
  let close: () => Promise<void>;
  let url: string;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  const amazon = issueCertificate({
    altName: 'DNS:sns.amazonaws.com',
    ...{ authority: true, from: new Date(NOW - 1e8), until: new Date(NOW + 1e9) },
  });
  const tokens = new Map<string, string>();

  async function listen(settings: Record<string, string>, secrets: Record<string, string> = {}) {
    [receipts, fetched] = [[], []];
    const server = await startInboundVendors({
      account: { id: 'acc_1', settings, secrets },
      takeReceipts: async (some) => void receipts.push(...some),
      mailTools: {
        now: () => NOW,
        async get(asked) {
          fetched.push(asked.href);
          return amazon.cert.toString();
        },
        async isFirstUse(_account, token, body) {
          const known = tokens.get(token) ?? body.toString();
          tokens.set(token, known);
          return known === body.toString();
        },
      },
    });
    ({ close, url } = server);
  }
  afterEach(() => close());

  const post = async (path: string, body: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${url}/inbound/${path}`, { method: 'POST', body, headers });
    await answer.arrayBuffer();
    return answer.status;
  };

  test.each([
    ['sendgrid', {}],
    ['ses', { events: 'mailgun' }],
  ])('are found only where the account names the service (%s)', async (service, settings) => {
    await listen(settings as Record<string, string>);
    expect(await post(`${service}/acc_1`, '[]')).toBe(404);
    expect(await post('mailgun/acc_2', '{}')).toBe(404);
  });

  describe('of SendGrid', () => {
    beforeEach(() => listen({ events: 'sendgrid', publicKey: spki }));

    const signed = (body: string, seconds = SECONDS, key: KeyObject = privateKey) => ({
      'x-twilio-email-event-webhook-timestamp': String(seconds),
      'x-twilio-email-event-webhook-signature': sign('sha256', Buffer.from(seconds + body), key).toString(
        'base64',
      ),
    });
    const event = (more: object) => ({ fanfare: ID, timestamp: SECONDS, ...more });

    test('are read as a batch, with what is about the address told from what is not', async () => {
      const told: [object, object | undefined][] = [
        [{ event: 'processed' }, undefined],
        [{ event: 'deferred' }, undefined],
        [{ event: 'delivered' }, { type: 'delivered' }],
        [
          { event: 'bounce', type: 'bounce', status: '5.1.1' },
          { type: 'undelivered', code: '5.1.1' },
        ],
        [
          { event: 'bounce', type: 'bounce', status: '5.0.0' },
          { type: 'undelivered', code: 'unknown_recipient' },
        ],
        [
          { event: 'bounce', type: 'bounce', status: '5.7.1' },
          { type: 'undelivered', code: '5.7.1' },
        ],
        [
          { event: 'bounce', type: 'bounce', status: '5.2.2' },
          { type: 'undelivered', code: '5.2.2' },
        ],
        [
          { event: 'bounce', type: 'bounce', status: '5.0.0', reason: '550 5.7.1 Blocked by our policy' },
          { type: 'undelivered', code: '5.7.1' },
        ],
        [
          { event: 'bounce', type: 'blocked', status: '5.1.1' },
          { type: 'undelivered', code: 'bounced' },
        ],
        [
          {
            ...{ event: 'bounce', type: 'bounce', status: '5.1.0' },
            reason: '550 5.1.0 <news@example.org>: Sender address rejected: User unknown',
          },
          { type: 'undelivered', code: 'bounced' },
        ],
        [
          { event: 'dropped', reason: 'Bounced Address' },
          { type: 'undelivered', code: 'unknown_recipient' },
        ],
        [
          { event: 'dropped', reason: 'Invalid' },
          { type: 'undelivered', code: 'unknown_recipient' },
        ],
        [
          { event: 'dropped', reason: 'Invalid SMTPAPI header' },
          { type: 'undelivered', code: 'dropped' },
        ],
        [
          { event: 'dropped', reason: 'Spam Content' },
          { type: 'undelivered', code: 'dropped' },
        ],
        [{ event: 'spamreport' }, { type: 'delivered', code: 'complaint' }],
        [{ event: 'group_unsubscribe' }, { type: 'delivered', code: 'unsubscribed' }],
        [{ event: 'bounce', type: 'bounce', fanfare: undefined }, undefined],
      ];
      const body = JSON.stringify(told.map(([given]) => event(given)));
      expect(await post('sendgrid/acc_1', body, signed(body))).toBe(200);
      expect(receipts).toEqual(
        told.flatMap(([, expected]) => (expected ? [{ id: ID, at: AT, code: undefined, ...expected }] : [])),
      );
      const [headers, webhook] = [signed(body), new EventWebhook()];
      const key = webhook.convertPublicKeyToECDSA(spki);
      const signature = headers['x-twilio-email-event-webhook-signature'];
      expect(webhook.verifySignature(key, body, signature, String(SECONDS))).toBe(true);
    });

    test('are refused when forged, altered, unsigned or signed more than a day ago', async () => {
      const body = JSON.stringify([event({ event: 'delivered' })]);
      const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      expect(await post('sendgrid/acc_1', body)).toBe(403);
      expect(await post('sendgrid/acc_1', body, signed(body, SECONDS, foreign))).toBe(403);
      expect(await post('sendgrid/acc_1', body.replace('delivered', 'spamreport'), signed(body))).toBe(403);
      expect(await post('sendgrid/acc_1', body, signed(body, SECONDS - DAY_SECONDS - 60))).toBe(403);
      expect(await post('sendgrid/acc_1', body, signed(body, SECONDS + 3_600))).toBe(403);
      expect(receipts).toEqual([]);
      expect(await post('sendgrid/acc_1', body, signed(body, SECONDS - DAY_SECONDS + 60))).toBe(200);
      expect(receipts).toHaveLength(1);
    });
  });

  describe('of Mailgun', () => {
    beforeEach(() => listen({ events: 'mailgun' }, { signingKey: 'key-1' }));

    let made = 0;
    function signed(
      data: object,
      { key = 'key-1', seconds = SECONDS, token = `token-${made++}` } = {},
    ): string {
      const timestamp = String(seconds);
      const signature = createHmac('sha256', key)
        .update(timestamp + token)
        .digest('hex');
      return JSON.stringify({
        signature: { timestamp, token, signature },
        'event-data': { 'user-variables': { fanfare: ID }, timestamp: SECONDS, ...data },
      });
    }

    test.each([
      [{ event: 'delivered' }, { type: 'delivered' }],
      [{ event: 'failed', severity: 'temporary', 'delivery-status': { code: 450 } }, undefined],
      [
        {
          event: 'failed',
          severity: 'permanent',
          'delivery-status': { code: 550, 'enhanced-code': '5.1.1' },
        },
        { type: 'undelivered', code: '5.1.1' },
      ],
      [
        { event: 'failed', severity: 'permanent', reason: 'bounce', 'delivery-status': { code: 550 } },
        { type: 'undelivered', code: 'unknown_recipient' },
      ],
      [
        {
          event: 'failed',
          severity: 'permanent',
          'delivery-status': { code: 550, 'enhanced-code': '5.7.1' },
        },
        { type: 'undelivered', code: '5.7.1' },
      ],
      [
        {
          event: 'failed',
          severity: 'permanent',
          reason: 'suppress-bounce',
          'delivery-status': { code: 605 },
        },
        { type: 'undelivered', code: 'unknown_recipient' },
      ],
      [
        { event: 'failed', severity: 'permanent', reason: 'old' },
        { type: 'undelivered', code: 'bounced' },
      ],
      [{ event: 'complained' }, { type: 'delivered', code: 'complaint' }],
      [{ event: 'unsubscribed' }, { type: 'delivered', code: 'unsubscribed' }],
      [{ event: 'delivered', 'user-variables': {} }, undefined],
    ])('%j is read', async (data, expected) => {
      expect(await post('mailgun/acc_1', signed(data))).toBe(200);
      expect(receipts).toEqual(expected ? [{ id: ID, at: AT, code: undefined, ...expected }] : []);
    });

    test.each([
      ['5.7.1 [192.0.2.7] This message is likely unsolicited', '5.7.1'],
      ['5.1.0 <news@example.org>: Sender address rejected: User unknown', 'bounced'],
      ['5.1.1 The account that you tried to reach does not exist', '5.1.1'],
      ['550 5.7.1 This message is likely unsolicited', '5.7.1'],
      ['Message blocked by our policy (5.7.1)', '5.7.1'],
    ])('a bounce without a code of its own is read by the words of the host: %s', async (message, code) => {
      const status = { code: 550, message };
      const data = { event: 'failed', severity: 'permanent', reason: 'bounce', 'delivery-status': status };
      expect(await post('mailgun/acc_1', signed(data))).toBe(200);
      expect(receipts).toMatchObject([{ id: ID, type: 'undelivered', code }]);
    });

    test('are refused when forged, too old, or with the token of another event', async () => {
      const data = { event: 'delivered' };
      for (const body of [
        signed(data, { key: 'key-2' }),
        signed(data, { seconds: SECONDS - DAY_SECONDS - 60 }),
        signed(data).replace(/"signature":"[^"]*"/, '"signature":""'),
        JSON.stringify({ 'event-data': data }),
        'no JSON',
      ]) {
        expect(await post('mailgun/acc_1', body)).toBe(403);
      }
      const body = signed(data, { token: 'once' });
      expect(await post('mailgun/acc_1', body)).toBe(200);
      expect(await post('mailgun/acc_1', body)).toBe(200);
      expect(await post('mailgun/acc_1', signed({ event: 'complained' }, { token: 'once' }))).toBe(403);
    });
  });

  describe('of Postmark', () => {
    beforeEach(() => listen({ events: 'postmark', webhookUser: 'postmark' }, { webhookPassword: 's3cr3t' }));
    const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
    const RIGHT = basic('postmark:s3cr3t');

    test.each([
      [{ RecordType: 'Delivery', DeliveredAt: AT }, { type: 'delivered' }],
      [{ RecordType: 'Bounce', Type: 'HardBounce', TypeCode: 1, BouncedAt: AT }, UNKNOWN],
      [{ RecordType: 'Bounce', Type: 'BadEmailAddress', TypeCode: 100_000, BouncedAt: AT }, UNKNOWN],
      [
        { RecordType: 'Bounce', Type: 'SoftBounce', TypeCode: 4_096, BouncedAt: AT },
        { type: 'undelivered', code: 'soft_bounce' },
      ],
      [
        { RecordType: 'Bounce', Type: 'Transient', TypeCode: 2, BouncedAt: AT },
        { type: 'undelivered', code: 'transient' },
      ],
      [{ RecordType: 'Bounce', Type: 'AutoResponder', TypeCode: 32, BouncedAt: AT }, undefined],
      [
        { RecordType: 'SpamComplaint', BouncedAt: AT },
        { type: 'delivered', code: 'complaint' },
      ],
      [
        {
          ...{ RecordType: 'SubscriptionChange', SuppressSending: true, ChangedAt: AT },
          SuppressionReason: 'ManualSuppression',
        },
        { type: 'delivered', code: 'unsubscribed' },
      ],
      [{ RecordType: 'Open' }, undefined],
    ])('%j is read', async (data, expected) => {
      const body = JSON.stringify({ Metadata: { fanfare: ID }, ...data });
      expect(await post('postmark/acc_1', body, RIGHT)).toBe(200);
      expect(receipts).toEqual(expected ? [{ id: ID, at: AT, code: undefined, ...expected }] : []);
    });

    test.each([
      ['smtp;550 5.1.1 The email account that you tried to reach does not exist', '5.1.1'],
      ['smtp;550 5.7.1 Message rejected due to content', '5.7.1'],
      ['smtp;552 5.2.2 Mailbox full', '5.2.2'],
      ['smtp;550 5.1.0 <news@example.org>: Sender address rejected: User unknown', 'bounced'],
    ])('a hard bounce is read by the words of the host: %s', async (Details, code) => {
      const data = { RecordType: 'Bounce', Type: 'HardBounce', TypeCode: 1, Details, BouncedAt: AT };
      const body = JSON.stringify({ Metadata: { fanfare: ID }, ...data });
      expect(await post('postmark/acc_1', body, RIGHT)).toBe(200);
      expect(receipts).toEqual([{ id: ID, type: 'undelivered', code, at: AT }]);
    });

    test('are 401 with a wrong name or password', async () => {
      const body = JSON.stringify({ Metadata: { fanfare: ID }, RecordType: 'Delivery' });
      for (const headers of [{}, basic('postmark:wrong'), basic('other:s3cr3t'), basic('postmark:')]) {
        expect(await post('postmark/acc_1', body, headers)).toBe(401);
      }
      expect(receipts).toEqual([]);
    });
  });

  describe('of SES by SNS', () => {
    beforeEach(() => listen({ events: 'ses', topicArn: TOPIC }));

    function signed(more: Record<string, string> = {}, key = amazon.key): Record<string, string> {
      const message: Record<string, string> = {
        ...{ Type: 'Notification', MessageId: 'sns-1', TopicArn: TOPIC, Timestamp: AT, Message: '{}' },
        ...{ SignatureVersion: '2', SigningCertURL: CERTIFICATE_URL, ...more },
      };
      const isNotification = message.Type === 'Notification';
      const keys = isNotification
        ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
        : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
      const text = keys
        .flatMap((one) => (message[one] === undefined ? [] : [`${one}\n${message[one]}\n`]))
        .join('');
      const algorithm = message.SignatureVersion === '1' ? 'RSA-SHA1' : 'RSA-SHA256';
      return { ...message, Signature: sign(algorithm, Buffer.from(text), key).toString('base64') };
    }
    const told = (event: object) =>
      signed({ Message: JSON.stringify({ mail: { tags: { fanfare: [ID] } }, ...event }) });
    const send = (message: object) =>
      post('ses/acc_1', JSON.stringify(message), { 'content-type': 'text/plain; charset=UTF-8' });

    const permanent = { bounceType: 'Permanent', bounceSubType: 'General', timestamp: AT };
    test.each([
      [{ eventType: 'Delivery', delivery: { timestamp: AT } }, { type: 'delivered' }],
      [{ eventType: 'Bounce', bounce: { ...permanent, bouncedRecipients: [{ status: '5.1.1' }] } }, HARD],
      [{ notificationType: 'Bounce', bounce: { ...permanent, bouncedRecipients: [{}] } }, UNKNOWN],
      [{ eventType: 'Bounce', bounce: { ...permanent, bouncedRecipients: [{ status: '5.7.1' }] } }, POLICY],
      [{ eventType: 'Bounce', bounce: { ...permanent, bouncedRecipients: [{ status: '5.2.2' }] } }, FULL],
      [{ eventType: 'Bounce', bounce: { ...permanent, bouncedRecipients: [SENDER_REFUSED] } }, BOUNCED],
      [{ eventType: 'Bounce', bounce: { ...permanent, bouncedRecipients: [inWords('5.7.1')] } }, POLICY],
      [{ eventType: 'Bounce', bounce: { ...permanent, bouncedRecipients: [inWords('5.7.1', '')] } }, POLICY],
      [{ eventType: 'Bounce', bounce: { ...permanent, bouncedRecipients: [inWords('5.2.2')] } }, FULL],
      [{ eventType: 'Bounce', bounce: { ...permanent, bouncedRecipients: [inWords('5.1.1')] } }, HARD],
      [
        { eventType: 'Bounce', bounce: { ...permanent, bouncedRecipients: [inWords('5.7.1', '5.1.1')] } },
        HARD,
      ],
      [{ eventType: 'Bounce', bounce: { ...permanent, bouncedRecipients: [inWords('5.7.1.9')] } }, UNKNOWN],
      [
        {
          eventType: 'Bounce',
          bounce: { bounceType: 'Transient', bounceSubType: 'MailboxFull', timestamp: AT },
        },
        { type: 'undelivered', code: 'mailbox_full' },
      ],
      [
        {
          eventType: 'Bounce',
          bounce: { bounceType: 'Transient', timestamp: AT, bouncedRecipients: [{ status: '5.1.1' }] },
        },
        { type: 'undelivered', code: 'transient_bounce' },
      ],
      [{ eventType: 'Bounce', bounce: { bounceType: 'Undetermined', timestamp: AT } }, UNDETERMINED],
      [
        { eventType: 'Complaint', complaint: { timestamp: AT } },
        { type: 'delivered', code: 'complaint' },
      ],
      [{ eventType: 'Complaint', complaint: { complaintFeedbackType: 'not-spam' } }, undefined],
      [
        {
          eventType: 'Complaint',
          complaint: { complaintSubType: 'OnAccountSuppressionList', timestamp: AT },
        },
        { type: 'undelivered', code: 'complaint' },
      ],
      [{ eventType: 'Open' }, undefined],
    ])('%j is read', async (event, expected) => {
      expect(await send(told(event))).toBe(200);
      expect(receipts).toEqual(expected ? [{ id: ID, at: AT, code: undefined, ...expected }] : []);
    });

    test('an identity’s notification names the message by a header', async () => {
      const mail = { headers: [{ name: 'X-Fanfare-Message', value: ID }] };
      await send(told({ notificationType: 'Delivery', mail, delivery: { timestamp: AT } }));
      expect(receipts).toMatchObject([{ id: ID, type: 'delivered' }]);
    });

    test('both signatures are believed, as Amazon’s own validator believes them', async () => {
      for (const version of ['1', '2']) {
        const message = signed({ SignatureVersion: version });
        expect(await send(message)).toBe(200);
        expect(await validate(message, amazon.cert.toString())).toBe(true);
      }
    });

    test('are refused when forged, altered, too old, or of another topic', async () => {
      const good = told({ eventType: 'Delivery', delivery: {} });
      const foreign = issueCertificate({
        ...{ altName: 'DNS:sns.amazonaws.com', authority: true },
        ...{ from: new Date(NOW - 1e8), until: new Date(NOW + 1e9) },
      });
      for (const message of [
        { ...good, Message: good.Message?.replace('Delivery', 'Complaint') },
        { ...good, Signature: '' },
        { ...good, SignatureVersion: '3' },
        { ...good, Type: 'Other' },
        signed({}, foreign.key),
        signed({ TopicArn: `${TOPIC}-of-others` }),
        signed({ Timestamp: new Date(NOW - 25 * 3_600_000).toISOString() }),
        {},
      ]) {
        expect(await send(message)).toBe(403);
      }
      expect(receipts).toEqual([]);
    });

    test('a certificate is fetched from SNS alone', async () => {
      for (const place of [
        'https://example.com/a.pem',
        'http://sns.eu-west-1.amazonaws.com/a.pem',
        'https://sns.eu-west-1.amazonaws.com.example.com/a.pem',
        'https://sns.eu-west-1.amazonaws.com:8443/a.pem',
        'https://user@sns.eu-west-1.amazonaws.com/a.pem',
        'https://s3.eu-west-1.amazonaws.com/bucket/a.pem',
        'https://sns.eu-west-1.amazonaws.com/a.txt',
        'not a url',
      ]) {
        expect(await send(signed({ SigningCertURL: place }))).toBe(403);
      }
      expect(fetched).toEqual([]);
    });

    test('a subscription is confirmed for the account’s own topic, at SNS alone', async () => {
      const confirmation = (more: Record<string, string> = {}) =>
        signed({
          ...{ Type: 'SubscriptionConfirmation', Token: 't', Message: 'You have chosen to subscribe' },
          SubscribeURL: 'https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t',
          ...more,
        });
      const asked = () => fetched.filter((one) => one.includes('Confirm') || one.includes('example'));
      expect(await send(confirmation({ TopicArn: `${TOPIC}2` }))).toBe(403);
      expect(
        await send(confirmation({ SubscribeURL: 'https://example.com/?Action=ConfirmSubscription' })),
      ).toBe(403);
      expect(await send({ ...confirmation(), Token: 'other' })).toBe(403);
      expect(asked()).toEqual([]);
      expect(await send(confirmation())).toBe(200);
      expect(asked()).toEqual(['https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t']);
    });
  });
});

/** Amazon's own opinion, which fetches the certificate by `https.get`. */
function validate(message: Record<string, string>, certificate: string): Promise<boolean> {
  const get = jest.spyOn(https, 'get').mockImplementation(((
    _url: unknown,
    answer: (response: EventEmitter & { statusCode: number }) => void,
  ) => {
    const response = Object.assign(new EventEmitter(), { statusCode: 200 });
    answer(response);
    response.emit('data', certificate);
    response.emit('end');
    return new EventEmitter();
  }) as never);
  return new Promise((done) => {
    new MessageValidator().validate(message, (error) => {
      get.mockRestore();
      done(error === null);
    });
  });
}
