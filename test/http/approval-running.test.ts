import { sql } from 'kysely';
import { freezeNextShard } from '../../src/campaigns/audience/freeze-run';
import { loadRun } from '../../src/campaigns/runs/runs';
import { takeOccurrence } from '../../src/campaigns/schedules/recurring';
import { describeWithDatabase } from '../support/storage';
import { type Approvals, approvalRig } from './approval-rig';

const EVERY_NEW_YEAR = { cron: '0 4 1 1 *' };
const A_YEAR_MS = 366 * 86_400_000;

describeWithDatabase('approval of a campaign that has started', (database) => {
  const rig = approvalRig(database);
  let of: Approvals;
  beforeEach(async () => {
    of = await rig.open();
  });

  const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];
  const approve = async (id: string) => of.act(of.bob, id, 'approve', { digest: await of.digestOf(id) });

  /** As the run's workflow does, step by step; `between` runs after the first of them. */
  async function freeze(
    id: string,
    between: () => Promise<unknown> = async () => undefined,
  ): Promise<string> {
    const runId = (await of.detail(id)).runId as string;
    for (let first = true; ; first = false) {
      const { isOver } = await freezeNextShard(rig.db(), await loadRun(rig.db(), runId), {
        ...{ placeholders: {}, suppression: undefined, onPiece: () => undefined },
        inTurn: (work) => work(),
      });
      if (first) await between();
      if (isOver) return runId;
    }
  }
  const explainFirst = async (id: string) => {
    const recipients = `/api/campaign/${id}/recipients`;
    const [first] = (await of.client('GET', recipients)).body.data;
    const { data } = (await of.client('GET', `${recipients}/${first.id}`)).body;
    return data as { next: { why: string; detail: string } | null };
  };
  const runOf = async (runId: string) =>
    rig
      .db()
      .selectFrom('runs')
      .select(['control', 'own_reason'])
      .where('id', '=', runId)
      .executeTakeFirstOrThrow();

  test('one whose lists have grown since is paused as it freezes them, and goes on when it is approved', async () => {
    const id = await of.newCampaign(of.ann);
    await approve(id);
    await of.add(1);
    const runId = await freeze(id);
    const reason = { code: 'approval_required', contacts: 4, allowed: 3 };
    expect(await of.detail(id)).toMatchObject({ phase: 'paused', status: 'paused', reason });
    expect((await of.client('GET', `/api/campaign/${id}/runs`)).body.data[0].reason).toEqual(reason);
    expect(codeOf(await of.act(of.ann, id, 'resume'))).toEqual([409, 'approval_required']);
    const looks = await rig
      .db()
      .selectFrom('run_looks')
      .select('tries')
      .where('run_id', '=', runId)
      .execute();
    expect(looks).toContainEqual({ tries: 1 });
    const told = await explainFirst(id);
    expect(told.next).toEqual({
      why: 'paused',
      detail: expect.stringMatching(
        /has 4 contacts and may send to 3 without an approval: .* until it is approved\.$/,
      ),
    });
    expect((await approve(id)).body.data.phase).toBe('running');
    expect((await explainFirst(id)).next?.why).not.toBe('paused');
    expect(await runOf(runId)).toEqual({ control: 'run', own_reason: null });
  });

  test('members whose transaction was slower than the count are counted with the piece that has them', async () => {
    await of.setPolicy({ approval: { above: 3 } });
    const id = await of.newCampaign(of.ann);
    const runId = (await of.detail(id)).runId as string;
    await sql`insert into audience_freezes (run_id, channel, contacts, exclusions_marked) values (${runId}, 'sms', 3, true)`.execute(
      rig.db(),
    );
    await of.add(1);
    await sql`update contact_list_members set added_at = now() - interval '1 minute' where list_id = ${of.list}`.execute(
      rig.db(),
    );
    await freeze(id);
    expect((await runOf(runId)).own_reason).toEqual({ code: 'approval_required', contacts: 4, allowed: 3 });
  });

  test('a policy that came later holds what was started without an approval', async () => {
    await of.setPolicy({});
    const id = await of.newCampaign(of.ann);
    await of.setPolicy({ approval: { above: 2 } });
    await freeze(id);
    expect((await of.detail(id)).reason).toMatchObject({
      code: 'approval_required',
      contacts: 3,
      allowed: 2,
    });
  });

  test('a change of its delivery pauses it and takes the approval back; the same delivery again does not', async () => {
    const id = await of.newCampaign(of.ann, { delivery: { ratePerSecond: 5 } });
    await approve(id);
    await freeze(id);
    const pace = (ratePerSecond: number) =>
      of.ann('PATCH', `/api/campaign/${id}`, { delivery: { ratePerSecond } });
    expect((await pace(5)).body.data.phase).toBe('running');
    expect((await pace(500)).body.data.phase).toBe('paused');
    expect(await of.detail(id)).toMatchObject({ approval: null, reason: { code: 'approval_required' } });
    for (const action of ['resume', 'retry-failed'])
      expect([action, ...codeOf(await of.act(of.ann, id, action))]).toEqual([
        action,
        409,
        'approval_required',
      ]);
    expect(codeOf(await of.act(of.ann, id, 'approve', { digest: await of.digestOf(id) }))).toEqual([
      403,
      'own_campaign',
    ]);
    expect((await approve(id)).body.data.phase).toBe('running');
  });

  test('a change of delivery before the start is found out about when the audience is frozen', async () => {
    const startAt = new Date(Date.now() + 3_600_000).toISOString();
    const id = await of.newCampaign(of.ann, { schedule: { startAt } });
    await approve(id);
    await of.ann('PATCH', `/api/campaign/${id}`, { delivery: { ratePerSecond: 9 } });
    expect(await of.detail(id)).toMatchObject({ phase: 'scheduled', approval: null });
    await freeze(id);
    expect((await runOf((await of.detail(id)).runId)).own_reason).toMatchObject({
      code: 'approval_required',
    });
    expect((await approve(id)).body.data.phase).toBe('scheduled');
    expect((await of.detail(id)).approval).toMatchObject({ by: of.bob.id });
  });

  test('what its owner has paused is approved and stays paused', async () => {
    const id = await of.newCampaign(of.ann);
    await approve(id);
    await freeze(id);
    await of.act(of.ann, id, 'pause');
    await of.ann('PATCH', `/api/campaign/${id}`, { delivery: { ratePerSecond: 9 } });
    expect(codeOf(await of.act(of.ann, id, 'resume'))).toEqual([409, 'approval_required']);
    expect((await approve(id)).body.data.phase).toBe('paused');
    expect((await of.act(of.ann, id, 'resume')).body.data.phase).toBe('running');
  });

  test('stages are let go only with an approval', async () => {
    const id = await of.newCampaign(of.ann, { release: { stages: [{ recipients: 1 }] } });
    await approve(id);
    await freeze(id);
    expect((await of.act(of.ann, id, 'release')).status).toBe(200);
    await of.ann('PATCH', `/api/campaign/${id}`, { delivery: { ratePerSecond: 9 } });
    expect(codeOf(await of.act(of.ann, id, 'release'))).toEqual([409, 'approval_required']);
  });

  test('what has ended is retried only with an approval', async () => {
    const id = await of.newCampaign(of.ann);
    await approve(id);
    const runId = await freeze(id);
    await sql`update runs set phase = 'completed' where id = ${runId}`.execute(rig.db());
    expect((await of.act(of.ann, id, 'retry-failed')).status).toBe(200);
    await sql`update campaigns set approval = null where id = ${id}`.execute(rig.db());
    expect(codeOf(await of.act(of.ann, id, 'retry-failed'))).toEqual([409, 'approval_required']);
  });

  test.each([
    ['failed', 'resume'],
    ['failed', 'retry-failed'],
    ['completed', 'retry-failed'],
  ])('one that has %s is approved for its %s, and goes on with that only', async (phase, action) => {
    await of.setPolicy({});
    const id = await of.newCampaign(of.ann);
    const runId = await freeze(id);
    await sql`
      with ended as (update runs set phase = ${phase} where id = ${runId})
      update recipients set state = 'failed' where run_id = ${runId}`.execute(rig.db());
    await of.setPolicy({ approval: { above: 2 } });
    expect(codeOf(await of.act(of.ann, id, action))).toEqual([409, 'approval_required']);
    expect((await approve(id)).body.data?.phase).toBe(phase);
    expect((await of.act(of.ann, id, action)).status).toBe(200);
    expect((await of.detail(id)).phase).toBe('running');
  });

  test('one that is paused goes on by a digest that was approved before, of members who came and went since', async () => {
    const id = await of.newCampaign(of.ann);
    const digest = await of.digestOf(id);
    await of.act(of.bob, id, 'approve', { digest });
    await of.add(1);
    await freeze(id);
    await sql`
      delete from contact_list_members where list_id = ${of.list} and contact_id = (
        select max(contact_id) from contact_list_members where list_id = ${of.list})`.execute(rig.db());
    expect(await of.digestOf(id)).toBe(digest);
    expect((await of.act(of.bob, id, 'approve', { digest })).body.data?.phase).toBe('running');
  });

  test('each occurrence of a recurring campaign is counted, and so is one that is started by hand', async () => {
    const id = await of.newCampaign(of.ann, { schedule: EVERY_NEW_YEAR });
    await approve(id);
    expect((await of.detail(id)).phase).toBe('scheduled');
    const occur = async (years: number) => {
      await takeOccurrence(
        rig.db(),
        { workspaceId: of.workspaceId, campaignId: id },
        Date.now() + years * A_YEAR_MS,
      );
      return freeze(id);
    };
    const first = await occur(1);
    expect(await runOf(first)).toEqual({ control: 'run', own_reason: null });
    await sql`update runs set phase = 'completed' where id = ${first}`.execute(rig.db());
    await of.add(1);
    expect(codeOf(await of.act(of.ann, id, 'start'))).toEqual([409, 'approval_required']);
    const second = await occur(2);
    expect(await of.detail(id)).toMatchObject({
      phase: 'paused',
      reason: { code: 'approval_required', contacts: 4, allowed: 3 },
    });
    expect((await approve(id)).body.data.phase).toBe('scheduled');
    expect(await runOf(second)).toEqual({ control: 'run', own_reason: null });
  });
});
