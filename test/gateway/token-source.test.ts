/** Proves when a token is replaced, although the service’s clock may differ. */

import { parseToken, type Token, TokenSource } from '../../src/gateway/token-source';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const HOUR = 3_600_000;

const utc = (at: number) => new Date(at).toISOString().slice(0, 19).replace('T', ' ');
const httpDate = (at: number) => new Date(at).toUTCString();

function tokenOf(lifetimeMs: number, clockAheadMs: number, withDate: boolean): Token {
  const theirs = Date.now() + clockAheadMs;
  const body = { access_token: 't', valid_till: utc(theirs + lifetimeMs) };
  return parseToken(body, Date.now(), withDate ? httpDate(theirs) : undefined);
}

describe('a token of a service whose clock may be another', () => {
  beforeEach(() => jest.useFakeTimers({ now: NOW }));
  afterEach(() => jest.useRealTimers());

  /** How many tokens a caller costs who sends every 10 ms for so long. */
  async function tokensFor(lastsMs: number, make: () => Token): Promise<number> {
    let tokens = 0;
    const source = new TokenSource(async () => {
      tokens += 1;
      return make();
    });
    for (const until = Date.now() + lastsMs; Date.now() < until; jest.setSystemTime(Date.now() + 10)) {
      source.worked(await source.get());
    }
    return tokens;
  }

  test('ends by the clock that the answer shows, ahead or behind', () => {
    for (const ahead of [-2 * HOUR, -60_000, 60_000, 2 * HOUR]) {
      expect([ahead, tokenOf(HOUR, ahead, true).expiresAt]).toEqual([ahead, NOW + HOUR]);
    }
  });

  test('ends by our own clock where the difference may be one of rounding', () => {
    expect(tokenOf(HOUR, -900, true).expiresAt).toBe(NOW + HOUR - 1_000);
  });

  test('that is over as it is made serves until it is refused', async () => {
    expect(await tokensFor(60_000, () => tokenOf(HOUR, -2 * HOUR, false))).toBe(1);
  });

  test('costs one request a second at most where it seems to last an instant', async () => {
    expect(await tokensFor(10_000, () => tokenOf(HOUR, 1_500 - HOUR, false))).toBe(10);
  });

  test('that lives for seconds is replaced when a tenth of its lifetime is left', async () => {
    const lives: [number, number][] = [];
    const make = () => {
      const token = tokenOf(2_000, 0, true);
      lives.push([token.fetchedAt, token.expiresAt]);
      return token;
    };
    await tokensFor(20_000, make);
    // In whole seconds, a token of two seconds tells of one to two.
    const used = lives.slice(1).map(([next], i) => {
      const [from, till] = lives[i] as [number, number];
      return (next - from) / (till - from);
    });
    expect(Math.min(...used)).toBeGreaterThanOrEqual(0.9);
    expect(Math.max(...used)).toBeLessThan(1);
  });
});

test('tokens that are refused before one has worked are asked for once a second', async () => {
  let tokens = 0;
  const source = new TokenSource(async () => {
    tokens += 1;
    return parseToken({ access_token: `t${tokens}`, valid_till: '2099-01-01 00:00:00' }, Date.now());
  });
  for (let message = 0; message < 500; message++) {
    for (let attempt = 1; attempt <= 2; attempt++) if (!source.refused(await source.get())) break;
  }
  expect(tokens).toBe(2);
});
