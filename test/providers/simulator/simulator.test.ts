import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Channel } from '../../../src/domain/channel';
import { LIMITS } from '../../../src/domain/limits';
import type { HandOver, HandOverResult, Provider, Receipt } from '../../../src/providers/provider';
import { openSimulator, type SimulatorOptions } from '../../../src/providers/simulator/simulator';
import { readHandOvers, readRecord, recordFile } from '../../../src/providers/simulator/simulator-record';
import { until } from '../../support/until';
import { providerConformance, type Rig } from '../conformance';
import { simulators } from './simulators';

const { directory, opened, open } = simulators();

function message(to: string, n: number | string = 1, rest: Partial<HandOver> = {}): HandOver {
  const channel = to.includes('@') ? 'email' : 'sms';
  return { id: `msg_${n}`, uid: `run.${n}.1`, channel, to, from: '12345', attempt: 1, ...rest };
}

async function collect(simulator: Provider): Promise<Receipt[]> {
  const received: Receipt[] = [];
  await simulator.start(async (receipts) => void received.push(...receipts));
  return received;
}

function createRig(options: Omit<SimulatorOptions, 'directory' | 'seed'>): () => Promise<Rig> {
  return async () => {
    const place = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
    return {
      open: () => openSimulator({ directory: place, seed: 1, ...options }),
      delivered: () => [...readHandOvers(place, options.channel)].map(({ id }) => id),
      close: async () => rmSync(place, { recursive: true, force: true }),
    };
  };
}

const PHONES = {
  accepted: '+12125550190',
  rejected: '+12125550191',
  transient: '+12125550192',
  throttled: '+12125550193',
  lost: '+12125550196',
};
const EMAILS = {
  accepted: 'delivered@example.com',
  rejected: 'ann+reject@example.com',
  transient: 'down@example.com',
  throttled: 'throttle@example.com',
  account: 'account@example.com',
  lost: 'lost@example.com',
};
providerConformance('the email simulator', createRig({ channel: 'email', latencyMs: 0 }), {
  channel: 'email',
  addresses: EMAILS,
});
providerConformance('the SMS simulator with latency', createRig({ channel: 'sms', latencyMs: 3 }), {
  channel: 'sms',
  addresses: PHONES,
});
providerConformance('the voice simulator', createRig({ channel: 'voice', latencyMs: 1 }), {
  channel: 'voice',
  addresses: PHONES,
});
providerConformance(
  'the simulator without idempotency',
  createRig({ channel: 'sms', latencyMs: 0, idempotent: false }),
  { channel: 'sms', addresses: PHONES },
);

describe('a reserved address decides what happens', () => {
  const TEXT: [string, string, string, string[]][] = [
    ['delivered', '90', 'accepted', ['delivered']],
    ['bounce', '94', 'accepted', ['undelivered']],
    ['expire', '95', 'accepted', ['expired']],
    ['lost', '96', 'unknown', ['delivered']],
    ['late', '98', 'accepted', ['delivered']],
  ];
  const called = (...rest: string[]) => ['ringing', 'answered', ...rest, 'completed'];
  const VOICE: [string, string[]][] = [
    ['80', called('human', 'digits')],
    ['81', called('machine')],
    ['82', ['ringing', 'rejected']],
    ['85', called('human', 'digits')],
    ['86', called('human', 'digits')],
    ['87', called('human')],
    ['90', called('human')],
    ['94', ['busy']],
    ['95', ['ringing', 'no_answer']],
    ['97', ['failed']],
    ['98', called('machine')],
  ];
  const CASES: [Channel, string, string, string[]][] = [
    ...TEXT.map(([name, , kind, types]): (typeof CASES)[number] => [
      'email',
      `ann+${name}@x.org`,
      kind,
      types,
    ]),
    ...TEXT.map(([, digits, kind, types]): (typeof CASES)[number] => [
      'sms',
      `+121255501${digits}`,
      kind,
      types,
    ]),
    ...VOICE.map(([digits, types]): (typeof CASES)[number] => [
      'voice',
      `+121255501${digits}`,
      'accepted',
      types,
    ]),
  ];

  test.each(CASES)('%s to %s is %s, then %j', async (channel, to, kind, types) => {
    const simulator = await open({ channel });
    const received = await collect(simulator);
    const [result] = await simulator.handOver([message(to, 1, { channel })]);
    expect(result?.kind).toBe(kind);
    await until('the last receipt', () => received.length === types.length);
    expect(received.map(({ type }) => type)).toEqual(types);
    const times = received.map(({ at }) => at as string);
    expect(times).toEqual([...times].sort());
  });

  test('a silent message never has a receipt', async () => {
    const simulator = await open();
    const received = await collect(simulator);
    await simulator.handOver([message('+12125550197', 'silent'), message('+12125550198', 'late')]);
    await until('the late receipt', () => received.length > 0);
    expect(received.map(({ id }) => id)).toEqual(['msg_late']);
  });

  test('a transient failure passes at the second attempt, a throttled message the second time', async () => {
    const simulator = await open();
    const first = await simulator.handOver([message('+12125550192', 'a'), message('+12125550193', 'b')]);
    expect(first.map(({ kind }) => kind)).toEqual(['transient', 'throttled']);
    const retried = [message('+12125550192', 'a', { attempt: 2 }), message('+12125550193', 'b')];
    const second = await simulator.handOver(retried);
    expect(second.map(({ kind }) => kind)).toEqual(['accepted', 'accepted']);
  });

  test('a busy line answers the redial', async () => {
    const simulator = await open({ channel: 'voice' });
    const received = await collect(simulator);
    await simulator.handOver([message('+12125550199', 'a', { channel: 'voice', uid: 'run.voice.0.1' })]);
    await until('busy', () => received.some(({ type }) => type === 'busy'));
    await simulator.handOver([message('+12125550199', 'b', { channel: 'voice', uid: 'run.voice.0.2' })]);
    await until('an answer', () => received.some(({ type }) => type === 'human'));
  });

  test('a completed call tells who answered, how long it took and what was pressed', async () => {
    const simulator = await open({ channel: 'voice' });
    const received = await collect(simulator);
    await simulator.handOver([
      message('+12125550180', 'a', { channel: 'voice' }),
      message('+12125550181', 'b', { channel: 'voice' }),
    ]);
    const ends = await until('both ends', () => {
      const completed = received.filter(({ type }) => type === 'completed');
      return completed.length === 2 && new Map(completed.map((receipt) => [receipt.id, receipt.data]));
    });
    const durationMs = expect.any(Number);
    expect(ends.get('msg_a')).toMatchObject({
      answeredBy: 'human',
      outcome: 'human',
      durationMs,
      digits: '1',
    });
    expect(ends.get('msg_b')).toMatchObject({
      answeredBy: 'machine_end_beep',
      outcome: 'machine',
      durationMs,
    });
  });
});

describe('any other address', () => {
  const crowd = (channel: Channel) =>
    Array.from({ length: 5_000 }, (_, n) => message(`+1212${1_000_000 + 7 * n}`, n, { channel }));

  async function outcomes(channel: Channel, seed: number): Promise<string[]> {
    const simulator = await open({
      channel,
      seed,
      directory: join(directory(), `${seed}-${opened().length}`),
    });
    const results: HandOverResult[] = [];
    const messages = crowd(channel);
    for (let i = 0; i < messages.length; i += LIMITS.handoverBatch) {
      results.push(...(await simulator.handOver(messages.slice(i, i + LIMITS.handoverBatch))));
    }
    return results.map(({ kind }) => kind);
  }

  test('has the same outcome under the same seed and another under another', async () => {
    const [one, same, other] = [await outcomes('sms', 7), await outcomes('sms', 7), await outcomes('sms', 8)];
    expect(same).toEqual(one);
    expect(other).not.toEqual(one);
  });

  test('is mostly delivered, and sometimes anything else', async () => {
    const kinds = await outcomes('sms', 1);
    for (const kind of ['rejected', 'transient', 'throttled']) {
      expect(kinds.filter((found) => found === kind).length).toBeGreaterThan(20);
    }
    const place = join(directory(), '1-0');
    const { byOutcome, handOvers } = readRecord(place, 'sms');
    expect((byOutcome.delivered ?? 0) / handOvers).toBeGreaterThan(0.9);
    expect(byOutcome.undelivered).toBeGreaterThan(50);
    expect(byOutcome.expired).toBeGreaterThan(20);
  });

  test('finds on the telephone people, machines, busy lines and nobody', async () => {
    await outcomes('voice', 1);
    const { byOutcome } = readRecord(join(directory(), '1-0'), 'voice');
    const found = Object.entries(byOutcome).filter(([, count]) => count > 30);
    expect(found.map(([outcome]) => outcome).sort()).toEqual([
      'busy',
      'declined',
      'failed',
      'human',
      'human_digits',
      'machine_end_beep',
      'machine_start',
      'no_answer',
    ]);
  });
});

describe('the record', () => {
  test('holds no address in clear', async () => {
    const simulator = await open();
    await simulator.handOver([message('+12125550190')]);
    const text = readFileSync(recordFile(directory(), 'sms'), 'utf8');
    expect(text).toContain('"to":"');
    expect(text).not.toContain('2125550190');
  });

  test('counts what reached a person, and not what was refused', async () => {
    const simulator = await open();
    await simulator.handOver([message('+12125550190', 'a'), message('+12125550191', 'b')]);
    expect(readRecord(directory(), 'sms')).toMatchObject({ handOvers: 1, distinct: 1, duplicates: [] });
  });

  test('shows a uid that was sent under two ids', async () => {
    const simulator = await open();
    await simulator.handOver([
      message('+12125550190', 'a'),
      message('+12125550190', 'b', { uid: 'run.a.1' }),
    ]);
    expect(readRecord(directory(), 'sms')).toMatchObject({ duplicates: [], duplicateUids: ['run.a.1'] });
  });

  test('of a channel that sent nothing is empty', () => {
    expect(readRecord(directory(), 'email')).toMatchObject({ handOvers: 0, firstAt: undefined });
  });
});

test('the answer to a batch takes the latency, and closing does not wait for it', async () => {
  const simulator = await open({ latencyMs: 60_000 });
  const answer = simulator.handOver([message('+12125550190')]);
  expect(readRecord(directory(), 'sms').handOvers).toBe(1);
  await simulator.close();
  expect((await answer)[0]?.kind).toBe('accepted');
});

test('messages beyond what memory may hold get their receipts from the record', async () => {
  const simulator = await open();
  const total = LIMITS.simulatorReceipts + 3 * LIMITS.handoverBatch;
  for (let n = 0; n < total; n += LIMITS.handoverBatch) {
    const batch = Array.from({ length: LIMITS.handoverBatch }, (_, i) => message('+12125550190', n + i));
    await simulator.handOver(batch);
  }
  const received = await collect(simulator);
  await until('every receipt', () => received.length >= total);
  await simulator.close();
  expect(received.length).toBe(total);
  expect(new Set(received.map(({ id }) => id)).size).toBe(total);
  expect(readRecord(directory(), 'sms').receiptsTaken).toBe(total);
});
