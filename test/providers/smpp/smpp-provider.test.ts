import { messageReference } from '../../../src/domain/message-reference';
import { parseOptedOutCodes } from '../../../src/domain/opted-out-codes';
import { freePort } from '../../support/free-port';
import type { Smsc } from '../../support/smsc';
import { until } from '../../support/until';
import { centre, handOverAll, LONG, message, one, open, PERSON } from './smpp-rig';

describe('a message at the SMS centre', () => {
  test('is in GSM-7 with data coding 0, or in UCS-2, and asks for a receipt', async () => {
    const smsc = await centre();
    await open(smsc).handOver([message('5 € @_'), message('жук')]);
    const [gsm, ucs2] = smsc.taken;
    expect([gsm?.dataCoding, gsm?.octets.toString('hex')]).toEqual([0, '35201b65200011']);
    expect([ucs2?.dataCoding, ucs2?.octets.toString('hex')]).toEqual([8, '04360443043a']);
    expect(gsm?.pdu.registered_delivery).toBe(1);
  });

  test.each([
    ['+12125550100', '12125550100', 1, 1],
    ['12345', '12345', 3, 0],
    ['FANFARE', 'FANFARE', 5, 0],
  ])('is from %s by type and plan of number', async (from, address, ton, npi) => {
    const smsc = await centre();
    await open(smsc).handOver([message('Hello', PERSON, from)]);
    expect(smsc.taken[0]?.pdu).toMatchObject({
      source_addr: address,
      source_addr_ton: ton,
      source_addr_npi: npi,
      destination_addr: '12125550190',
      dest_addr_ton: 1,
      dest_addr_npi: 1,
    });
  });

  const referencesOf = (smsc: Smsc) => smsc.taken.map(({ pdu }) => pdu.user_message_reference);

  test('carries a reference of its own in every part, unless the URL says none', async () => {
    const smsc = await centre();
    const sent = [message(), message(LONG)] as const;
    await open(smsc).handOver([sent[0]]);
    await open(smsc).handOver([sent[1]]);
    const [one, long] = sent.map(({ id }) => messageReference(id));
    expect(referencesOf(smsc)).toEqual([one, long, long, long]);
    const without = await centre();
    await open({ url: `${without.url}?reference=none` }).handOver([message()]);
    expect(referencesOf(without)).toEqual([undefined]);
  });

  test('goes without it to a centre that refuses it, and so do all others', async () => {
    const smsc = await centre({ reference: 'refused' });
    const provider = open(smsc);
    expect(await one(provider, message())).toMatchObject({ kind: 'accepted' });
    expect(smsc.offered).toBe(2);
    expect(await one(provider, message())).toMatchObject({ kind: 'accepted' });
    expect(smsc.offered).toBe(3);
    expect(referencesOf(smsc)).toEqual([undefined, undefined]);
  });

  describe('with an end', () => {
    const ending = (inMs: number) => ({
      ...message(),
      expiresAt: new Date(Date.now() + inMs).toISOString(),
    });
    const endsOf = (smsc: Smsc) => smsc.taken.map(({ pdu }) => pdu.validity_period);

    test('tells the centre how long it may try', async () => {
      const smsc = await centre();
      const sent = ending(90 * 60_000);
      await one(open(smsc), sent);
      const [end] = endsOf(smsc);
      expect(Math.abs((end as Date).getTime() - Date.parse(sent.expiresAt))).toBeLessThan(3_000);
    });

    test('so far away that centres refuse it is told no end', async () => {
      const smsc = await centre();
      await one(open(smsc), ending(30 * 86_400_000));
      expect(endsOf(smsc)).toEqual(['']);
    });

    test('goes without it to a centre that refuses it, and so do all others', async () => {
      const smsc = await centre({ refusesValidity: true });
      const provider = open(smsc);
      expect(await one(provider, ending(60_000))).toMatchObject({ kind: 'accepted' });
      expect(smsc.offered).toBe(2);
      expect(await one(provider, ending(60_000))).toMatchObject({ kind: 'accepted' });
      expect([smsc.offered, smsc.taken.length]).toEqual([3, 2]);
    });
  });

  test('that is refused for another TLV is refused with it and without, and is not spent', async () => {
    const smsc = await centre({ status: () => 0xc1 });
    const provider = open(smsc);
    expect(await one(provider, message())).toMatchObject({ kind: 'account', code: 'smpp_0xc1' });
    expect([smsc.offered, smsc.taken.length]).toEqual([2, 0]);
  });

  test('carries the TLVs of the configuration', async () => {
    const smsc = await centre();
    await open(smsc, { tlvs: { '0x1400': '1101234567890', '5121': 'tpl' } }).handOver([message()]);
    const pdu = smsc.taken[0]?.pdu as unknown as Record<string, Buffer>;
    expect([pdu.vendor_1400?.toString(), pdu.vendor_1401?.toString()]).toEqual(['1101234567890', 'tpl']);
  });

  test('of more than one part is cut, its parts joined by a reference that the next does not have', async () => {
    const smsc = await centre();
    const [result] = await open(smsc).handOver([message(LONG), message(LONG)]);
    expect(result).toMatchObject({ kind: 'accepted' });
    const headers = smsc.taken.map(({ esmClass, octets }) => [esmClass, ...octets.subarray(0, 6)]);
    expect(headers.map((header) => header.slice(0, 4))).toEqual(Array(6).fill([0x40, 5, 0, 3]));
    expect(new Set(headers.map((header) => header[4])).size).toBe(2);
    expect(headers.map((header) => header[6]).sort()).toEqual([1, 1, 2, 2, 3, 3]);
  });

  test('is whole in message_payload for a centre that cuts by itself', async () => {
    const smsc = await centre();
    await open({ url: `${smsc.url}?long=payload` }).handOver([message(LONG)]);
    expect(smsc.taken.map(({ esmClass, octets }) => [esmClass, octets.length])).toEqual([[0, 400]]);
  });
});

describe('what a centre answers', () => {
  test.each([
    ['101', { kind: 'rejected', code: 'smpp_0x0b', message: 'The destination address is invalid' }],
    ['102', { kind: 'transient', code: 'smpp_0x08' }],
    ['103', { kind: 'throttled', retryAfterMs: 1_000 }],
    ['104', { kind: 'throttled', retryAfterMs: 1_000 }],
    ['105', { kind: 'account', code: 'smpp_0x0d', message: 'The bind failed' }],
    ['106', { kind: 'rejected', code: 'smpp_0x66', message: 'Refused by the receiving application' }],
    ['107', { kind: 'transient', code: 'smpp_0x45' }],
  ])('to a number that ends with %s is read', async (suffix, expected) => {
    expect(await one(open(await centre()), message('Hello', `+12125550${suffix}`))).toEqual(expected);
  });

  test.each([
    [0x0a, 'smpp_0x0a', 'The source address is invalid'],
    [0x48, 'smpp_0x48', 'The type of the source number is invalid'],
    [0x49, 'smpp_0x49', 'The plan of the source number is invalid'],
  ])('with the status %i is about the sender, and no recipient is spent', async (status, code, what) => {
    const provider = open(await centre({ status: () => status }));
    const refused = { kind: 'sender', code, message: what };
    expect(await one(provider, message())).toEqual(refused);
    expect(await one(provider, message(LONG))).toEqual(refused);
  });

  test.each([
    [0x15, 'smpp_0x15', 'The service type is invalid'],
    [0x07, 'smpp_0x07', 'The registered delivery flag is invalid'],
    [0xc3, 'smpp_0xc3', 'An optional parameter is missing'],
  ])(
    'with the status %i is about fields of the account, and no recipient is spent',
    async (status, code, what) => {
      const provider = open(await centre({ status: () => status }));
      expect(await one(provider, message())).toEqual({
        ...{ kind: 'account', code, message: what },
        orRecipient: true,
      });
    },
  );

  test('to a later part, that a field is wrong, ends the message, which will never be complete', async () => {
    const smsc = await centre({ status: (_to, part) => (part === 2 ? 0x43 : 0) });
    expect(await one(open(smsc), message(LONG))).toMatchObject({ kind: 'rejected', code: 'smpp_0x43' });
  });

  test('is that the subscriber has opted out, when it is one of the codes that are set', async () => {
    const optedOut = parseOptedOutCodes('0x0455,0x58');
    if (typeof optedOut === 'string') throw new Error(optedOut);
    const smsc = await centre({ status: (_to, part) => (part === 1 ? 0x455 : 0x58) });
    const provider = open(smsc, { optedOut });
    expect(await one(provider, message())).toMatchObject({
      kind: 'rejected',
      code: 'opted_out',
      message: expect.stringContaining('smpp_0x455'),
    });
    expect(await one(provider, message(LONG))).toMatchObject({ kind: 'rejected', code: 'opted_out' });
    expect(smsc.offered).toBe(2);
    expect(await one(open(await centre({ status: () => 0x455 })), message())).toEqual({
      kind: 'transient',
      code: 'smpp_0x455',
    });
  });

  test('is not waited for beyond its time, and the session goes on', async () => {
    const smsc = await centre();
    const provider = open(smsc);
    const results = await provider.handOver([message('Hello', '+12125550110'), message()]);
    expect(results.map(({ kind }) => kind)).toEqual(['unknown', 'accepted']);
    expect(await one(provider, message())).toMatchObject({ kind: 'accepted' });
    expect(smsc.binds).toBe(1);
  });

  test('keeps no more than a window waiting, on each session', async () => {
    const smsc = await centre({ latencyMs: 2 });
    const provider = open(smsc, { binds: 2, window: 5 });
    await until('both sessions', () => smsc.sessions() === 2);
    const results = await handOverAll(
      provider,
      Array.from({ length: 100 }, () => message()),
    );
    expect(results.every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(smsc.mostAtOnce).toBe(10);
  });

  test('slows the session down when it says so', async () => {
    let throttle = true;
    const smsc = await centre({ latencyMs: 2, status: () => (throttle ? 0x58 : 0) });
    const provider = open(smsc, { window: 16 });
    const results = await provider.handOver(Array.from({ length: 16 }, () => message()));
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['throttled']));
    throttle = false;
    smsc.mostAtOnce = 0;
    await handOverAll(
      provider,
      Array.from({ length: 40 }, () => message()),
    );
    // Half as many, and one more for each round that is taken.
    expect(smsc.mostAtOnce).toBeGreaterThan(8);
    expect(smsc.mostAtOnce).toBeLessThan(16);
  });
});

describe('a long message of which a part is not taken', () => {
  const refused = (status: number, which: (part: number) => boolean) =>
    centre({ status: (_to, part) => (which(part) ? status : 0) });

  test('is as its first part was answered, and the others do not leave', async () => {
    const smsc = await refused(0x0b, (part) => part === 1);
    expect(await one(open(smsc), message(LONG))).toMatchObject({ kind: 'rejected', code: 'smpp_0x0b' });
    expect(smsc.offered).toBe(1);
  });

  test('is rejected when a later part is refused for good', async () => {
    const smsc = await refused(0x0b, (part) => part === 3);
    expect(await one(open(smsc), message(LONG))).toEqual({
      kind: 'rejected',
      code: 'smpp_0x0b',
      message: 'Part 3 of 3 was refused: The destination address is invalid',
    });
  });

  test('is rejected when the sender is refused with a later part, since its first was taken', async () => {
    const smsc = await refused(0x0a, (part) => part === 2);
    expect(await one(open(smsc), message(LONG))).toMatchObject({ kind: 'rejected', code: 'smpp_0x0a' });
  });

  test('has that part offered again while the centre says "later"', async () => {
    const smsc = await refused(0x58, (part) => part === 2 || part === 3);
    expect(await one(open(smsc), message(LONG))).toMatchObject({ kind: 'accepted' });
    expect([smsc.taken.length, smsc.offered]).toEqual([3, 5]);
    expect(new Set(smsc.taken.map(({ octets }) => octets[3])).size).toBe(1);
  });

  test('is unknown when an answer is lost', async () => {
    const smsc = await centre({ cut: (part) => (part === 3 ? 'no-answer' : undefined) });
    expect(await one(open(smsc), message(LONG))).toEqual({ kind: 'unknown' });
  });
});

describe('a connection that is cut', () => {
  test('before a message is written leaves it to wait for the next, without an attempt', async () => {
    const port = await freePort();
    const provider = open({ url: `smpp://fanfare:secret@127.0.0.1:${port}` });
    const sent = provider.handOver([message()]);
    const smsc = await centre({ port });
    expect(await sent).toMatchObject([{ kind: 'accepted' }]);
    expect(smsc.taken).toHaveLength(1);
  });

  test.each(['before', 'after'] as const)(
    '%s the centre has taken a message leaves it unknown',
    async (cut) => {
      const smsc = await centre({ cut: (part) => (part === 2 ? cut : undefined) });
      const provider = open(smsc);
      const sent = [message('1'), message('2'), message('3')];
      const results = await provider.handOver(sent);
      const kinds = results.map(({ kind }) => kind);
      expect([kinds[0], kinds[1]]).toEqual(['accepted', 'unknown']);
      // The third was on its way as well, and is in the same doubt.
      expect(kinds[2]).toBe('unknown');
      expect(await one(provider, message('4'))).toMatchObject({ kind: 'accepted' });
      const texts = smsc.taken.map(({ octets }) => octets.toString('latin1'));
      expect(texts.filter((text) => text === '1' || text === '4')).toEqual(['1', '4']);
      expect(new Set(texts).size).toBe(texts.length);
    },
  );

  test('is made anew, and what was not offered is taken then', async () => {
    const smsc = await centre({ latencyMs: 5 });
    const provider = open(smsc, { window: 2 });
    const results = handOverAll(
      provider,
      Array.from({ length: 20 }, (_, n) => message(String(n))),
    );
    await until('the first to be taken', () => smsc.taken.length > 0);
    smsc.cutAll();
    const kinds = (await results).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'unknown').length).toBeLessThanOrEqual(2);
    expect(kinds.filter((kind) => kind !== 'unknown' && kind !== 'accepted')).toEqual([]);
    const texts = smsc.taken.map(({ octets }) => octets.toString('latin1'));
    expect(new Set(texts).size).toBe(texts.length);
    const accepted = kinds.flatMap((kind, n) => (kind === 'accepted' ? [String(n)] : []));
    expect(texts).toEqual(expect.arrayContaining(accepted));
  });

  test('that the centre ends first brings the answers it still gives', async () => {
    const smsc = await centre({ latencyMs: 100 });
    const provider = open(smsc, { window: 2 });
    const results = handOverAll(
      provider,
      Array.from({ length: 6 }, (_, n) => message(String(n))),
    );
    await until('the first to be offered', () => smsc.offered === 2);
    smsc.unbindAll();
    expect((await results).map(({ kind }) => kind)).toEqual(Array(6).fill('accepted'));
    expect(smsc.taken).toHaveLength(6);
    expect([smsc.unbound, smsc.binds]).toEqual([1, 2]);
  });

  test('that the centre ends is over after the time for an answer, when none comes', async () => {
    const smsc = await centre({ cut: (part) => (part === 1 ? 'no-answer' : undefined) });
    const provider = open(smsc);
    const result = one(provider, message());
    await until('it to be offered', () => smsc.offered === 1);
    smsc.unbindAll();
    expect(await result).toEqual({ kind: 'unknown' });
    expect(await one(provider, message())).toMatchObject({ kind: 'accepted' });
    expect([smsc.unbound, smsc.binds]).toEqual([1, 2]);
  });

  test('is noticed when nobody answers the question whether anybody is there', async () => {
    let deaf = false;
    const smsc = await centre({ deaf: () => deaf });
    const provider = open(smsc, { times: { answerMs: 100, enquireMs: 100 } });
    await one(provider, message());
    deaf = true;
    await until('the session to be given up', () => smsc.sessions() === 0);
    deaf = false;
    expect(await one(provider, message())).toMatchObject({ kind: 'accepted' });
    expect(smsc.binds).toBe(2);
  });
});

test('a session in which no submit_sm is answered is ended, and its messages have another', async () => {
  let stuck = true;
  const smsc = await centre({ cut: () => (stuck ? 'no-answer' : undefined) });
  const provider = open(smsc, { window: 5, times: { answerMs: 100, enquireMs: 50 } });
  const texts = Array.from({ length: 15 }, (_, i) => message(`${i}`));
  const results = await handOverAll(provider, texts);
  expect(results.every(({ kind }) => kind === 'unknown' || kind === 'throttled')).toBe(true);
  stuck = false;
  await until('another session', () => smsc.binds === 2);
  expect(await one(provider, message())).toMatchObject({ kind: 'accepted' });
});

describe('a bind', () => {
  test('that is refused for our account pauses the account', async () => {
    const smsc = await centre({ bindStatus: () => 0x0e });
    const expected = { kind: 'account', code: 'smpp_0x0e', message: 'The SMS centre refuses our account' };
    expect(await one(open(smsc), message())).toEqual(expected);
  });

  test('is tried for again once the centre lets us in', async () => {
    let status = 0x0f;
    const smsc = await centre({ bindStatus: () => status });
    const provider = open(smsc);
    expect(await one(provider, message())).toMatchObject({ kind: 'account' });
    status = 0;
    // The centre has the session before its answer to the bind is here.
    await until('a message is taken', async () => (await one(provider, message()))?.kind === 'accepted');
    expect(smsc.sessions()).toBe(1);
  });

  test('is said goodbye to at the end', async () => {
    const smsc = await centre();
    const provider = open(smsc);
    await one(provider, message());
    await provider.close();
    expect(smsc.sessions()).toBe(0);
  });
});
