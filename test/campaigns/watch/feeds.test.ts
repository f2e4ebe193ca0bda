/** Proves when event feeds are read, and that their events reach runs, calls and sends. */

import { type Kysely, sql } from 'kysely';
import { eventSource, feedHeads } from '../../../src/app/service-gateway';
import type { FeedHeads } from '../../../src/campaigns/model/dependencies';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { moveRun } from '../../../src/campaigns/runs/runs';
import { Feeds } from '../../../src/campaigns/watch/feeds';
import { FeedAsks } from '../../../src/campaigns/watch/followed-workspaces';
import { messageUid, sendMessageUid } from '../../../src/domain/ids';
import type { MessageEvent, MessageState } from '../../../src/domain/message';
import type { Gateway } from '../../../src/gateway/gateway';
import { createLog } from '../../../src/log';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { newId } from '../../../src/storage/new-id';
import { PageRig, StubService } from '../../activities/page-rig';
import { plantAudience } from '../../support/audience';
import { reply } from '../../support/reply';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';

describeWithDatabase('event feeds', (database) => {
  let db: Kysely<CampaignTables>;
  let messagingDb: Kysely<MessagingTables>;
  let service: StubService;
  let gateway: Gateway;
  let rig: PageRig;
  let woken: string[];

  beforeAll(async () => {
    const storage = await database.open();
    messagingDb = storage.tables<MessagingTables>();
    db = storage.tables<CampaignTables>();
  });

  beforeEach(async () => {
    service = new StubService();
    service.capabilities = ['events', 'idempotent'];
    gateway = await service.start();
    rig = new PageRig(db, gateway);
    woken = [];
  });

  afterEach(async () => {
    await gateway.close();
    await service.stop();
    await db.deleteFrom('event_cursors').execute();
    await db
      .updateTable('runs')
      .set({ phase: 'completed', finished_at: new Date(0) })
      .execute();
  });

  const open = (heads?: FeedHeads) =>
    new Feeds(db, {
      scope: 'all',
      heads,
      source: eventSource({ gatewayFor: () => gateway, hasAccess: async () => true }),
      signals: {
        callEnded: async () => undefined,
        wakeSend: async (sendId) => {
          woken.push(sendId);
        },
      },
      log: createLog('silent'),
    });

  /** One look, as a process makes it when it begins to watch. */
  async function look(feeds = open()): Promise<void> {
    await feeds.tick();
    await feeds.stop();
  }

  async function sentRun(contacts: number) {
    const run = await plantAudience(db, { contacts });
    await moveRun(db, run.runId, 'running');
    await rig.sendPage(run.runId);
    return run;
  }

  /** As if nothing had been sent for a while. */
  const forgetAsks = () => db.updateTable('event_cursors').set({ asked_at: null }).execute();

  const tell = (runId: string, seq: number, state: MessageState): MessageEvent => ({
    seq: 1,
    at: new Date().toISOString(),
    uid: messageUid({ runId, channel: 'sms', seq }, 0),
    id: newId('msg'),
    channel: 'sms',
    type: state,
    state,
  });

  test('move states and counts of a run that has ended, by receipts that come later', async () => {
    const { runId } = await sentRun(3);
    service.events = [0, 1, 2].map((seq) => tell(runId, seq, 'sent'));
    await moveRun(db, runId, 'completed');
    await look();
    expect(await rig.states(runId)).toEqual({ sent: 3 });
    // More than a page, most of it somebody else's.
    const others = Array.from({ length: 1_500 }, () => tell(newId('run'), 0, 'delivered'));
    service.events.push(...others, tell(runId, 0, 'delivered'), tell(runId, 1, 'undelivered'));
    await look();
    expect(await rig.states(runId)).toEqual({ sent: 1, delivered: 1, undelivered: 1 });
  });

  test('are read closely where a run waits for them, and for a workspace that says that it has sent', async () => {
    const { runId, workspaceId } = await sentRun(2);
    await forgetAsks();
    const feeds = open();
    await feeds.tick();
    service.events = [tell(runId, 0, 'sent')];
    await until('the first', async () => {
      await feeds.tick();
      return (await rig.states(runId)).sent === 1;
    });
    await moveRun(db, runId, 'completed');
    await db
      .updateTable('runs')
      .set({ finished_at: new Date(0) })
      .where('id', '=', runId)
      .execute();
    await feeds.stop();
    service.events.push(tell(runId, 1, 'sent'));
    await forgetAsks();
    await look(feeds);
    expect(await rig.states(runId)).toEqual({ accepted: 1, sent: 1 });
    await new FeedAsks(db).ask(workspaceId);
    await look(feeds);
    expect(await rig.states(runId)).toEqual({ sent: 2 });
  });

  test('in our own database are read again when their head has moved, however quiet they were', async () => {
    await sql`
      insert into runs (id, workspace_id, campaign_id, number, phase, workflow_id, finished_at)
      select 'run_h' || i, 'wsp_h' || i, 'cmp_h' || i, 1, 'completed', 'x', now() - interval '2 minutes'
      from generate_series(1, 50) i`.execute(db);
    await sql`insert into event_heads (workspace_id, next_seq) select 'wsp_h' || i, 7 from generate_series(1, 50) i`.execute(
      messagingDb,
    );
    const feeds = open(feedHeads(messagingDb, () => true));
    let asked = 0;
    service.feed = (after, response) => {
      asked++;
      reply(response, 200, { data: [], next: String(after) });
    };
    await feeds.tick();
    await until('a look at each', () => asked === 50);
    // Two minutes of silence ask for a look every twelve seconds at a feed that is elsewhere.
    const hour = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 50 * 60_000);
    for (let second = 0; second < 3; second++) await feeds.tick();
    expect(asked).toBe(50);
    await sql`update event_heads set next_seq = 8 where workspace_id = 'wsp_h17'`.execute(messagingDb);
    await feeds.tick();
    await until('a look at the one that moved', () => asked === 51);
    for (let second = 0; second < 3; second++) await feeds.tick();
    expect(asked).toBe(51);
    hour.mockRestore();
    await feeds.stop();
  });

  test('in our own database are read again when their head moves while they are read', async () => {
    await sql`
      insert into runs (id, workspace_id, campaign_id, number, phase, workflow_id, finished_at)
      values ('run_m', 'wsp_m', 'cmp_m', 1, 'completed', 'x', now() - interval '2 minutes')`.execute(db);
    await sql`insert into event_heads (workspace_id, next_seq) values ('wsp_m', 7)`.execute(messagingDb);
    const feeds = open(feedHeads(messagingDb, () => true));
    let asked = 0;
    let answer: () => void = () => undefined;
    service.feed = (after, response) => {
      asked++;
      const send = () => reply(response, 200, { data: [], next: String(after) });
      if (asked > 1) send();
      else answer = send;
    };
    await feeds.tick();
    await until('the first look', () => asked === 1);
    // The page was read, and the answer is still on its way.
    await sql`update event_heads set next_seq = 8 where workspace_id = 'wsp_m'`.execute(messagingDb);
    await feeds.tick();
    answer();
    await until(
      'a second look',
      async () => {
        await feeds.tick();
        return asked === 2;
      },
      10_000,
    );
    await feeds.stop();
  });

  test('of 500 workspaces where nothing goes on are read once, and then no more for minutes', async () => {
    await sql`
      insert into runs (id, workspace_id, campaign_id, number, phase, workflow_id, finished_at)
      select 'run_q' || i, 'wsp_q' || i, 'cmp_q' || i, 1, 'completed', 'x', now() - interval '3 hours'
      from generate_series(1, 500) i`.execute(db);
    const feeds = open();
    let asked = 0;
    service.feed = (after, response) => {
      asked++;
      reply(response, 200, { data: [], next: String(after) });
    };
    await feeds.tick();
    await until('a look at each', () => asked === 500);
    for (let second = 0; second < 3; second++) await feeds.tick();
    await feeds.stop();
    expect(asked).toBe(500);
  });

  test('are asked for neither where a run has sent nothing yet, nor of one that ended long ago', async () => {
    const planned = await plantAudience(db, { contacts: 1 });
    const old = await sentRun(1);
    await moveRun(db, old.runId, 'completed');
    await db
      .updateTable('runs')
      .set({ finished_at: new Date(Date.now() - 31 * 86_400_000) })
      .where('id', '=', old.runId)
      .execute();
    await forgetAsks();
    service.events = [tell(old.runId, 0, 'sent'), tell(planned.runId, 0, 'sent')];
    await look();
    expect(await rig.states(old.runId)).toEqual({ accepted: 1 });
  });

  test('are followed for a durable send, and tell of it when it has ended', async () => {
    const [id, workspaceId] = [newId('snd'), newId('wsp')];
    const content = JSON.stringify({ to: '+12125550190', from: '12345' });
    await db
      .insertInto('durable_sends')
      .values({
        id,
        workspace_id: workspaceId,
        uid: id,
        channel: 'sms',
        content,
        state: 'sent',
        due_at: new Date(),
      })
      .execute();
    await db.updateTable('durable_sends').set({ offered: true }).where('id', '=', id).execute();
    await readCursor(db, workspaceId);
    await look();
    expect(woken).toEqual([]);
    await db.updateTable('durable_sends').set({ finished_at: new Date() }).where('id', '=', id).execute();
    service.events = [{ ...tell('', 0, 'delivered'), uid: sendMessageUid(id, 1) }];
    await look();
    const send = db.selectFrom('durable_sends').select('state').where('id', '=', id);
    expect(await send.executeTakeFirst()).toEqual({ state: 'delivered' });
  });

  test.each([401, 403, 404])('outlive a %i', async (status) => {
    const { runId } = await sentRun(1);
    const { feed } = service;
    service.feed = (_, response) => reply(response, status);
    const feeds = open();
    await feeds.tick();
    service.feed = feed;
    service.events = [tell(runId, 0, 'sent')];
    await until('the first', async () => {
      await feeds.tick();
      return (await rig.states(runId)).sent === 1;
    });
    await feeds.stop();
  });
});
