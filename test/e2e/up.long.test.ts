import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import {
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';
import { until } from '../support/until';

const STOP_LIMIT_MS = 10_000;

describe('fanfare up', () => {
  const places: Place[] = [];
  const running: FanfareProcess[] = [];

  async function place(env: Record<string, string> = {}): Promise<Place> {
    const made = await makePlace({ TEMPORAL_ADDRESS: '', ...env });
    places.push(made);
    return made;
  }
  function start(at: Place, args?: string[]): FanfareProcess {
    const fanfare = startFanfare(at, args);
    running.push(fanfare);
    return fanfare;
  }

  afterEach(async () => {
    for (const fanfare of running.splice(0)) await fanfare.stop();
    for (const made of places.splice(0)) await made.remove();
  });

  /** It says why and what to do in two lines, ends with 1 within a few seconds, and leaves nothing running. */
  async function expectRefusal(fanfare: FanfareProcess, at: Place, why: RegExp): Promise<void> {
    expect(await fanfare.exited).toBe(1);
    const lines = fanfare.output().trim().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(why);
    const pidFile = join(at.dataDir, 'temporal.pid');
    const left = existsSync(pidFile) ? readFileSync(pidFile, 'utf8') : '';
    expect(left).toBe('');
  }

  test('writes credentials that only their owner may read, and stops in order on SIGTERM', async () => {
    const at = await place();
    const fanfare = start(at);
    await untilReady(fanfare);
    expect(statSync(join(at.dataDir, 'credentials.json')).mode & 0o777).toBe(0o600);
    const { client, apiKey, user } = readCredentials(at);
    for (const secret of [client.secret, apiKey, user.password])
      expect(fanfare.output()).not.toContain(secret);
    const askedAt = Date.now();
    expect(await fanfare.stop()).toBe(0);
    expect(Date.now() - askedAt).toBeLessThan(STOP_LIMIT_MS);
    expect(readdirSync(at.dataDir).filter((name) => name.startsWith('lock'))).toEqual([]);

    const again = start(at);
    const startedAt = Date.now();
    await untilReady(again);
    expect(Date.now() - startedAt).toBeLessThan(60_000);
    expect(readCredentials(at).client).toEqual(client);
  }, 120_000);

  test('says what to do where its database has workspaces and credentials.json is gone', async () => {
    const at = await place();
    const first = start(at);
    await untilReady(first);
    expect(first.output()).not.toContain('campaigns wait');
    await first.stop();
    rmSync(join(at.dataDir, 'credentials.json'));
    const again = start(at);
    await untilReady(again);
    expect(again.output()).toMatch(/credentials\.json is not there, and campaigns wait.*FANFARE_CLIENT_ID/);
  }, 120_000);

  test('says that its port is in use', async () => {
    const at = await place();
    const taken: Server = createServer();
    await new Promise<void>((done) => taken.listen(Number(at.env.FANFARE_HTTP_PORT), '127.0.0.1', done));
    try {
      await expectRefusal(start(at), at, /Port \d+ on 127\.0\.0\.1 is in use/);
    } finally {
      taken.close();
    }
  }, 150_000);

  test('says that its data directory belongs to a running process', async () => {
    const at = await place({ DATABASE_URL: '' });
    const first = start(at);
    await untilReady(first);
    const second = start({ ...at, env: { ...at.env, FANFARE_HTTP_PORT: '0' } });
    expect(await second.exited).toBe(1);
    expect(second.output()).toMatch(/in use by process \d+/);
  }, 120_000);

  test('lets one of two that start together have the data directory, also beside a database elsewhere', async () => {
    const at = await place();
    const both = [start(at), start({ ...at, env: { ...at.env, FANFARE_HTTP_PORT: '0' } })];
    const refused = await Promise.race(
      both.map(async (one) => {
        expect(await one.exited).toBe(1);
        return one;
      }),
    );
    expect(refused.output()).toMatch(/in use by process \d+/);
    const [other] = both.filter((one) => one !== refused);
    await until('the other is ready', () => /Fanfare is ready/.test(other?.output() ?? ''));
  }, 120_000);

  test('says that its database is damaged', async () => {
    const at = await place({ DATABASE_URL: '' });
    mkdirSync(join(at.dataDir, 'postgres'));
    writeFileSync(join(at.dataDir, 'postgres', 'PG_VERSION'), 'nonsense');
    await expectRefusal(start(at), at, /is not a PostgreSQL database: its PG_VERSION holds "nonsense"/);
  }, 150_000);

  test('names every wrong variable', async () => {
    const at = await place({ FANFARE_HTTP_PORT: 'eighty', LOG_LEVEL: 'loud' });
    await expectRefusal(start(at), at, /FANFARE_HTTP_PORT.*LOG_LEVEL/);
  }, 150_000);

  test('refuses one role of several with a Temporal server of its own', async () => {
    const at = await place({ DATABASE_URL: 'postgres://somebody@127.0.0.1:1/fanfare' });
    await expectRefusal(start(at, ['worker']), at, /TEMPORAL_ADDRESS is not set/);
  }, 150_000);

  test('ends with 2 when it is called wrongly', async () => {
    const at = await place();
    expect(await start(at, ['upp']).exited).toBe(2);
  }, 150_000);

  test('runs no demo where a message could reach a person', async () => {
    const at = await place({ FANFARE_SMS_PROVIDER: 'http', FANFARE_SMS_HTTP_URL: 'http://127.0.0.1:9/' });
    const fanfare = start(at, ['up', '--demo']);
    await untilReady(fanfare);
    await until('the reason', () => /No demo: sms would be sent for real/.test(fanfare.output()));
    expect(existsSync(join(at.dataDir, 'demo.json'))).toBe(false);
  }, 150_000);
});
