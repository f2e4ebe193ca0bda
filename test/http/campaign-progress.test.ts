/** Proves the event stream of a campaign’s progress. */

import { type Kysely, sql } from 'kysely';
import { request } from 'undici';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import { createCampaigns } from '../../src/campaigns/campaigns';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { createProgressFeed, type ProgressFeed } from '../../src/campaigns/progress-feed';
import { SCOPES } from '../../src/domain/access';
import { LIMITS } from '../../src/domain/limits';
import { campaignProgressRoutes } from '../../src/http/campaign-progress';
import { createLog } from '../../src/log';
import { plantRun } from '../support/audience';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
import { listen, type TestServer } from './service';

interface Event {
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests are about.
  data: any;
  at: number;
}

interface Watching {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  events: Event[];
  comments: number;
  ended: boolean;
  leave(): void;
}

describeWithDatabase('progress of a campaign as server-sent events', (database) => {
  let db: Kysely<CampaignTables>;
  let server: TestServer;
  let progress: ProgressFeed;
  let readings: number;
  let failing: boolean;
  const revoked = new Set<string>();
  const watchings: Watching[] = [];

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });
  beforeEach(async () => {
    readings = 0;
    failing = false;
    server = await start();
  });
  afterEach(async () => {
    for (const one of watchings.splice(0)) one.leave();
    await server.app.close();
  });

  async function start({ heartbeatMs = 60_000, tickMs = 50 } = {}): Promise<TestServer> {
    const campaigns = createCampaigns({
      db,
      templates: { find: async () => undefined },
      launcher: { launch: async () => undefined, controlChanged: async () => undefined },
      log: createLog('silent'),
    });
    const read: typeof campaigns.read = (...args) => {
      readings++;
      return failing ? Promise.reject(new Error('no database')) : campaigns.read(...args);
    };
    progress = createProgressFeed({ campaigns: { read }, log: createLog('silent'), tickMs });
    return listen({
      authenticator: {
        bySession: async () => undefined,
        byAccessToken: async (token) =>
          revoked.has(token)
            ? undefined
            : { workspaceId: token.split('.')[0] as string, scopes: SCOPES, via: 'bearer' },
        byApiKey: async () => undefined,
      },
      routes: [(scope) => campaignProgressRoutes(scope, { progress, heartbeatMs, recheckMs: 30 })],
    });
  }

  async function running(contacts = 3) {
    const planted = await plantRun(db, { contacts, workspaceId: 'ws_a' });
    await freezeAudience(db, {
      runId: planted.runId,
      workspaceId: 'ws_a',
      channel: planted.channel,
      contactListIds: [planted.listId],
      placeholders: [],
      campaignParams: {},
    });
    await sql`update runs set phase = 'running' where id = ${planted.runId}`.execute(db);
    return planted;
  }
  const setRun = (runId: string, change: { phase?: string; control?: string; finished_at?: Date }) =>
    db
      .updateTable('runs')
      .set(change as never)
      .where('id', '=', runId)
      .execute();

  async function watch(campaignId: string, { as = 'ws_a', seen = '' } = {}): Promise<Watching> {
    const leaving = new AbortController();
    const { statusCode, headers, body } = await request(`${server.url}/api/campaign/${campaignId}/events`, {
      headers: { authorization: `Bearer ${as}`, ...(seen ? { 'last-event-id': seen } : {}) },
      signal: leaving.signal,
    });
    const watching: Watching = {
      status: statusCode,
      headers,
      events: [],
      comments: 0,
      ended: false,
      leave: () => leaving.abort(),
    };
    watchings.push(watching);
    void read(body, watching).catch(() => undefined);
    return watching;
  }

  async function read(body: AsyncIterable<Buffer>, watching: Watching): Promise<void> {
    let text = '';
    for await (const chunk of body) {
      text += String(chunk);
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const [, id, data] = /^id: (\S+)\nevent: progress\ndata: (.*)$/.exec(text.slice(0, end)) ?? [];
        if (id && data) watching.events.push({ id, data: JSON.parse(data), at: Date.now() });
        if (text.startsWith(':')) watching.comments++;
        text = text.slice(end + 2);
      }
    }
    watching.ended = true;
  }
  /** A reader sees the end of its stream before the server has heard that it is over. */
  const nothingIsOpen = () =>
    until('nothing is open', () => progress.open().readers === 0 && progress.open().campaigns === 0);
  const phases = ({ events }: Watching) => [...new Set(events.map(({ data }) => data.phase))];

  test('sends phase and counts at once and while the campaign runs, and ends after the last event', async () => {
    const { campaignId, runId } = await running();
    const watching = await watch(campaignId);
    expect([watching.status, watching.headers['content-type'], watching.headers['cache-control']]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      'no-store',
    ]);
    await until('three events', () => watching.events.length >= 3);
    expect(watching.events[0]?.data).toMatchObject({
      id: campaignId,
      status: 'active',
      phase: 'running',
      counts: { sms: { total: 3, pending: 3, delivered: 0 } },
      finishedAt: null,
      reason: null,
    });
    await sql`update shards set next_seq = 2 where run_id = ${runId}`.execute(db);
    await until('new counts', () => watching.events.at(-1)?.data.counts.sms.accepted === 2);
    await setRun(runId, { phase: 'completed' });
    await until('the end', () => watching.ended);
    expect(phases(watching)).toEqual(['running', 'completed']);
    expect(watching.events.filter(({ data }) => data.phase === 'completed')).toHaveLength(1);
    await nothingIsOpen();
  });

  test('of a release in stages it tells how far it is, and when that changes', async () => {
    const { campaignId, runId } = await running();
    const release = { stages: [{ recipients: 1 }] };
    await sql`update campaigns set options = ${JSON.stringify({ release })}::jsonb where id = ${campaignId}`.execute(
      db,
    );
    const { events } = await watch(campaignId);
    const told = () => events.map(({ data }) => data.release);
    await until('the first event', async () => events.length > 0);
    expect(told()[0]).toEqual({ ...release, stage: 0, of: 2, next: null, judged: [] });
    await sql`
      insert into run_releases (run_id, workspace_id, stages, stage, contacts) values (${runId}, 'ws_a', 2, 1, 3)`.execute(
      db,
    );
    await until('the stage is told', async () => told().at(-1)?.stage === 1);
  });

  test('by default an event comes every second', async () => {
    await server.app.close();
    server = await start({ tickMs: LIMITS.progressTickMs });
    const watching = await watch((await running()).campaignId);
    await until('three events', () => watching.events.length >= 3);
    const times = watching.events.map(({ at }) => at);
    expect(Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? 0)))).toBeLessThanOrEqual(1_000);
  });

  test('a paused campaign sends only changes, and comments keep the connection open', async () => {
    await server.app.close();
    server = await start({ heartbeatMs: 10 });
    const { campaignId, runId } = await running();
    await setRun(runId, { control: 'pause' });
    const watching = await watch(campaignId);
    await until('some comments', () => watching.comments >= 10);
    const before = readings;
    await until('some ticks', () => readings > before + 2);
    expect(watching.events.map(({ data }) => data.phase)).toEqual(['paused']);
    await setRun(runId, { control: 'run' });
    await until('it is told', () => watching.events.length >= 2);
    expect(phases(watching)).toEqual(['paused', 'running']);
  });

  test('a reader who returns gets what is new; one who has seen the end gets a 204', async () => {
    const { campaignId, runId } = await running();
    await setRun(runId, { control: 'pause' });
    const first = await watch(campaignId);
    await until('an event', () => first.events.length === 1);
    const again = await watch(campaignId, { seen: first.events[0]?.id as string });
    const stranger = await watch(campaignId, { seen: 'never-given' });
    await until('the stranger is told', () => stranger.events.length === 1);
    expect(again.events).toEqual([]);
    await setRun(runId, { control: 'cancel' });
    await until('it is canceled', () => phases(again).includes('canceled'));
    expect(again.ended).toBe(false);
    await setRun(runId, { phase: 'canceled', finished_at: new Date() });
    await until('all have ended', () => first.ended && again.ended && stranger.ended);
    expect(new Set(phases(again))).toEqual(new Set(['canceled']));
    const over = await watch(campaignId, { seen: again.events.at(-1)?.id as string });
    expect(over.status).toBe(204);
    const late = await watch(campaignId, { seen: first.events[0]?.id as string });
    await until('the end once more', () => late.ended);
    expect(phases(late)).toEqual(['canceled']);
    await nothingIsOpen();
  });

  test('however many readers there are, a campaign is read once a tick, and not at all after they have left', async () => {
    const { campaignId } = await running();
    const watching = await Promise.all(Array.from({ length: 20 }, () => watch(campaignId)));
    await until('five events each', () => watching.every(({ events }) => events.length >= 5));
    const most = Math.max(...watching.map(({ events }) => events.length));
    expect(readings).toBeLessThanOrEqual(most + 1);
    expect(progress.open()).toEqual({ readers: 20, campaigns: 1 });
    for (const one of watching) one.leave();
    await nothingIsOpen();
    const left = readings;
    const other = await watch((await running()).campaignId);
    await until('four ticks', () => other.events.length >= 4);
    expect(readings - left).toBeLessThanOrEqual(other.events.length + 1);
  });

  test('a workspace has so many streams and no more, and gets back what it closes', async () => {
    const { campaignId } = await running();
    const limit = LIMITS.progressStreamsPerWorkspace;
    const all = await Promise.all(Array.from({ length: limit }, () => watch(campaignId)));
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 200));
    const refused = await server.call('GET', `/api/campaign/${campaignId}/events`, {
      headers: { authorization: 'Bearer ws_a' },
    });
    expect([refused.status, refused.body.code, refused.headers['retry-after']]).toEqual([
      429,
      'too_many_streams',
      '5',
    ]);
    // Another workspace has its own, and learns nothing of a campaign that is not its.
    expect((await watch(campaignId, { as: 'ws_b' })).status).toBe(404);
    expect(progress.open().readers).toBe(limit);
    all[0]?.leave();
    await until('a place is free', () => progress.open().readers < limit);
    expect((await watch(campaignId)).status).toBe(200);
  });

  test('a reading that fails ends no stream', async () => {
    const { campaignId } = await running();
    const watching = await watch(campaignId);
    await until('an event', () => watching.events.length > 0);
    failing = true;
    const before = readings;
    await until('failed readings', () => readings > before + 2);
    const told = watching.events.length;
    failing = false;
    await until('it goes on', () => watching.events.length > told);
    expect(watching.ended).toBe(false);
  });

  test('who may no longer see it is put out', async () => {
    const { campaignId } = await running();
    const [watching, other] = [await watch(campaignId, { as: 'ws_a.first' }), await watch(campaignId)];
    await until('an event', () => watching.events.length > 0);
    revoked.add('ws_a.first');
    await until('the stream has ended', () => watching.ended);
    expect(phases(watching)).toEqual(['running']);
    expect(other.ended).toBe(false);
  });

  test('a server that stops ends its streams in order and at once', async () => {
    const { campaignId } = await running();
    const watching = await watch(campaignId);
    await until('an event', () => watching.events.length > 0);
    const startedAt = Date.now();
    await server.app.close();
    expect(Date.now() - startedAt).toBeLessThan(LIMITS.httpDrainMs / 2);
    await until('the stream has ended', () => watching.ended);
    await nothingIsOpen();
  });
});
