import type { HandOverResult } from '../../../src/providers/provider';

/** A way for a mail host to fail, and the class that docs/email.md names for it. */
export interface Refusal {
  title: string;
  /** The command at which it fails; `.` is the end of the message. */
  at: 'connect' | 'mail' | 'rcpt' | 'data' | '.';
  /** What it says then, or that it hangs up without a word, or says nothing for longer than we wait. */
  says: string | 'hangs up' | 'nothing';
  /** What makes Postfix's smtp-sink do the same. */
  switches: string[];
  expected: HandOverResult;
}

const rejected = (code: string, message: unknown = expect.any(String)) =>
  ({ kind: 'rejected', code, message }) as HandOverResult;
const transient = (code: string): HandOverResult => ({ kind: 'transient', code, retryAfterMs: 60_000 });
const throttled: HandOverResult = { kind: 'throttled', retryAfterMs: 60_000, scope: 'message' };
const unknown: HandOverResult = { kind: 'unknown' };

/** Postfix's smtp-sink has a switch of its own for what may be tried again. */
const refusal = (title: string, at: Refusal['at'], says: string, expected: HandOverResult): Refusal => ({
  ...{ title, at, says, expected },
  switches: says.startsWith('4') ? ['-r', at, '-b', says] : ['-f', at, '-B', says],
});
const hangUp = (title: string, at: Refusal['at'], expected = transient('ECONNECTION')): Refusal => ({
  ...{ title, at, says: 'hangs up', switches: ['-q', at], expected },
});

/** Exchange, where a recipient is set to take nothing from elsewhere. */
const OF_ITS_HOUSE = '550 5.7.12 Sender was not authenticated by organization';

export const REFUSALS: Refusal[] = [
  refusal('a recipient refused for good', 'rcpt', '500 5.3.0 Error', rejected('5.3.0')),
  refusal('a sender refused for good', 'mail', '500 5.3.0 Error', rejected('5.3.0')),
  refusal('a message refused for good', '.', '500 5.3.0 Error', rejected('5.3.0')),
  refusal('a recipient refused for now', 'rcpt', '450 4.3.0 Error', transient('4.3.0')),
  refusal('a message refused for now', '.', '450 4.3.0 Error', transient('4.3.0')),
  refusal(
    'a recipient without a mailbox',
    'rcpt',
    '550 5.1.1 No such user',
    rejected('5.1.1', 'No such user'),
  ),
  refusal(
    'a recipient without a mailbox, as some hosts write the code',
    'rcpt',
    '550 #5.1.0 Address rejected.',
    rejected('5.1.0', 'Address rejected.'),
  ),
  refusal(
    'a sender that is not trusted, as some hosts write the code',
    '.',
    '554 5.7.1: Blocked by policy',
    transient('5.7.1'),
  ),
  refusal(
    'a sender without a mailbox, refused at the recipient',
    'rcpt',
    '550 5.1.0 <news@example.org>: Sender address rejected: User unknown',
    transient('5.1.0'),
  ),
  refusal(
    'a sender without a mailbox, refused in words alone',
    'rcpt',
    '550 Sender verify failed: user unknown',
    transient('550'),
  ),
  refusal(
    'a sender without a mailbox, refused at the sender',
    'mail',
    '550 5.1.1 User unknown',
    transient('5.1.1'),
  ),
  refusal('a mailbox that is full', 'rcpt', '552 5.2.2 Mailbox full', transient('5.2.2')),
  refusal(
    'a sender that is not trusted, for the first time',
    '.',
    '550 5.7.26 Unauthenticated',
    transient('5.7.26'),
  ),
  refusal('a host that wants less', 'rcpt', '421 4.7.0 Slow down', throttled),
  refusal(
    'a service that has taken its mail of the day',
    '.',
    '454 Throttling failure: Daily message quota exceeded',
    {
      ...{ kind: 'account', code: 'daily_quota' },
      message: 'Throttling failure: Daily message quota exceeded',
    },
  ),
  refusal(
    'a service that has paused the account',
    '.',
    '554 Message rejected: Sending paused for this account.',
    {
      ...{ kind: 'account', code: 'sending_paused' },
      message: 'Message rejected: Sending paused for this account.',
    },
  ),
  refusal('the same, as a refusal for good', 'mail', '550 5.4.5 Daily user sending limit exceeded.', {
    ...{ kind: 'account', code: 'daily_quota' },
    message: 'Daily user sending limit exceeded.',
  }),
  refusal('a log-in that was disabled', 'mail', '525 5.7.13 User account disabled', {
    ...{ kind: 'account', code: '5.7.13' },
    message: 'User account disabled',
  }),
  refusal('a log-in that was disabled, as a refusal of any kind', 'mail', '550 5.7.13 Account disabled', {
    ...{ kind: 'account', code: '5.7.13' },
    message: 'Account disabled',
  }),
  refusal(
    'a log-in that was disabled, or a recipient that takes mail of its own house alone',
    'rcpt',
    OF_ITS_HOUSE,
    {
      ...{ kind: 'account', code: '5.7.12', orRecipient: true },
      message: 'Sender was not authenticated by organization',
    },
  ),
  refusal('a relay that takes no mail', 'mail', '554 5.3.2 System not accepting messages', {
    ...{ kind: 'account', code: '5.3.2', orRecipient: true },
    message: 'System not accepting messages',
  }),
  refusal('a relay that is set up wrong', 'mail', '553 5.3.5 Local configuration error', {
    ...{ kind: 'account', code: '5.3.5', orRecipient: true },
    message: 'Local configuration error',
  }),
  refusal('a relay that wants a log-in first', 'mail', '503 AUTH must come first', {
    ...{ kind: 'account', code: '503', orRecipient: true },
    message: 'AUTH must come first',
  }),
  refusal(
    'a host of the recipient that takes no mail',
    'rcpt',
    '554 5.3.2 System not accepting messages',
    rejected('5.3.2'),
  ),
  refusal(
    'a service that takes no more in this second',
    '.',
    '454 Throttling failure: Maximum sending rate exceeded.',
    {
      kind: 'throttled',
      retryAfterMs: 15_000,
    },
  ),
  refusal(
    'a greeting that refuses us for good',
    'connect',
    '554 5.7.1 Service unavailable; client host [192.0.2.7] blocked',
    {
      ...{ kind: 'account', code: '5.7.1' },
      message: 'Service unavailable; client host [192.0.2.7] blocked',
    },
  ),
  refusal('a greeting that refuses us in words alone', 'connect', '554 No service here', {
    kind: 'account',
    code: '554',
    message: 'No service here',
  }),
  refusal('a greeting that puts us off', 'connect', '450 4.3.0 Error', {
    ...transient('EPROTOCOL'),
    unreached: true,
  } as HandOverResult),
  hangUp('no greeting but a hang-up', 'connect', {
    ...transient('ECONNECTION'),
    unreached: true,
  } as HandOverResult),
  hangUp('a hang-up at the sender', 'mail'),
  hangUp('a hang-up at the recipient', 'rcpt'),
  hangUp('a hang-up at the data', 'data'),
  hangUp('a hang-up after the message', '.', unknown),
  {
    title: 'a good-bye after the message',
    ...{ at: '.', says: '421 4.0.0 Bye', switches: ['-Q', '.'] },
    expected: throttled,
  },
  {
    title: 'a verdict that does not come in time',
    ...{ at: '.', says: 'nothing', switches: ['-W', '.:5'] },
    expected: unknown,
  },
];
