import type { Kysely } from 'kysely';
import { outcomeNews } from '../../../src/app/service-gateway';
import { keepFeedsFollowed } from '../../../src/campaigns/runs/keep-feeds';
import { readCursor } from '../../../src/campaigns/runs/outcomes';
import { moveRun } from '../../../src/campaigns/runs/runs';
import type { CampaignTables } from '../../../src/campaigns/tables';
import { messageUid, sendMessageUid } from '../../../src/domain/ids';
import type { MessageEvent, MessageState } from '../../../src/domain/message';
import type { Gateway } from '../../../src/gateway/gateway';
import { createLog } from '../../../src/log';
import { newId } from '../../../src/storage/new-id';
import { PageRig, StubService } from '../../activities/page-rig';
import { plantAudience } from '../../support/audience';
import { reply } from '../../support/reply';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('event feeds', (database) => {
  let db: Kysely<CampaignTables>;
  let service: StubService;
  let gateway: Gateway;
  let rig: PageRig;
  let launched: string[];

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  beforeEach(async () => {
    service = new StubService();
    service.capabilities = ['events', 'idempotent'];
    gateway = await service.start();
    rig = new PageRig(db, gateway);
    launched = [];
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

  /** One look, as a process makes it at its start and then each minute. */
  async function look(): Promise<void> {
    const feeds = keepFeedsFollowed(db, {
      launcher: {
        launchFeed: async (workspaceId) => {
          launched.push(workspaceId);
        },
        wakeSend: async () => undefined,
      },
      news: outcomeNews({ gatewayFor: () => gateway, hasAccess: async () => true }),
      log: createLog('silent'),
    });
    await feeds.looked;
    feeds.stop();
  }

  async function sentRun(contacts: number) {
    const run = await plantAudience(db, { contacts });
    await moveRun(db, run.runId, 'running');
    await rig.sendPage(run.runId);
    return run;
  }

  const tell = (runId: string, seq: number, state: MessageState): MessageEvent => ({
    seq: 1,
    at: new Date().toISOString(),
    uid: messageUid({ runId, channel: 'sms', seq }, 0),
    id: newId('msg'),
    channel: 'sms',
    type: state,
    state,
  });

  it('move states and counts of a run that has ended, by receipts that come later', async () => {
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
    expect(launched).toEqual([]);
  });

  it('are followed again where a run waits for them, and left to their workflow', async () => {
    const { runId, workspaceId } = await sentRun(1);
    service.events = [tell(runId, 0, 'sent')];
    await look();
    expect(launched).toEqual([workspaceId]);
    expect(await rig.states(runId)).toEqual({ accepted: 1 });
  });

  it('are asked for neither where a run has sent nothing yet, nor of one that ended long ago', async () => {
    const planned = await plantAudience(db, { contacts: 1 });
    const old = await sentRun(1);
    await moveRun(db, old.runId, 'completed');
    await db
      .updateTable('runs')
      .set({ finished_at: new Date(Date.now() - 31 * 86_400_000) })
      .where('id', '=', old.runId)
      .execute();
    service.events = [tell(old.runId, 0, 'sent'), tell(planned.runId, 0, 'sent')];
    await look();
    expect(launched).toEqual([]);
    expect(await rig.states(old.runId)).toEqual({ accepted: 1 });
  });

  it('are followed for a durable send, and tell of it when it has ended', async () => {
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
    expect(launched).toEqual([workspaceId]);
    await db.updateTable('durable_sends').set({ finished_at: new Date() }).where('id', '=', id).execute();
    service.events = [{ ...tell('', 0, 'delivered'), uid: sendMessageUid(id, 1) }];
    await look();
    const send = db.selectFrom('durable_sends').select('state').where('id', '=', id);
    expect(await send.executeTakeFirst()).toEqual({ state: 'delivered' });
    expect(launched).toEqual([workspaceId]);
  });

  it.each([401, 403, 404])('outlive a %i, and end for it only where nothing waits', async (status) => {
    const { runId, workspaceId } = await sentRun(1);
    service.feed = (_, response) => reply(response, status);
    await expect(rig.followEvents(workspaceId)).rejects.toMatchObject({
      type: 'dependency_down',
      nonRetryable: false,
    });
    await moveRun(db, runId, 'completed');
    expect(await rig.followEvents(workspaceId)).toBe('quiet');
  });
});
