import { Pace } from '../../../../src/messaging/outbox/deliver/pace';

/** Takes whatever may leave, every 10 ms for so long. */
function sentIn(pace: Pace, seconds: number): number {
  let sent = 0;
  for (let ms = 0; ms < seconds * 1_000; ms += 10) {
    const count = pace.available(ms);
    pace.take(count);
    sent += count;
  }
  return sent;
}

test('an account is given its rate and a fifth of a second’s messages at most at once', () => {
  expect(sentIn(new Pace(50), 10)).toBeGreaterThanOrEqual(499);
  expect(sentIn(new Pace(50), 10)).toBeLessThanOrEqual(511);
  expect(new Pace(50).available(60_000)).toBe(10);
});

test('a rate below one a second still lets messages leave', () => {
  expect(sentIn(new Pace(0.5), 20)).toBeGreaterThanOrEqual(10);
  expect(sentIn(new Pace(0.5), 20)).toBeLessThanOrEqual(11);
});

test('processes share the rate', () => {
  const pace = new Pace(100);
  pace.shareWith(4);
  expect(sentIn(pace, 10)).toBeLessThanOrEqual(256);
});

test('the next message’s time is when a token is there', () => {
  const pace = new Pace(10);
  pace.take(pace.available(1_000));
  const at = pace.nextAtMs(1_000);
  expect(pace.available(at - 20)).toBe(0);
  expect(pace.available(at)).toBe(1);
});
