import { sql } from 'kysely';
import { listenForMetrics } from '../../src/app/metrics-module';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { recipientsByPhase, runPhases } from '../../src/campaigns/runs/run-phases';
import { SCOPES } from '../../src/domain/access';
import { metricsRoutes } from '../../src/http/metrics';
import { workspaceSizes } from '../../src/messaging/events/message-minutes';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { outboxDepth } from '../../src/messaging/outbox/outbox-overview';
import { createMetrics, type Metrics } from '../../src/metrics/metrics';
import type { Storage } from '../../src/storage/storage';
import { listen } from '../http/service';
import { createOutboxRig, type OutboxRig } from '../messaging/outbox-rig';
import { ScriptedProvider } from '../messaging/scripted-provider';
import { plantRun } from '../support/audience';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

const metricsOf = (storage: Storage, errors: unknown[] = []): Metrics =>
  createMetrics({
    outbox: () => outboxDepth(storage.tables<MessagingTables>()),
    runs: () => runPhases(storage.tables<CampaignTables>()),
    recipients: () => recipientsByPhase(storage.tables<CampaignTables>()),
    workspaces: () => workspaceSizes(storage.tables<MessagingTables>()),
    connections: storage.connections,
    onError: (error) => errors.push(error),
  });

/** The value of a series, as it is written. */
const numberOf = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
};

describeWithDatabase('metrics', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  beforeEach(async () => {
    storage = await database.open();
    rig = await createOutboxRig(storage);
  });
  afterEach(() => rig.stop());

  test('messages are counted by their states, and no label identifies a recipient', async () => {
    const metrics = metricsOf(storage);
    const sms = new ScriptedProvider('sms');
    sms.script = ({ uid, id }) =>
      uid === 'm-3'
        ? { kind: 'rejected', code: 'invalid_number', message: 'no' }
        : { kind: 'accepted', providerId: `p:${id}` };
    const { delivery } = await rig.process({ sms }, { observer: metrics.delivery });
    await sql`insert into workspaces (id, name) values (${rig.workspaceId}, 'a small one')`.execute(
      storage.tables(),
    );
    const uids = ['m-1', 'm-2', 'm-3'];
    await delivery.acceptMany(
      rig.workspaceId,
      uids.map((uid) => rig.sms(uid)),
    );
    // A repetition comes to no state.
    await delivery.accept(rig.workspaceId, rig.sms('m-1'));
    await until('all are handed over', async () =>
      Object.values(await rig.states()).every((one) => one !== 'accepted'),
    );
    await sms.report({ providerId: `p:${sms.taken[0]?.id}`, type: 'delivered' });
    await sms.report({ providerId: `p:${sms.taken[0]?.id}`, type: 'delivered' });

    const text = await metrics.read();
    const messages = ['accepted', 'sent', 'rejected', 'delivered'].map((state) =>
      numberOf(text, `fanfare_messages_total{channel="sms",state="${state}"}`),
    );
    expect(messages).toEqual([3, 2, 1, 1]);
    expect(numberOf(text, 'fanfare_receipts_total{provider="scripted"}')).toBe(2);
    const given = 'fanfare_handover_batch_messages_sum{channel="sms",provider="scripted"}';
    expect(numberOf(text, given)).toBe(3);
    expect(numberOf(text, 'fanfare_outbox_messages{channel="sms"}')).toBe(0);
    const answers = ['accepted', 'rejected'].map((answer) =>
      numberOf(text, `fanfare_account_answers_total{account="default-sms",channel="sms",answer="${answer}"}`),
    );
    expect(answers).toEqual([2, 1]);
    expect(
      numberOf(text, 'fanfare_account_handover_seconds_count{account="default-sms",channel="sms"}'),
    ).toBeGreaterThan(0);
    expect(numberOf(text, 'fanfare_workspaces{size="small"}')).toBe(1);
    expect(numberOf(text, 'fanfare_workspace_messages{size="small",outcome="sent"}')).toBe(2);
    expect(numberOf(text, 'fanfare_workspace_messages{size="large",outcome="sent"}')).toBe(0);
    for (const secret of [rig.workspaceId, 'm-1', sms.taken[0]?.to as string])
      expect(text).not.toContain(secret);
  });

  test('what waits in the outbox and the phases of runs are looked up when somebody reads', async () => {
    const sms = new ScriptedProvider('sms');
    sms.script = sms.hang;
    const { delivery } = await rig.process({ sms });
    await delivery.accept(rig.workspaceId, rig.sms('w-1'));
    await plantRun(storage.tables<CampaignTables>(), { contacts: 1 });
    await sql`insert into shards (run_id, channel, shard, from_seq, to_seq, next_seq) select id, 'sms', 0, 0, 7, 3 from runs`.execute(
      storage.tables(),
    );
    await sql`insert into shard_counts (run_id, channel, shard, state, count) select id, 'sms', 0, 'sent', 2 from runs`.execute(
      storage.tables(),
    );
    await sql`insert into workspaces (id, name) values (${rig.workspaceId}, 'one that sent nothing')`.execute(
      storage.tables(),
    );
    const text = await metricsOf(storage).read();
    expect(numberOf(text, 'fanfare_outbox_messages{channel="sms"}')).toBe(1);
    expect(numberOf(text, 'fanfare_outbox_oldest_seconds{channel="sms"}')).toBeGreaterThanOrEqual(0);
    expect(numberOf(text, 'fanfare_campaign_runs{phase="planning"}')).toBeGreaterThanOrEqual(1);
    expect(numberOf(text, 'fanfare_database_connections{state="open"}')).toBeGreaterThan(0);
    expect(numberOf(text, 'fanfare_campaign_recipients{phase="planning",state="pending"}')).toBe(5);
    expect(numberOf(text, 'fanfare_campaign_recipients{phase="planning",state="sent"}')).toBe(2);
    expect(numberOf(text, 'fanfare_workspace_outbox_oldest_seconds{size="idle"}')).toBeGreaterThanOrEqual(0);
  });
});

describe('reading metrics', () => {
  const away = (errors: unknown[]) =>
    createMetrics({
      outbox: () => Promise.reject(new Error('no database')),
      runs: () => Promise.reject(new Error('no database')),
      connections: () => undefined,
      onError: (error) => errors.push(error),
    });

  test('accounts beyond the hundredth share a label', async () => {
    const metrics = away([]);
    for (let i = 0; i < 130; i++) metrics.delivery.answered?.('sms', `acc_${i}`, new Map([['accepted', 1]]));
    const text = await metrics.read();
    expect(text.match(/^fanfare_account_answers_total\{/gm)).toHaveLength(101);
    expect(
      numberOf(text, 'fanfare_account_answers_total{account="other",channel="sms",answer="accepted"}'),
    ).toBe(30);
  });

  test('a database that is away leaves out what it would tell, and is asked once in a while', async () => {
    const errors: unknown[] = [];
    const metrics = away(errors);
    for (let i = 0; i < 3; i++) {
      const text = await metrics.read();
      expect(text).toContain('nodejs_eventloop_lag_seconds');
      expect(text).not.toMatch(/^fanfare_outbox_messages\{/m);
    }
    expect(errors).toHaveLength(2);
  });

  test('a database that hangs leaves out what it would tell, and is asked nothing more until it answers', async () => {
    let asked = 0;
    let say: (answer: never[]) => void = () => undefined;
    const metrics = createMetrics({
      outbox: () => {
        asked += 1;
        return new Promise((done) => {
          say = done;
        });
      },
      runs: async () => new Map([['running', 1]]),
      connections: () => undefined,
      onError: () => undefined,
      ...{ queryMs: 1, answerMs: 50 },
    });
    for (let i = 0; i < 3; i++) {
      const text = await metrics.read();
      expect(numberOf(text, 'fanfare_campaign_runs{phase="running"}')).toBe(1);
      expect(text).not.toContain('fanfare_outbox_messages{');
    }
    expect(asked).toBe(1);
    say([]);
    expect(await metrics.read()).toContain('fanfare_outbox_messages{channel="sms"} 0');
  });

  test('the API shows metrics to this machine and to a token, and to no caller behind a proxy without one', async () => {
    const metrics = away([]);
    const server = await listen({
      authenticator: {
        bySession: async () => ({ workspaceId: 'ws_1', role: 'admin', via: 'cookie' }),
        byAccessToken: async (token) =>
          token === 'good' ? { workspaceId: 'ws_1', scopes: SCOPES, via: 'bearer' } : undefined,
        byApiKey: async () => undefined,
      },
      routes: [metricsRoutes(metrics)],
      observe: metrics.requests,
    });
    const get = (headers: Record<string, string>) => server.call('GET', '/metrics', { headers });
    const proxied = { 'x-forwarded-for': '192.0.2.1' };
    const direct = await get({});
    expect([direct.status, direct.headers['content-type']]).toEqual([200, metrics.contentType]);
    expect((await get(proxied)).status).toBe(401);
    expect((await get({ ...proxied, cookie: 'session_token=x' })).status).toBe(401);
    expect((await get({ ...proxied, authorization: 'Bearer bad' })).status).toBe(401);
    expect((await get({ ...proxied, authorization: 'Bearer good' })).status).toBe(200);
    await server.call('GET', '/no/such/place');
    const counted = (await get({})).body as string;
    const count = (labels: string) => numberOf(counted, `fanfare_http_request_seconds_count{${labels}}`);
    expect(count('method="GET",route="/metrics",status="401"')).toBe(3);
    expect(count('method="GET",route="none",status="404"')).toBe(1);
    await server.app.close();
  });

  test('a port of their own serves nothing else, and says when it is taken', async () => {
    const listener = await listenForMetrics(away([]), { host: '127.0.0.1', port: 0 });
    const url = `http://127.0.0.1:${listener.port}`;
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('process_cpu_seconds_total');
    expect((await fetch(`${url}/healthz`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405);
    const second = listenForMetrics(away([]), { host: '127.0.0.1', port: listener.port });
    await expect(second).rejects.toThrow(/^Cannot listen for metrics on 127\.0\.0\.1:\d+: .*EADDRINUSE/);
    await listener.close();
  });
});
