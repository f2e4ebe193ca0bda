import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRecord } from '../../src/providers/simulator/simulator-record';
import { ApiClient, campaignDetail, untilPhase } from '../support/api-client';
import {
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';
import { until } from '../support/until';

/** The demo of `fanfare up --demo` outlives its process, and runs once for a data directory. */
describe('the demo', () => {
  let at: Place;
  const running: FanfareProcess[] = [];

  function start(place: Place, args: string[]): FanfareProcess {
    const fanfare = startFanfare(place, args);
    running.push(fanfare);
    return fanfare;
  }

  afterEach(async () => {
    for (const fanfare of running.splice(0)) await fanfare.stop();
    await at?.remove();
  });

  test('finishes a demo that was killed in the middle, and does not repeat it', async () => {
    at = await makePlace({ TEMPORAL_ADDRESS: '', FANFARE_SIMULATOR_LATENCY_MS: '5' });
    const killed = start(at, ['up', '--demo']);
    await untilReady(killed);
    const calls = () => readRecord(join(at.dataDir, 'simulator'), 'voice').handOvers;
    await until('twenty calls', () => calls() > 20, 60_000, 50);
    await killed.killGroup();

    const second = start(at, ['up', '--demo']);
    await untilReady(second);
    const { campaignId } = JSON.parse(readFileSync(join(at.dataDir, 'demo.json'), 'utf8')) as {
      campaignId: string;
    };
    const api = new ApiClient(second.baseUrl, readCredentials(at));
    await untilPhase(api, campaignId, ['completed'], 120_000).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${second.output().slice(-4_000)}`);
    });
    const { counts } = await campaignDetail(api, campaignId);
    for (const [channel, { total, ...states }] of Object.entries(counts)) {
      const { pending = 0, waiting = 0, sending = 0, accepted = 0 } = states;
      expect([channel, pending + waiting + sending + accepted]).toEqual([channel, 0]);
      expect([channel, Object.values(states).reduce((sum, count) => sum + count, 0)]).toEqual([
        channel,
        total,
      ]);
      const record = readRecord(join(at.dataDir, 'simulator'), channel as 'sms');
      expect([channel, record.duplicates, record.duplicateUids]).toEqual([channel, [], []]);
    }
    await until('the summary', () => /is completed/.test(second.output()), 30_000);
    expect(`${killed.output()}\n${second.output()}`).toMatch(
      /Stage 1 of 2 was sent; its gate is open: failed/,
    );
    await second.stop();

    const third = start(at, ['up', '--demo']);
    await untilReady(third);
    await until('no repetition', () => /has run already/.test(third.output()), 30_000);
    const list = await api.expect<{ pagination: { total: number } }>(
      'GET',
      '/api/campaign?page=1&limit=10&channel=sms',
    );
    expect(list.pagination.total).toBe(1);
    await api.close();
  }, 300_000);
});
