import { LIMITS } from '../../../src/domain/limits';
import { createDestinations, type Entry } from '../../../src/providers/smtp/destinations';
import { createReturnPath } from '../../../src/providers/smtp/return-path';
import { createSenderBreaker } from '../../../src/providers/smtp/sender-breaker';
import { classify, retryGapMs } from '../../../src/providers/smtp/smtp-codes';
import { parseReply } from '../../../src/providers/smtp/smtp-reply';

describe('what a refusal means', () => {
  test.each([
    ['550 5.1.1 <ann@example.com>: no such user', 'rcpt', 'rejected', '5.1.1'],
    ['550-5.1.1 The mailbox\r\n550 5.1.1 is not there', 'rcpt', 'rejected', '5.1.1'],
    ['550 5.1.10 null MX', 'rcpt', 'rejected', '5.1.10'],
    ['550 5.2.1 disabled', 'rcpt', 'rejected', '5.2.1'],
    ['550 User unknown', 'rcpt', 'rejected', 'unknown_recipient'],
    ['550 no such mailbox here', 'rcpt', 'rejected', 'unknown_recipient'],
    ['550 No such user', 'data', 'rejected', '550'],
    ['554 refused', 'data', 'rejected', '554'],
    ['552 5.3.4 Too big', 'data', 'rejected', '5.3.4'],
    ['554 5.6.0 Bad content', 'data', 'rejected', '5.6.0'],
    ['552 5.2.2 Full', 'rcpt', 'transient', '5.2.2'],
    ['452 4.2.2 Full', 'rcpt', 'transient', '4.2.2'],
    ['450 Greylisted', 'rcpt', 'transient', '450'],
    ['451 4.3.0 Trouble', 'data', 'transient', '4.3.0'],
    ['421 4.7.0 Slow', 'rcpt', 'slow_down', '4.7.0'],
    ['421 Bye', 'data', 'slow_down', '421'],
    ['450 4.7.28 Rate', 'rcpt', 'slow_down', '4.7.28'],
    ['421 4.7.0 Later', 'mail', 'relay_slow_down', '4.7.0'],
    ['454 Throttling failure: Maximum sending rate exceeded.', 'data', 'relay_slow_down', '454'],
    ['454 Throttling failure: Daily message quota exceeded', 'data', 'account', 'daily_quota'],
    ['550 5.4.5 Daily SMTP relay sending limit exceeded for this customer', 'mail', 'account', 'daily_quota'],
    ['550 5.4.5 Daily sending quota exceeded - gsmtp', 'data', 'account', 'daily_quota'],
    ['451 Authentication failed: Maximum credits exceeded', 'mail', 'account', 'daily_quota'],
    [
      '554 Message rejected: Sending paused for this account. See your inbox',
      'data',
      'account',
      'sending_paused',
    ],
    ['554 Message rejected: Sending suspended for this account.', 'data', 'account', 'sending_paused'],
    [
      '554 Message rejected: Email address is not verified. The following identities failed the check in region EU-WEST-1: a@b.example',
      ...(['data', 'sender', '554'] as const),
    ],
    ['550 The from address does not match a verified Sender Identity.', 'data', 'sender', '550'],
    // A recipient's own.
    ['452 4.2.2 Daily mailbox quota exceeded', 'rcpt', 'transient', '4.2.2'],
    ['550 5.7.1 Policy', 'rcpt', 'sender', '5.7.1'],
    ['550 5.7.515 Sender', 'data', 'sender', '5.7.515'],
    ['553 5.1.8 Bad sender', 'mail', 'sender', '5.1.8'],
    ['530 5.7.0 Log in first', 'mail', 'account', '5.7.0'],
    ['535 5.7.8 Wrong', 'mail', 'account', '5.7.8'],
    ['530 Log in', 'mail', 'account', '530'],
  ] as const)('%j at %s is %s', (response, stage, expected, code) => {
    const reply = parseReply(response);
    expect(reply && classify(reply, stage)).toEqual({ class: expected, code });
  });

  test('its words are kept without the addresses in them', () => {
    expect(parseReply('550 5.1.1 <ann@example.com>: ann@example.com is unknown')?.text).toBe(
      '<address>: <address> is unknown',
    );
    expect(parseReply('not a reply')).toBeUndefined();
  });

  test('attempts come further and further apart', () => {
    expect([1, 2, 7, 8, 99].map((attempt) => retryGapMs(attempt) / 60_000)).toEqual([1, 5, 240, 240, 240]);
  });
});

describe("a recipient's host", () => {
  let nowMs = 0;
  const entered = async (entry: Promise<Entry>) => {
    const given = await entry;
    if (given.kind !== 'room') throw new Error(`sent away for ${given.retryAfterMs} ms`);
    return given;
  };

  test('is left alone for longer each time it asks, then tried with one and more', async () => {
    const hosts = createDestinations(() => nowMs);
    const enter = () => hosts.enter('a.example', nowMs);
    (await entered(enter())).leave('slow_down');
    expect(await enter()).toEqual({ kind: 'wait', retryAfterMs: LIMITS.smtpSilenceFirstMs });
    nowMs += LIMITS.smtpSilenceFirstMs;
    const trial = await entered(enter());
    expect((await enter()).kind).toBe('wait');
    trial.leave('slow_down');
    expect(hosts.silentMs('a.example')).toBe(LIMITS.smtpSilenceFirstMs * 2);
    nowMs += LIMITS.smtpSilenceFirstMs * 2;
    (await entered(enter())).leave('taken');
    const two = [await entered(enter()), await entered(enter())];
    expect((await enter()).kind).toBe('wait');
    for (const one of two) one.leave('taken');
    for (let i = 0; i < LIMITS.smtpPerDestination; i++) (await entered(enter())).leave('taken');
    // It is like any other again.
    const all = await Promise.all(Array.from({ length: LIMITS.smtpPerDestination }, () => entered(enter())));
    for (const one of all) one.leave('taken');
    (await entered(enter())).leave('slow_down');
    expect(hosts.silentMs('a.example')).toBe(LIMITS.smtpSilenceFirstMs);
  });

  test('that says so to several at once is heard once', async () => {
    const hosts = createDestinations(() => nowMs);
    const some = [
      await entered(hosts.enter('b.example', nowMs)),
      await entered(hosts.enter('b.example', nowMs)),
    ];
    for (const one of some) one.leave('slow_down');
    expect(hosts.silentMs('b.example')).toBe(LIMITS.smtpSilenceFirstMs);
    expect(hosts.silentMs('c.example')).toBe(0);
  });

  test('has room for so many at once, and the next waits for a place', async () => {
    const hosts = createDestinations();
    const later = Date.now() + 10_000;
    const all = await Promise.all(
      Array.from({ length: LIMITS.smtpPerDestination }, () => entered(hosts.enter('d.example', later))),
    );
    let isIn = false;
    const next = entered(hosts.enter('d.example', later)).then((entry) => {
      isIn = true;
      return entry;
    });
    await Promise.resolve();
    expect(isIn).toBe(false);
    all[0]?.leave('other');
    (await next).leave('taken');
  });
});

describe('the breaker of a sender domain', () => {
  test('closes after refusals in a row, lets one try, and opens when it is taken', () => {
    let nowMs = 0;
    const closed: number[] = [];
    const breaker = createSenderBreaker({ onClosed: (_, pauseMs) => closed.push(pauseMs), now: () => nowMs });
    const refuse = () => breaker.refused('a.example');
    expect([refuse(), refuse()]).toEqual([undefined, undefined]);
    const firstMs = LIMITS.smtpSenderPauseFirstMs;
    expect([refuse(), refuse()]).toEqual([firstMs, firstMs]);
    expect(breaker.ask('a.example')).toEqual({ kind: 'closed', retryAfterMs: firstMs });
    expect(breaker.ask('b.example')).toEqual({ kind: 'open' });
    nowMs += firstMs;
    expect(breaker.ask('a.example').kind).toBe('trial');
    expect(breaker.ask('a.example').kind).toBe('closed');
    expect(refuse()).toBe(firstMs * 2);
    nowMs += firstMs * 2;
    expect(breaker.ask('a.example').kind).toBe('trial');
    breaker.taken('a.example');
    expect(breaker.ask('a.example').kind).toBe('open');
    expect(closed).toEqual([firstMs, firstMs * 2]);
  });
});

test('a return path is known by its proof, made with the secret of this installation', () => {
  const path = createReturnPath('Bounces.example.org', 'secret');
  const address = path.addressFor('msg_1');
  // RFC 5321 allows 64 before the @, and an id has thirty characters.
  expect(path.addressFor(`msg_${'0'.repeat(26)}`).indexOf('@')).toBeLessThanOrEqual(64);
  expect(path.messageOf(address)).toBe('msg_1');
  expect(createReturnPath('bounces.example.org', 'other').messageOf(address)).toBeUndefined();
  expect(path.messageOf(address.replace('msg_1', 'msg_2'))).toBeUndefined();
});
