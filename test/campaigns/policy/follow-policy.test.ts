import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { followPolicy } from '../../../src/campaigns/policy/follow-policy';
import { createPolicies } from '../../../src/campaigns/policy/policy';
import { claimSend, lookAtSend, recordSend } from '../../../src/campaigns/sends/claim-sends';
import { NO_POLICY } from '../../../src/domain/policy';
import { createLog } from '../../../src/log';
import { newId } from '../../../src/storage/new-id';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

const clock = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
const QUIET = {
  ...NO_POLICY,
  quietHours: {
    ...{ from: clock(-2), to: clock(3), timezone: 'UTC' },
    channels: ['sms' as const],
    classes: ['marketing' as const],
  },
};

describeWithDatabase('a policy that changes', (database) => {
  let db: Kysely<CampaignTables>;
  let workspaceId: string;
  let told: string[];
  let fails: boolean;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });
  beforeEach(() => {
    workspaceId = newId('wsp');
    told = [];
    fails = false;
  });

  const tell = async (id: string) => {
    if (fails) throw new Error('the server is away');
    told.push(id);
  };
  const launcher = { controlChanged: ({ runId }: { runId: string }) => tell(runId), wakeSend: tell };
  const follow = () => followPolicy(db, launcher, createLog('silent'), workspaceId);
  const followAll = () => followPolicy(db, launcher, createLog('silent'));
  const setPolicy = (policy: typeof NO_POLICY, of = workspaceId) =>
    createPolicies({ db }).replace(of, policy);
  const plant = async (phase: string, control = 'run', of = workspaceId) => {
    const { runId } = await plantAudience(db, { contacts: 1, workspaceId: of });
    await sql`update runs set phase = ${phase}, control = ${control} where id = ${runId}`.execute(db);
    return runId;
  };

  test('is told to runs that go on and have not followed it, of its workspace', async () => {
    const other = newId('wsp');
    const running = await plant('running');
    const paused = await plant('finishing', 'pause');
    const elsewhere = await plant('running', 'run', other);
    for (const phase of ['planning', 'completed', 'canceled', 'failed']) await plant(phase);
    await follow();
    expect(told).toEqual([]);
    await setPolicy(QUIET);
    await setPolicy(QUIET, other);
    await follow();
    expect(told.sort()).toEqual([running, paused].sort());
    told = [];
    await sql`update runs set policy_version = 1 where id = ${running}`.execute(db);
    fails = true;
    await followAll();
    fails = false;
    await followAll();
    expect(told.filter((id) => [running, paused, elsewhere].includes(id)).sort()).toEqual(
      [paused, elsewhere].sort(),
    );
  });

  test('wakes durable sends that it has put off, also after a kill in between', async () => {
    await setPolicy(QUIET);
    const ids = [newId('snd'), newId('snd')] as const;
    for (const [i, id] of ids.entries()) {
      await db
        .insertInto('durable_sends')
        .values({
          ...{ id, workspace_id: workspaceId, uid: `u${i}`, channel: 'sms', due_at: new Date() },
          content: JSON.stringify({
            to: '+12025550101',
            from: '12345',
            ...(i === 1 ? { class: 'transactional' } : {}),
          }),
        })
        .execute();
    }
    expect((await lookAtSend(db, ids[0])).kind).toBe('wait');
    expect((await lookAtSend(db, ids[1])).kind).toBe('act');
    await follow();
    expect(told).toEqual([]);
    await setPolicy(NO_POLICY);
    fails = true;
    await follow();
    fails = false;
    await follow();
    await follow();
    expect(told).toEqual([ids[0]]);
    expect((await lookAtSend(db, ids[0])).kind).toBe('act');
  });

  test('leaves a durable send that waits for another attempt to its delay, though an earlier policy had put it off', async () => {
    await setPolicy(QUIET);
    const id = newId('snd');
    await db
      .insertInto('durable_sends')
      .values({
        ...{ id, workspace_id: workspaceId, uid: 'u', channel: 'sms', due_at: new Date() },
        content: JSON.stringify({ to: '+12025550101', from: '12345', retry: { initialDelaySeconds: 3_600 } }),
      })
      .execute();
    expect((await lookAtSend(db, id)).kind).toBe('wait');
    await setPolicy(NO_POLICY);
    await follow();
    const claim = await claimSend(db, id, true);
    if (!claim) throw new Error('nothing to do');
    await recordSend(db, claim, { kind: 'failed', code: 'dependency_down', notBeforeMs: 0 });
    const dueAt = async () =>
      (await db.selectFrom('durable_sends').select('due_at').where('id', '=', id).executeTakeFirstOrThrow())
        .due_at;
    const planned = await dueAt();
    expect(planned.getTime()).toBeGreaterThan(Date.now() + 1_800_000);
    await setPolicy({ ...NO_POLICY, smsOptOutText: { text: 'Reply STOP', onlyFirst: true } });
    await follow();
    expect(await dueAt()).toEqual(planned);
  });
});
