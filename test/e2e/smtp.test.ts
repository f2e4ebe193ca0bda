import { type SmtpCarrier, startSmtpCarrier } from '../providers/smtp/smtp-carrier';
import { freePort } from '../support/free-port';
import { Installation } from '../support/installation';
import { freshNamespace } from '../support/namespaces';
import { bringMail } from '../support/smtp-client';
import { until } from '../support/until';

const LIMIT_MS = 150_000;

describe('a program that sends by SMTP', () => {
  let carrier: SmtpCarrier;
  let here: Installation;
  let listener: number;
  beforeAll(async () => {
    const temporal = await freshNamespace();
    carrier = await startSmtpCarrier();
    listener = await freePort();
    here = await Installation.start({
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      FANFARE_EMAIL_PROVIDER: 'smtp',
      FANFARE_SMTP_URL: `smtp://127.0.0.1:${carrier.port}?tls=none`,
      FANFARE_SMTP_RETURN_PATH: 'bounces.example.org',
      FANFARE_SMTP_LISTEN: `127.0.0.1:${listener}`,
    });
  }, LIMIT_MS);
  afterAll(async () => {
    await here?.remove();
    await carrier?.close();
  });

  interface Tracked {
    data: { state: string; events: { type: string; code?: string; provider?: string }[] };
  }
  const track = async (uid: string) => (await here.api.expect<Tracked>('GET', `/messages/${uid}`)).data;

  test(
    'hands an accepted message over, and learns of its bounce from the listener, also after a kill',
    async () => {
      await here.api.expect('POST', '/send-msg', {
        channel: 'email',
        uid: 'mail-1',
        to: 'ann@example.com',
        from: '"Example News" <news@example.org>',
        subject: 'Hello {{NAME}}',
        body: '<p>Dear {{NAME}}</p>',
        params: { NAME: 'Ann' },
        replyTo: 'ask@example.org',
      });
      await until('the mail to be sent', async () => (await track('mail-1')).state === 'sent', LIMIT_MS);
      const [mail = ''] = carrier.mails;
      expect(mail).toMatch(/^Subject: Hello Ann\r?$/m);
      expect(mail).toMatch(/^Reply-To: ask@example\.org\r?$/m);
      const [returnPath = ''] = carrier.senders;
      expect(returnPath).toMatch(/^b\+msg_[0-9a-z]{19}\.[0-9a-z]{16}@bounces\.example\.org$/);

      // The secret of return paths outlives the process.
      await here.fanfare.killGroup();
      await here.run();
      const report = [
        'From: MAILER-DAEMON@mx.example.com',
        'MIME-Version: 1.0',
        'Content-Type: multipart/report; report-type=delivery-status; boundary=r',
        '',
        '--r',
        'Content-Type: message/delivery-status',
        '',
        'Reporting-MTA: dns; mx.example.com',
        '',
        'Action: failed',
        'Status: 5.1.1',
        '',
        '--r--',
        '',
      ].join('\r\n');
      expect(await bringMail(listener, { to: returnPath, raw: report })).toBe('250');
      const message = await until('the bounce', async () => {
        const tracked = await track('mail-1');
        return tracked.state === 'undelivered' && tracked;
      });
      expect(message.events.at(-1)).toMatchObject({ type: 'undelivered', code: '5.1.1', provider: 'smtp' });
    },
    2 * LIMIT_MS,
  );
});
