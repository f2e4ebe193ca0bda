import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HandOver, Receipt } from '../../../src/providers/provider';
import { readHandOvers, readRecord, recordFile } from '../../../src/providers/simulator/simulator-record';
import { until } from '../../support/until';
import { batchOf } from './hand-over-child';
import { simulators } from './simulators';

/** From source: the build holds the product, not the tests. */
const CHILD = ['--require', require.resolve('tsx/cjs'), join(__dirname, 'hand-over-child.ts')];

const { directory, opened, open } = simulators();

function message(id: string): HandOver {
  return { id, uid: id, channel: 'sms', to: '+12125550190', from: '12345', text: 'Hello', attempt: 1 };
}

describe('a line that a kill cut short', () => {
  const torn = '{"id":"msg_torn","at":"2026-01-01T00:00:00.000Z","uid":"ms';

  test('is removed when the record is opened again', async () => {
    await (await open()).handOver([message('msg_a')]);
    await opened()[0]?.close();
    appendFileSync(recordFile(directory(), 'sms'), torn);
    const simulator = await open();
    await simulator.handOver([message('msg_torn'), message('msg_b')]);
    expect(readFileSync(recordFile(directory(), 'sms'), 'utf8').trimEnd().split('\n')).toHaveLength(3);
    expect(readRecord(directory(), 'sms')).toMatchObject({ handOvers: 3, duplicates: [], damaged: 0 });
  });

  test('does not spoil the next line when its writer died beside a living process', async () => {
    const simulator = await open();
    await simulator.handOver([message('msg_a')]);
    appendFileSync(recordFile(directory(), 'sms'), torn);
    await simulator.handOver([message('msg_b')]);
    await simulator.handOver([message('msg_c')]);
    expect([...readHandOvers(directory(), 'sms')].map(({ id }) => id)).toEqual(['msg_a', 'msg_b', 'msg_c']);
    expect(readRecord(directory(), 'sms').damaged).toBe(1);
  });
});

test('two processes on one record know what the other has taken', async () => {
  const [one, two] = [await open(), await open()];
  await one.handOver([message('msg_a')]);
  await two.handOver([message('msg_a'), message('msg_b')]);
  await one.handOver([message('msg_b'), message('msg_c')]);
  expect(readRecord(directory(), 'sms')).toMatchObject({ handOvers: 3, duplicates: [] });
});

test('only receipts not yet taken are told after a restart, with the same content', async () => {
  const first = await open();
  const taken: Receipt[] = [];
  const refused: Receipt[] = [];
  await first.start(async (receipts) => {
    if (receipts.some(({ id }) => id === 'msg_b')) {
      refused.push(...receipts);
      throw new Error('the database is away');
    }
    taken.push(...receipts);
  });
  await first.handOver([message('msg_a')]);
  await until('the first receipt', () => taken.length === 1);
  await first.handOver([message('msg_b')]);
  await until('the second receipt', () => refused.length > 0);
  await first.close();

  const received: Receipt[] = [];
  await (await open()).start(async (receipts) => void received.push(...receipts));
  await until('the receipt once more', () => received.length > 0);
  expect(received).toEqual(refused.slice(0, 1));
});

describe('kill -9 in the middle of hand-overs', () => {
  /** Answers the last batch that was answered before the kill. */
  async function runUntilKilled(firstBatch: number, batches: number): Promise<number> {
    const child: ChildProcess = spawn(process.execPath, [...CHILD, directory(), String(firstBatch)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    await until('enough batches', () => {
      if (child.exitCode !== null) throw new Error('the child has ended by itself');
      return output.split('\n').length > batches;
    });
    child.kill('SIGKILL');
    await once(child, 'close');
    return Number(output.trimEnd().split('\n').at(-1));
  }

  test('loses no answered message, takes none twice, and still tells every receipt', async () => {
    let answered = -1;
    for (const batches of [3, 20, 8]) answered = await runUntilKilled(answered + 1, batches);
    // What a dispatcher does after a crash: the batch whose answer it never had, once more.
    const simulator = await open({ latencyMs: 2 });
    const inDoubt = batchOf(answered + 1);
    expect((await simulator.handOver(inDoubt)).every(({ kind }) => kind === 'accepted')).toBe(true);
    const expected = (answered + 2) * inDoubt.length;
    expect(readRecord(directory(), 'sms')).toMatchObject({
      handOvers: expected,
      distinct: expected,
      duplicates: [],
      damaged: 0,
    });
    const owed = expected - readRecord(directory(), 'sms').receiptsTaken;
    let received = 0;
    await simulator.start(async (receipts) => {
      received += receipts.length;
    });
    await until('every receipt', () => received >= owed);
    await simulator.close();
    expect(readRecord(directory(), 'sms').receiptsTaken).toBe(expected);
  });

  test('would be seen in the record if a carrier without idempotency were asked again', async () => {
    const answered = await runUntilKilled(0, 3);
    const simulator = await open({ idempotent: false });
    await simulator.handOver(batchOf(answered));
    expect(readRecord(directory(), 'sms').duplicates).toHaveLength(batchOf(0).length);
  });
});
