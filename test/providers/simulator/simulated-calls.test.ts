import { readFileSync } from 'node:fs';
import type { HandOver, Provider, Receipt } from '../../../src/providers/provider';
import { recordFile } from '../../../src/providers/simulator/simulator-record';
import { until } from '../../support/until';
import { simulators } from './simulators';

const { directory, open } = simulators();

const MENU = `<Response><Answer/>
  <Gather numDigits="1" output="menu" optOutDigits="9" retries="1" history="compact">
    <Say>Press 1 to hear more, or 9 not to be called again.</Say>
  </Gather>
  <If expression="\${menu.digits}=='1'"><Say history="full">More of it.</Say><Hangup/></If>
  <If expression="\${menu.digits}=='9'"><Say id="bye" history="compact">You will not be called.</Say></If>
  <Say>Goodbye.</Say>
</Response>`;
const PLAIN = '<Response><Say history="full">Your order is ready to be fetched.</Say></Response>';

const call = (last: string, rest: Partial<HandOver> = {}): HandOver => ({
  id: `msg_${last}`,
  uid: `run.${last}.1`,
  channel: 'voice',
  to: `+121255501${last}`,
  from: '+12125550100',
  xml: MENU,
  attempt: 1,
  ...rest,
});

async function collect(simulator: Provider): Promise<Receipt[]> {
  const received: Receipt[] = [];
  await simulator.start(async (receipts) => void received.push(...receipts));
  return received;
}

const ENDS = ['completed', 'no_answer', 'failed', 'busy', 'rejected'];

/** The receipts of one call until its end. */
async function follow(message: HandOver): Promise<{ types: string[]; end: Receipt; receipts: Receipt[] }> {
  const simulator = await open({ channel: 'voice' });
  const receipts = await collect(simulator);
  await simulator.handOver([message]);
  await until('the end of the call', () => receipts.some(({ type }) => ENDS.includes(type)));
  return { types: receipts.map(({ type }) => type), end: receipts.at(-1) as Receipt, receipts };
}

const CALLED = ['ringing', 'answered', 'human'];

test('a person who presses a key takes its branch, and the record has what was said there', async () => {
  const { types, end, receipts } = await follow(call('80'));
  expect(types).toEqual([...CALLED, 'digits', 'completed']);
  expect(receipts[3]?.data).toEqual({ gather: 'menu', digits: '1', branch: '1' });
  expect(end.data).toEqual({
    answeredBy: 'human',
    outcome: 'human',
    reason: 'finished',
    durationMs: expect.any(Number),
    answeredAfterMs: expect.any(Number),
    digits: '1',
    branch: [{ gather: 'menu', on: '1' }],
    said: [{ verb: 'Gather' }, { verb: 'Say', text: 'More of it.' }],
  });
});

test('a person who presses the opt-out key in the middle is told so, and not asked again', async () => {
  const { types, end, receipts } = await follow(call('85'));
  expect(types).toEqual([...CALLED, 'digits', 'completed']);
  expect(receipts[3]?.data).toEqual({ gather: 'menu', digits: '9', branch: '9', optedOut: true });
  expect(end.data).toMatchObject({ outcome: 'opted_out', reason: 'opted_out', optedOut: true });
  expect(end.data?.said).toEqual([{ verb: 'Gather' }, { verb: 'Say', id: 'bye' }]);
});

test('a key that means nothing is asked for again, and the call goes on behind the branches', async () => {
  const { types, end } = await follow(call('86'));
  expect(types).toEqual([...CALLED, 'digits', 'digits', 'completed']);
  expect(end.data).toMatchObject({ outcome: 'human', reason: 'finished', digits: '00' });
});

test('a person may hang up in the middle, and one who presses nothing hears the end', async () => {
  const { end } = await follow(call('87', { id: 'a', xml: PLAIN }));
  expect(end).toMatchObject({ type: 'completed', data: { outcome: 'human', reason: 'callee_hung_up' } });
  const listener = await follow(call('90', { id: 'b', xml: PLAIN }));
  expect(listener.types).toEqual([...CALLED, 'completed']);
  const data = listener.end.data as { durationMs: number; said: unknown };
  expect(data.said).toEqual([{ verb: 'Say', text: 'Your order is ready to be fetched.' }]);
  expect(data.durationMs).toBeGreaterThan((end.data as { durationMs: number }).durationMs);
});

describe('a machine', () => {
  test('is spoken to, hung up on, or left a message, as is asked for', async () => {
    const spoken = await follow(call('81', { xml: PLAIN }));
    expect(spoken.types).toEqual(['ringing', 'answered', 'machine', 'completed']);
    expect(spoken.end.data).toMatchObject({
      answeredBy: 'machine_end_beep',
      outcome: 'machine',
      reason: 'finished',
    });
    const left = await follow(call('81', { id: 'l', xml: PLAIN, voice: { machine: 'leave_message' } }));
    expect(left.end.data).toMatchObject({ answeredBy: 'machine_end_beep', outcome: 'voicemail_left' });
    const hungUp = await follow(call('98', { id: 'h', xml: PLAIN, voice: { machine: 'hangup' } }));
    expect(hungUp.end.data).toMatchObject({
      answeredBy: 'machine_start',
      outcome: 'machine',
      reason: 'machine',
    });
    expect(hungUp.end.data).not.toHaveProperty('said');
  });

  test('that goes on talking is left nothing, nor one whose message was cut off', async () => {
    const talking = await follow(call('98', { xml: PLAIN, voice: { machine: 'leave_message' } }));
    expect(talking.end.data).toMatchObject({ outcome: 'machine', reason: 'machine' });
    const voice = { machine: 'leave_message', maxSeconds: 5 } as const;
    const long = `<Response><Say>${'Many words. '.repeat(50)}</Say></Response>`;
    const cut = await follow(call('81', { id: 'c', xml: long, voice }));
    expect(cut.end.data).toMatchObject({ outcome: 'machine', reason: 'too_long', durationMs: 5_000 });
  });
});

test('a telephone rings for as long as is asked for, and reserved numbers answer in any case', async () => {
  const simulator = await open({ channel: 'voice' });
  const received = await collect(simulator);
  const crowd = Array.from({ length: 400 }, (_, n) =>
    call(`${n}`, { to: `+1212${1_000_000 + 7 * n}`, voice: { ringTimeoutSeconds: 5 } }),
  );
  await simulator.handOver([...crowd, call('80', { id: 'reserved', voice: { ringTimeoutSeconds: 5 } })]);
  const unanswered = () => received.filter(({ code }) => code === 'ring_timeout').length;
  await until('most have rung out', () => unanswered() > 250);
  await until('the reserved one is over', () =>
    received.some(({ id, type }) => id === 'reserved' && type === 'completed'),
  );
});

test('a document that is none after its values were filled in fails the call', async () => {
  const { end } = await follow(call('90', { xml: '<Response><Pause length="many"/></Response>' }));
  expect(end).toMatchObject({ type: 'failed', code: 'invalid_document' });
});

test('a recording is told of, with its reference', async () => {
  const xml = '<Response><Say>Speak.</Say><Record maxLength="20"/></Response>';
  const { types, end } = await follow(call('90', { xml }));
  expect(types).toEqual([...CALLED, 'recording', 'completed']);
  expect(end.data).toMatchObject({ recording: 'sim-recording-msg_90', reason: 'finished' });
});

test('the receipts of a call are the same after a restart, when its document is not there any more', async () => {
  const message = call('80');
  const first = await open({ channel: 'voice' });
  const before: Receipt[] = [];
  await first.start(async (receipts) => {
    before.push(...receipts);
    throw new Error('not taken');
  });
  await first.handOver([message]);
  await until('something was offered', () => before.length > 0);
  await first.close();
  const again = await collect(await open({ channel: 'voice' }));
  await until('the end of the call', () => again.some(({ type }) => type === 'completed'));
  expect(again.map(({ type }) => type)).toEqual([...CALLED, 'digits', 'completed']);
  expect(again[0]).toEqual(before[0]);
  expect(readFileSync(recordFile(directory(), 'voice'), 'utf8')).not.toContain('Press 1');
});

test('speech takes as long as the engine says', async () => {
  const length = async (ms: number) => {
    const simulator = await open({ channel: 'voice', speechMs: async () => ms });
    const received = await collect(simulator);
    await simulator.handOver([call('90', { id: `m${ms}`, xml: PLAIN })]);
    const end = await until('the end', () =>
      received.find(({ id, type }) => id === `m${ms}` && type === 'completed'),
    );
    const { durationMs, answeredAfterMs } = end.data as { durationMs: number; answeredAfterMs: number };
    expect(answeredAfterMs).toBe(2_600);
    return durationMs;
  };
  // Beyond the greeting, which is at least 1.4 s and at most 2.6 s.
  expect(await length(60_000)).toBeGreaterThan(61_000);
  expect(await length(1_000)).toBeLessThan(4_000);
});
