/**
 * Proves that an installation comes back from a dump of its database and an empty Temporal: a dump taken while a campaign
 * sends, calls sleep, a send is planned and a campaign recurs. No recipient who was sent to before the dump is sent to again.
 */

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { SMTPServer } from 'smtp-server';
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
import { freshNamespace } from '../support/namespaces';
import { answers, makeCluster } from '../support/postgres-server';
import { ROOT } from '../support/root';
import { runTied, type TiedProcess } from '../support/run-tied';
import { until } from '../support/until';
import { createVoiceCampaign } from '../support/voice-campaign';

const LIMIT_MS = 240_000;
const MAILS = 900;
const PER_SECOND = 60;
/** How long the relay thinks about a mail, so that some are always in flight. */
const ANSWER_MS = 400;
/** The simulator's numbers that are busy at the first call and answer the second. */
const BUSY_ONCE = ['202', '212', '213', '305', '312', '415', '617', '702'].map((area) => `+1${area}5550199`);
const REDIAL_SECONDS = 45;

const run = promisify(execFile);

describe('a dump taken while everything goes on', () => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-dump-'));
  const dump = join(directory, 'fanfare.dump');
  const running: FanfareProcess[] = [];
  const taken: { to: string; at: number }[] = [];
  let relay: SMTPServer;
  let server: TiedProcess;
  let serverUrl: string;
  let bin: string;
  let place: Place;
  let api: ApiClient | undefined;

  beforeAll(async () => {
    // The programs that dump have to be as new as the server, so both are the system's.
    const [major = ''] = readdirSync('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a));
    bin = join('/usr/lib/postgresql', major, 'bin');
    const before = process.env.FANFARE_POSTGRES_BIN;
    process.env.FANFARE_POSTGRES_BIN = bin;
    const cluster = await makeCluster();
    if (before === undefined) delete process.env.FANFARE_POSTGRES_BIN;
    else process.env.FANFARE_POSTGRES_BIN = before;
    server = runTied(cluster.command, cluster.args, { ...cluster.options, stopSignal: 'SIGINT' });
    await server.untilReady(() => answers(cluster.url));
    serverUrl = cluster.url;
    relay = new SMTPServer({
      ...{ logger: false, disabledCommands: ['AUTH', 'STARTTLS'], disableReverseLookup: true },
      onData(stream, { envelope }, callback) {
        stream.resume();
        stream.on('end', () => {
          for (const { address } of envelope.rcptTo) taken.push({ to: address, at: Date.now() });
          setTimeout(() => callback(null), ANSWER_MS);
        });
      },
    });
    relay.on('error', () => undefined);
    await new Promise<void>((done) => void relay.listen(0, '127.0.0.1', () => done()));
    const { port } = relay.server.address() as { port: number };
    place = await makePlace({
      DATABASE_URL: await newDatabase('before'),
      FANFARE_EMAIL_PROVIDER: 'smtp',
      FANFARE_INSECURE_LINKS: 'true',
      FANFARE_SMTP_URL: `smtp://127.0.0.1:${port}?tls=none`,
    });
  }, LIMIT_MS);

  afterAll(async () => {
    await api?.close();
    await Promise.all(running.map((one) => one.stop()));
    await place?.remove();
    relay?.close();
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  }, 60_000);

  async function query<Row>(url: string, statement: string): Promise<Row[]> {
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query(statement);
    await client.end();
    return rows as Row[];
  }

  async function newDatabase(name: string): Promise<string> {
    await query(serverUrl, `create database ${name}`);
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    return url.href;
  }

  async function start(at: Place): Promise<{ fanfare: FanfareProcess; client: ApiClient }> {
    const fanfare = startFanfare(at);
    running.push(fanfare);
    await untilReady(fanfare);
    await api?.close();
    api = new ApiClient(fanfare.baseUrl, readCredentials(at));
    return { fanfare, client: api };
  }

  const script = (name: string, databaseUrl: string, ...args: string[]) =>
    run(process.execPath, [join(ROOT, 'scripts', `${name}.mjs`), ...args], {
      env: { ...process.env, DATABASE_URL: databaseUrl, FANFARE_POSTGRES_BIN: bin },
    });

  async function emailCampaign(client: ApiClient): Promise<string> {
    const { template } = await client.expect<{ template: { id: string } }>('POST', '/api/template/', {
      ...{ templateName: 'mail', channel: 'email', subject: 'Hello', body: '<p>Dear {{NAME}}</p>' },
    });
    return createSmsCampaign(client, await createList(client, MAILS, 'mail'), template.id, {
      channel: ['email'],
      settings: { email: { fromEmail: 'news@example.org', templateId: template.id, version: 1 } },
      delivery: { ratePerSecond: PER_SECOND },
    });
  }

  const runsOf = async (client: ApiClient, id: string) =>
    (await client.expect<{ data: { id: string }[] }>('GET', `/api/campaign/${id}/runs`)).data;

  test(
    'is restored with an empty Temporal, and everything goes on from it',
    async () => {
      const { fanfare, client } = await start(place);
      const calls = await createVoiceCampaign(
        client,
        BUSY_ONCE.map((phone) => ({ phone })),
        { voice: { retry: { busy: { maxAttempts: 2, delaysSeconds: [REDIAL_SECONDS] } } } },
      );
      const sms = await createSmsTemplate(client);
      const recurring = await createSmsCampaign(client, await createList(client, 3, 'again'), sms, {
        schedule: { cron: '* * * * *', timezone: 'UTC' },
      });
      const { data: planned } = await client.expect<{ data: { id: string } }>('POST', '/api/send', {
        ...{ channel: 'sms', uid: 'planned-1', to: '+12125550190', from: '12345', params: { NAME: 'Ada' } },
        ...{ 'template-id': sms, sendAt: new Date(Date.now() + 60_000).toISOString() },
      });
      await until(
        'every call sleeps',
        async () => (await campaignDetail(client, calls)).counts.voice?.waiting === BUSY_ONCE.length,
        LIMIT_MS,
      );
      const mails = await emailCampaign(client);
      await until('a part of the mails has gone', () => taken.length > MAILS / 5, LIMIT_MS, 50);

      const cut = Date.now();
      const sentBefore = new Set(taken.map(({ to }) => to));
      await script('backup', place.env.DATABASE_URL as string, dump);
      // The old installation sends on after its dump, as it does until its machine is lost.
      await until('mails go on', () => taken.length > sentBefore.size, LIMIT_MS, 50);
      await fanfare.killGroup();
      const occurrences = (
        await query<{ n: number }>(place.env.DATABASE_URL as string, 'select count(*)::int as n from runs')
      )[0]?.n;
      expect(occurrences).toBeGreaterThanOrEqual(2);

      await expect(script('restore', place.env.DATABASE_URL as string, dump)).rejects.toThrow(/not empty/);
      const restored = await newDatabase('after');
      await script('restore', restored, dump);
      const { address, namespace } = await freshNamespace();
      const env = {
        ...place.env,
        DATABASE_URL: restored,
        TEMPORAL_ADDRESS: address,
        TEMPORAL_NAMESPACE: namespace,
      };
      const { client: back } = await start({ ...place, env });
      const runsBefore = (await runsOf(back, recurring)).length;

      // The relay reports nothing, so that mails end as sent.
      const total = async () => (await campaignDetail(back, mails)).counts.email ?? {};
      await until(
        'no mail is left',
        async () => {
          const { pending, sending, accepted, waiting } = await total();
          return pending === 0 && sending === 0 && accepted === 0 && waiting === 0;
        },
        LIMIT_MS,
      );
      const { sent = 0, unknown = 0, delivered = 0 } = await total();
      expect(sent + delivered + unknown).toBe(MAILS);
      expect(unknown).toBeGreaterThan(0);
      const times = new Map<string, number>();
      for (const { to } of taken) times.set(to, (times.get(to) ?? 0) + 1);
      // What is unknown was on its way at the dump or at the kill; some of it never reached the relay.
      expect(times.size).toBeGreaterThanOrEqual(MAILS - unknown);
      expect([...sentBefore].filter((to) => times.get(to) !== 1)).toEqual([]);
      // Only what went out between the dump and the end of the old process is not in the dump.
      const again = taken.filter(
        ({ to }, i) => times.get(to) !== 1 && taken.findIndex((one) => one.to === to) === i,
      );
      expect(again.filter(({ at }) => at < cut)).toEqual([]);

      const { counts } = await untilPhase(back, calls, ['completed'], LIMIT_MS);
      expect(counts.voice).toMatchObject({
        total: BUSY_ONCE.length,
        delivered: BUSY_ONCE.length,
        unknown: 0,
      });
      const called = await query<{ calls: number }>(
        restored,
        'select count(*)::int as calls from calls group by run_id, seq',
      );
      expect(called.map((row) => row.calls)).toEqual(BUSY_ONCE.map(() => 2));
      await until(
        'the planned send is sent',
        async () =>
          (
            await back.expect<{ data: { finishedAt: string | null; outcome: string } }>(
              'GET',
              `/api/send/${planned.id}`,
            )
          ).data.finishedAt !== null,
        LIMIT_MS,
      );
      await until(
        'the campaign recurs',
        async () => (await runsOf(back, recurring)).length > runsBefore,
        LIMIT_MS,
      );
    },
    2 * LIMIT_MS,
  );

  test('is restored with every workspace stopped, if so asked', async () => {
    const stopped = await newDatabase('stopped');
    await script('restore', stopped, dump, '--stop');
    expect(
      await query(
        stopped,
        'select reason, ended_at from workspace_stops where workspace_id in (select id from workspaces)',
      ),
    ).toEqual([{ reason: 'restored from a backup', ended_at: null }]);
  });
});
