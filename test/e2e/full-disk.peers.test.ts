import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readHandOvers, readRecord } from '../../src/providers/simulator/simulator-record';
import {
  ApiClient,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import {
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';
import { MAIN } from '../support/root';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk';
import { until } from '../support/until';

const CONTACTS = 20_000;
const ROOMY_MIB = 400;
/** A number at which the simulator delivers everything. */
const DELIVERED = '+12025550190';
const isSingle = ({ uid }: { uid: string }) => uid.startsWith('single-');

describe('on a disk of its own', () => {
  let place: Place;
  let disk: SmallDisk;
  let running: FanfareProcess | undefined;

  async function begin(mebibytes: number): Promise<void> {
    place = await makePlace({ DATABASE_URL: '', TEMPORAL_ADDRESS: '', FANFARE_SIMULATOR_LATENCY_MS: '100' });
    disk = await mountSmallDisk(place.dataDir, mebibytes);
  }

  function start(): FanfareProcess {
    running = startFanfare(place, ['up'], MAIN, disk.enter);
    return running;
  }

  async function end(): Promise<void> {
    await running?.stop();
    running = undefined;
    await disk?.remove();
    await place?.remove();
  }
  afterEach(end);

  // Too small for initdb, for the migrations, for the tables of Temporal, and for the files of ours.
  test.each([24, 40, 42, 44, 45, 46])(
    'a first start with %i MiB names the full disk, and the next one with more room works',
    async (mebibytes) => {
      await begin(mebibytes);
      const first = start();
      const code = await Promise.race([first.exited, untilReady(first).catch(() => first.exited)]);
      // A server of another version may need less.
      if (code !== undefined) {
        expect({ code, output: first.output() }).toEqual({
          code: 1,
          output: expect.stringMatching(/Make room on .*; what was committed is there\.\n$/),
        });
        // A watchdog's last second of sleep may still be there.
        await until('nothing runs any more', () => disk.processes().length === 0, 5_000);
      }
      await first.stop();
      disk.resize(ROOMY_MIB);
      await untilReady(start());
    },
    120_000,
  );

  test('a campaign and single messages wait while the disk is full, and go on by themselves', async () => {
    await begin(300);
    const fanfare = start();
    await untilReady(fanfare);
    const api = new ApiClient(fanfare.baseUrl, readCredentials({ ...place, dataDir: disk.seen }));
    const listId = await createList(api, CONTACTS);
    const templateId = await createSmsTemplate(api);
    const id = await createSmsCampaign(api, listId, templateId);
    const record = () => readRecord(join(disk.seen, 'simulator'), 'sms');
    await until('the campaign is being sent', () => record().handOvers > 0, 60_000, 20);
    // What the servers free, the next look takes.
    const filling = setInterval(() => disk.fill(), 20);
    let uids = 0;
    const accepted: string[] = [];
    const send = async () => {
      const uid = `single-${uids++}`;
      const message = { channel: 'sms', uid, from: '12345', to: DELIVERED };
      const body = { ...message, 'template-id': templateId, params: { NAME: 'x'.repeat(300) } };
      const answer = await api.call<{ code?: string }>('POST', '/send-msg', body);
      if (answer.status === 202) accepted.push(uid);
      else expect([answer.status, answer.body.code]).toEqual([503, 'dependency_down']);
      return answer.status;
    };
    await until('a message is refused', async () => (await send()) === 503, 60_000, 100);
    // Both servers die while neither can write the file of its process id.
    for (const file of [join('postgres-run', 'postgres.pid'), 'temporal.pid']) {
      process.kill(Number(readFileSync(join(disk.seen, file), 'utf8').split(' ')[0]), 'SIGKILL');
    }
    await until('the log says so', () => /no room for the PostgreSQL server/.test(fanfare.output()), 60_000);
    expect(await send()).toBe(503);
    const [command = '', ...args] = [...disk.enter, process.execPath, MAIN, 'doctor'];
    const doctor = spawnSync(command, args, { env: place.env, encoding: 'utf8' });
    expect(doctor.stdout).toMatch(/ 0 MiB are free on its disk\n.*Make room/);
    await delay(10_000);
    clearInterval(filling);
    await disk.empty();
    await until(
      'messages are accepted again',
      async () => (await send().catch(() => 0)) === 202,
      60_000,
      500,
    );
    await untilPhase(api, id, ['completed'], 180_000);

    const {
      total,
      rejected = 0,
      failed = 0,
      unknown = 0,
      ...rest
    } = (await campaignDetail(api, id)).counts.sms as Record<string, number>;
    expect([total, unknown]).toEqual([CONTACTS, 0]);
    const sum = Object.values(rest).reduce((all, count) => all + count, rejected + failed);
    expect(sum).toBe(CONTACTS);
    const { duplicates, duplicateUids } = record();
    expect({ duplicates, duplicateUids }).toEqual({ duplicates: [], duplicateUids: [] });
    const single = () => [...readHandOvers(join(disk.seen, 'simulator'), 'sms')].filter(isSingle);
    await until('what was accepted is handed over', () => {
      const handedOver = new Set(single().map(({ uid }) => uid));
      return accepted.every((uid) => handedOver.has(uid));
    });
    expect(record().distinct - single().length + rejected + failed).toBe(CONTACTS);
    await api.close();
  }, 400_000);
});
