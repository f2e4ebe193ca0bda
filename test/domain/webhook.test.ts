/** Proves which events a pattern matches, and the delays between attempts. */

import { isEventPattern, isWanted, wantsMessages, webhookRetryMs } from '../../src/domain/webhook';

describe('patterns of webhook events', () => {
  test.each([
    ['*', 'message.delivered', true],
    ['*', 'campaign.completed', true],
    ['message.*', 'message.ringing', true],
    ['message.*', 'campaign.completed', false],
    ['campaign.completed', 'campaign.completed', true],
    ['campaign.completed', 'campaign.complete', false],
    ['message.sent', 'message.scheduled', false],
  ])('%s and %s: %s', (pattern, type, wanted) => {
    expect(isWanted([pattern], type)).toBe(wanted);
  });

  test.each([
    '*',
    'message.*',
    'campaign.*',
    'message.no_answer',
    'message.accepted',
    'message.inbound',
    'campaign.finishing',
  ])('%s is one', (pattern) => expect(isEventPattern(pattern)).toBe(true));

  test.each([
    '',
    '**',
    '*.*',
    'message',
    'message.',
    'message.nothing',
    'campaign.sent',
    'webhook.test',
    'Message.*',
  ])('%j is none', (pattern) => expect(isEventPattern(pattern)).toBe(false));

  test('the feed is read only for who wants messages', () => {
    expect([['*'], ['message.sent'], ['campaign.*', 'message.*']].map(wantsMessages)).toEqual([
      true,
      true,
      true,
    ]);
    expect(wantsMessages(['campaign.*', 'campaign.failed'])).toBe(false);
  });
});

describe('the attempts of a delivery', () => {
  const table = (random: number) => Array.from({ length: 10 }, (_, failed) => webhookRetryMs(failed, random));

  test('are ten in three days, the first at once', () => {
    const minutes = table(0.5).map((ms) => (ms ?? Number.NaN) / 60_000);
    expect(minutes).toEqual([0, 5 / 60, 5, 30, 120, 300, 600, 840, 1_200, 1_440]);
    expect(webhookRetryMs(10, 0.5)).toBeUndefined();
  });

  test('do not all come back at one moment', () => {
    expect([table(0)[2], table(1)[2]]).toEqual([270_000, 330_000]);
  });
});
