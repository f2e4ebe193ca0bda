/** Proves that the overview tells what goes on in one workspace, and nothing of others. */

import { type Kysely, sql } from 'kysely';
import { createOverview } from '../../src/app/between-halves';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import type { Account } from '../../src/domain/account';
import { LIMITS } from '../../src/domain/limits';
import { newId } from '../../src/storage/new-id';
import type { Storage } from '../../src/storage/storage';
import { createOutboxRig, type OutboxRig } from '../messaging/outbox-rig';
import { plantAudience } from '../support/audience';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

const account = (id: string, more: Partial<Account> = {}): Account => ({
  ...{ id, name: `Account ${id}`, kind: 'http', channels: ['sms'], settings: {}, secretNames: [] },
  ...{ workspaces: ['*'], ratePerSecond: undefined, disabled: false, source: 'api' },
  ...more,
});

describeWithDatabase('the overview of a workspace', (database) => {
  let storage: Storage;
  let db: Kysely<CampaignTables>;
  let rig: OutboxRig;
  beforeEach(async () => {
    storage = await database.open();
    db = storage.tables<CampaignTables>();
    rig = await createOutboxRig(storage);
  });
  afterEach(() => rig.stop());

  const overview = (stands: object[] = [], accounts: Account[] = []) =>
    createOverview({
      storage,
      delivery: {
        accountStates: async () => stands as never,
        accountFault: (id) => (id === 'acc_unreadable' ? 'key_missing' : undefined),
      },
      accounts: { list: async () => accounts },
    });

  test('live campaigns are listed newest first, with their counts, and those that have ended are not', async () => {
    const { workspaceId } = rig;
    const planted: string[] = [];
    const phases = ['running', 'completed', 'finishing', 'failed', 'planning'];
    for (const phase of phases) {
      const { campaignId, runId } = await plantAudience(db, { contacts: 2, workspaceId });
      await sql`update runs set phase = ${phase} where id = ${runId}`.execute(db);
      await sql`update campaigns set created_at = now() + make_interval(secs => ${planted.length}) where id = ${campaignId}`.execute(
        db,
      );
      planted.push(campaignId);
    }
    const draft = newId('cmp');
    const scheduled = newId('cmp');
    for (const [id, stage] of [
      [draft, 'draft'],
      [scheduled, 'scheduled'],
    ])
      await sql`insert into campaigns (id, workspace_id, name, channels, settings, contact_list_ids, stage, created_at)
        values (${id}, ${workspaceId}, 'Later', '{sms}', '{}', '{}', ${stage}, now() - interval '1 day')`.execute(
        db,
      );
    await plantAudience(db, { contacts: 1 });
    const { campaigns } = await overview()(workspaceId);
    expect(campaigns.map(({ id, phase }) => [id, phase])).toEqual([
      [planted[4], 'planning'],
      [planted[2], 'finishing'],
      [planted[0], 'running'],
      [scheduled, 'scheduled'],
    ]);
    expect(campaigns[2]).toMatchObject({
      counts: { sms: { total: 2, pending: 2 } },
      ratePerSecond: 0,
      eta: null,
    });
    expect(campaigns[3]).toEqual({
      id: scheduled,
      name: 'Later',
      phase: 'scheduled',
      counts: {},
      ratePerSecond: 0,
      eta: null,
    });
  });

  test('at most fifty campaigns are listed', async () => {
    const { workspaceId } = rig;
    await sql`insert into campaigns (id, workspace_id, name, channels, settings, contact_list_ids, stage)
      select 'cmp_' || i, ${workspaceId}, 'n', '{sms}', '{}', '{}', 'scheduled' from generate_series(1, 60) i`.execute(
      db,
    );
    expect((await overview()(workspaceId)).campaigns).toHaveLength(LIMITS.liveCampaignsListed);
  });

  test('the outbox tells what waits, since when, and what of it is held', async () => {
    const { workspaceId } = rig;
    const { delivery } = await rig.process();
    await delivery.hold(workspaceId, 'cmp_held');
    await delivery.accept(workspaceId, rig.sms('held', { campaign: 'cmp_held' }));
    await delivery.accept(
      workspaceId,
      rig.email('later', { sendAt: new Date(Date.now() + 3_600_000).toISOString() }),
    );
    await sql`update messages set due_at = now() - interval '90 seconds' where uid = 'held'`.execute(db);
    const { outbox } = await overview()(workspaceId);
    expect(outbox).toEqual([
      { channel: 'email', due: 0, oldestSeconds: 0, held: 0 },
      { channel: 'sms', due: 1, oldestSeconds: expect.any(Number), held: 1 },
      { channel: 'voice', due: 0, oldestSeconds: 0, held: 0 },
    ]);
    expect(outbox[1]?.oldestSeconds).toBeGreaterThanOrEqual(90);
    expect((await overview()('ws_other')).outbox.map(({ due }) => due)).toEqual([0, 0, 0]);
  });

  test('the last hour counts what was sent, delivered and failed, once each', async () => {
    const { workspaceId } = rig;
    const { delivery, sms } = await rig.process();
    for (const uid of ['a', 'b', 'c']) await delivery.accept(workspaceId, rig.sms(uid));
    await until('all are sent', async () =>
      Object.values(await rig.states()).every((state) => state === 'sent'),
    );
    const ids = await rig.db.selectFrom('messages').select('id').orderBy('uid').execute();
    const [a = '', b = ''] = ids.map(({ id }) => id);
    await sms.report({ id: a, type: 'delivered' }, { id: b, type: 'undelivered', code: 'absent' });
    await sms.report({ id: a, type: 'delivered' });
    await until('receipts are recorded', async () => (await rig.states()).b === 'undelivered');
    expect((await overview()(workspaceId)).lastHour).toEqual({
      email: { sent: 0, delivered: 0, failed: 0 },
      sms: { sent: 3, delivered: 1, failed: 1 },
      voice: { sent: 0, delivered: 0, failed: 0 },
    });
    await sql`update message_minutes set minute = minute - interval '61 minutes'`.execute(db);
    expect((await overview()(workspaceId)).lastHour.sms).toEqual({ sent: 0, delivered: 0, failed: 0 });
    expect((await overview()('ws_other')).lastHour.sms.sent).toBe(0);
  });

  test('accounts are those that the workspace may use, as their worst channel stands', async () => {
    const at = new Date().toISOString();
    const stand = (id: string, channel: string, state: string, reason?: string) => ({
      ...{ account: id, channel, kind: 'http', state, since: at },
      ...(reason ? { reason } : {}),
    });
    const stands = [
      stand('acc_own', 'sms', 'ok'),
      stand('acc_own', 'voice', 'paused', '401'),
      stand('acc_foreign', 'sms', 'ok'),
      stand('acc_off', 'sms', 'ok'),
    ];
    const accounts = [
      account('acc_own', { workspaces: [rig.workspaceId] }),
      account('acc_foreign', { workspaces: ['ws_other'] }),
      account('acc_off', { disabled: true }),
      account('acc_unreadable'),
    ];
    expect((await overview(stands, accounts)(rig.workspaceId)).accounts).toEqual([
      { id: 'acc_own', name: 'Account acc_own', kind: 'http', state: 'paused', reason: '401', since: at },
      {
        ...{ id: 'acc_unreadable', name: 'Account acc_unreadable', kind: 'http' },
        ...{ state: 'paused', reason: 'key_missing', since: expect.stringMatching(/Z$/) },
      },
    ]);
    const { delivery } = await rig.process();
    expect(delivery.accountStands()).toContainEqual({
      ...{ channel: 'sms', account: 'default-sms', state: 'ok' },
      ...{ kind: expect.any(String), since: expect.stringMatching(/Z$/) },
    });
  });
});
