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

const hangUp = (title: string, at: Refusal['at'], expected = transient('ECONNECTION')): Refusal => ({
  ...{ title, at, says: 'hangs up', switches: ['-q', at], expected },
});

export const REFUSALS: Refusal[] = [
  {
    title: 'a recipient refused for good',
    ...{ at: 'rcpt', says: '500 5.3.0 Error', switches: ['-f', 'rcpt'] },
    expected: rejected('5.3.0'),
  },
  {
    title: 'a sender refused for good',
    ...{ at: 'mail', says: '500 5.3.0 Error', switches: ['-f', 'mail'] },
    expected: rejected('5.3.0'),
  },
  {
    title: 'a message refused for good',
    ...{ at: '.', says: '500 5.3.0 Error', switches: ['-f', '.'] },
    expected: rejected('5.3.0'),
  },
  {
    title: 'a recipient refused for now',
    ...{ at: 'rcpt', says: '450 4.3.0 Error', switches: ['-r', 'rcpt'] },
    expected: transient('4.3.0'),
  },
  {
    title: 'a message refused for now',
    ...{ at: '.', says: '450 4.3.0 Error', switches: ['-r', '.'] },
    expected: transient('4.3.0'),
  },
  {
    title: 'a recipient without a mailbox',
    ...{
      at: 'rcpt',
      says: '550 5.1.1 No such user',
      switches: ['-f', 'rcpt', '-B', '550 5.1.1 No such user'],
    },
    expected: rejected('5.1.1', 'No such user'),
  },
  {
    title: 'a recipient without a mailbox, as some hosts write the code',
    ...{
      at: 'rcpt',
      says: '550 #5.1.0 Address rejected.',
      switches: ['-f', 'rcpt', '-B', '550 #5.1.0 Address rejected.'],
    },
    expected: rejected('5.1.0', 'Address rejected.'),
  },
  {
    title: 'a sender that is not trusted, as some hosts write the code',
    ...{
      at: '.',
      says: '554 5.7.1: Blocked by policy',
      switches: ['-f', '.', '-B', '554 5.7.1: Blocked by policy'],
    },
    expected: transient('5.7.1'),
  },
  {
    title: 'a sender without a mailbox, refused at the recipient',
    ...{
      at: 'rcpt',
      says: '550 5.1.0 <news@example.org>: Sender address rejected: User unknown',
      switches: ['-f', 'rcpt', '-B', '550 5.1.0 <news@example.org>: Sender address rejected: User unknown'],
    },
    expected: transient('5.1.0'),
  },
  {
    title: 'a sender without a mailbox, refused in words alone',
    ...{
      at: 'rcpt',
      says: '550 Sender verify failed: user unknown',
      switches: ['-f', 'rcpt', '-B', '550 Sender verify failed: user unknown'],
    },
    expected: transient('550'),
  },
  {
    title: 'a sender without a mailbox, refused at the sender',
    ...{
      at: 'mail',
      says: '550 5.1.1 User unknown',
      switches: ['-f', 'mail', '-B', '550 5.1.1 User unknown'],
    },
    expected: transient('5.1.1'),
  },
  {
    title: 'a mailbox that is full',
    ...{
      at: 'rcpt',
      says: '552 5.2.2 Mailbox full',
      switches: ['-f', 'rcpt', '-B', '552 5.2.2 Mailbox full'],
    },
    expected: transient('5.2.2'),
  },
  {
    title: 'a sender that is not trusted, for the first time',
    ...{
      at: '.',
      says: '550 5.7.26 Unauthenticated',
      switches: ['-f', '.', '-B', '550 5.7.26 Unauthenticated'],
    },
    expected: transient('5.7.26'),
  },
  {
    title: 'a host that wants less',
    ...{ at: 'rcpt', says: '421 4.7.0 Slow down', switches: ['-r', 'rcpt', '-b', '421 4.7.0 Slow down'] },
    expected: throttled,
  },
  {
    title: 'a greeting that refuses us for good',
    ...{
      at: 'connect',
      says: '554 5.7.1 Service unavailable; client host [192.0.2.7] blocked',
      switches: ['-f', 'connect', '-B', '554 5.7.1 Service unavailable; client host [192.0.2.7] blocked'],
    },
    expected: {
      ...{ kind: 'account', code: '5.7.1' },
      message: 'Service unavailable; client host [192.0.2.7] blocked',
    },
  },
  {
    title: 'a greeting that refuses us in words alone',
    ...{
      at: 'connect',
      says: '554 No service here',
      switches: ['-f', 'connect', '-B', '554 No service here'],
    },
    expected: { kind: 'account', code: '554', message: 'No service here' },
  },
  {
    title: 'a greeting that puts us off',
    ...{ at: 'connect', says: '450 4.3.0 Error', switches: ['-r', 'connect'] },
    expected: { ...transient('EPROTOCOL'), unreached: true } as HandOverResult,
  },
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
