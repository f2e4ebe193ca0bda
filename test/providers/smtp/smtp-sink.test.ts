import type { HandOverResult, Provider } from '../../../src/providers/provider';
import { type SmtpSink, startSmtpSink } from '../../support/smtp-sink';
import { mail, openSmtp } from './smtp-rig';

/** A real server and its ways to fail; each ends in the class that docs/email.md names. */
const SWITCHES: [string, string[], HandOverResult][] = [
  [
    'a recipient refused for good',
    ['-f', 'rcpt'],
    { kind: 'rejected', code: '5.3.0', message: expect.any(String) },
  ],
  [
    'a sender refused for good',
    ['-f', 'mail'],
    { kind: 'rejected', code: '5.3.0', message: expect.any(String) },
  ],
  ['data refused for good', ['-f', '.'], { kind: 'rejected', code: '5.3.0', message: expect.any(String) }],
  ['a recipient refused for now', ['-r', 'rcpt'], { kind: 'transient', code: '4.3.0', retryAfterMs: 60_000 }],
  ['the message refused for now', ['-r', '.'], { kind: 'transient', code: '4.3.0', retryAfterMs: 60_000 }],
  [
    'a recipient without a mailbox',
    ['-f', 'rcpt', '-B', '550 5.1.1 No such user'],
    { kind: 'rejected', code: '5.1.1', message: 'No such user' },
  ],
  [
    'a mailbox that is full',
    ['-f', 'rcpt', '-B', '552 5.2.2 Mailbox full'],
    { kind: 'transient', code: '5.2.2', retryAfterMs: 60_000 },
  ],
  [
    'a sender that is not trusted, for the first time',
    ['-f', '.', '-B', '550 5.7.26 Unauthenticated'],
    { kind: 'transient', code: '5.7.26', retryAfterMs: 60_000 },
  ],
  [
    'a host that wants less',
    ['-r', 'rcpt', '-b', '421 4.7.0 Slow down'],
    { kind: 'throttled', retryAfterMs: 60_000, scope: 'message' },
  ],
  [
    'no greeting but a hang-up',
    ['-q', 'connect'],
    { kind: 'transient', code: 'ECONNECTION', retryAfterMs: 60_000 },
  ],
  [
    'a hang-up at the sender',
    ['-q', 'mail'],
    { kind: 'transient', code: 'ECONNECTION', retryAfterMs: 60_000 },
  ],
  [
    'a hang-up at the recipient',
    ['-q', 'rcpt'],
    { kind: 'transient', code: 'ECONNECTION', retryAfterMs: 60_000 },
  ],
  ['a hang-up at the data', ['-q', 'data'], { kind: 'transient', code: 'ECONNECTION', retryAfterMs: 60_000 }],
  ['a hang-up after the message', ['-q', '.'], { kind: 'unknown' }],
  [
    'a good-bye after the message',
    ['-Q', '.'],
    { kind: 'throttled', retryAfterMs: 60_000, scope: 'message' },
  ],
  ['a verdict that does not come in time', ['-W', '.:5'], { kind: 'unknown' }],
];

describe('a mail to smtp-sink', () => {
  let sink: SmtpSink;
  let provider: Provider;
  afterEach(async () => {
    await provider.close();
    await sink.stop();
  });

  test.each(SWITCHES)('%s', async (_, switches, expected) => {
    sink = await startSmtpSink(switches);
    provider = openSmtp(sink.url);
    expect(await provider.handOver([mail()])).toEqual([expected]);
  });

  test('is taken under its Message-ID, which is the same for every attempt', async () => {
    sink = await startSmtpSink();
    provider = openSmtp(sink.url);
    const message = mail({ id: 'msg_1' });
    const expected = { kind: 'accepted', providerId: 'msg_1@example.org' };
    expect(await provider.handOver([message])).toEqual([expected]);
    expect(await provider.handOver([{ ...message, attempt: 2 }])).toEqual([expected]);
    expect(sink.mails().map((text) => /^Message-ID: (.*?)\r?$/m.exec(text)?.[1])).toEqual([
      '<msg_1@example.org>',
      '<msg_1@example.org>',
    ]);
  });

  test('leaves under the sender address of its own that its return path has', async () => {
    sink = await startSmtpSink();
    provider = openSmtp(sink.url, { returnPath: { domain: 'bounces.example.org', secret: 's' } });
    await provider.handOver([mail({ id: 'msg_1' })]);
    expect(sink.mails()[0]).toMatch(/^X-Mail-Args: <b\+msg_1\.[0-9a-z]{16}@bounces\.example\.org>/m);
  });
});
