import { createLog } from '../../../src/log';
import { createProviderDesk, throttledSenders } from '../../../src/messaging/outbox/provider-desk';
import type { HandOver, HandOverResult } from '../../../src/providers/provider';
import { ScriptedProvider } from '../scripted-provider';

const from = (sender: string): HandOver => ({
  id: 'msg_1',
  uid: 'u',
  channel: 'email',
  to: 'ann@example.com',
  from: sender,
  attempt: 1,
});
const away: HandOverResult = { kind: 'throttled', retryAfterMs: 5_000 };

test('a sender most of whose messages were sent away is asked to be silent', () => {
  const messages = [from('a'), from('a'), from('b')];
  const results: HandOverResult[] = [away, away, { kind: 'accepted', providerId: '1' }];
  expect(throttledSenders(messages, results)).toEqual([{ sender: 'a', delayMs: 5_000, isAlone: false }]);
});

test('a message that waits for its own sake silences nobody', () => {
  const alone: HandOverResult = { ...away, scope: 'message' };
  expect(throttledSenders([from('a'), from('a')], [alone, alone])).toEqual([]);
});

test.each([
  [away, true],
  [{ ...away, scope: 'sender' } as const, false],
])('two senders sent away with %j pause everybody: %s', async (result, pauses) => {
  const provider = new ScriptedProvider('email');
  provider.script = () => result;
  const desk = createProviderDesk('email', provider, createLog('silent'));
  await desk.handOver([from('a'), from('b')]);
  expect(desk.pausedUntilMs > Date.now()).toBe(pauses);
});
