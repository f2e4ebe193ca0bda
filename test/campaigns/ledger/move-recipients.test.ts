import { type Kysely, sql } from 'kysely';
import { moveRecipients, type Scope } from '../../../src/campaigns/ledger/move-recipients';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { RECIPIENT_RANK, RECIPIENT_STATES, type RecipientState } from '../../../src/domain/recipient';
import { MOVES, type MoveName } from '../../../src/domain/recipient-transitions';
import { newId } from '../../../src/storage/new-id';
import { plantAudience } from '../../support/audience';
import { countedStates, storedStates, wrongCodeCounts } from '../../support/ledger-states';
import { describeWithDatabase } from '../../support/storage';

/** A recipient for each pair of an old state and a new one. */
const PAIRS = RECIPIENT_STATES.flatMap((from) => RECIPIENT_STATES.map((to) => ({ from, to })));

/** Written out beside the rules of the domain: what each may do, by old and new state. */
const open = ['pending', 'waiting', 'sending'];
const rise = (from: RecipientState, to: RecipientState) => RECIPIENT_RANK[to] - RECIPIENT_RANK[from];
const ALLOWED: Record<MoveName, (from: RecipientState, to: RecipientState) => boolean> = {
  event: (from, to) => rise(from, to) > 0,
  followed: (from, to) => rise(from, to) > 0,
  bounced: (from, to) => from === 'delivered' && to === 'undelivered',
  result: (from, to) => to !== 'pending' && rise(from, to) >= 0,
  cancel: (from, to) =>
    ['pending', 'waiting'].includes(from) && ['canceled', 'accepted', 'unknown'].includes(to),
  absent: (from, to) => ['pending', 'accepted'].includes(from) && ['canceled', 'unknown'].includes(to),
  overdue: (from, to) => ['pending', 'waiting'].includes(from) && ['expired', 'unknown'].includes(to),
  retry: (from, to) => ['failed', 'undelivered', 'unknown', 'rejected'].includes(from) && to === 'waiting',
  turn: (from, to) => from === 'waiting' && ['waiting', 'canceled'].includes(to),
  call: (from, to) => open.includes(from) && to !== 'pending',
  dial: (from, to) => from === 'waiting' && to === 'sending',
  learned: (from, to) => from === 'unknown' && rise(from, to) > 0,
};

describeWithDatabase('moving recipients', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  /** A run with a recipient in every state, once for each state that it may be moved to. */
  async function plantStates() {
    const run = await plantAudience(db, { contacts: PAIRS.length });
    await sql`
      update recipients r set state = t.state, code = case when t.place % 3 = 0 then 'code_' || t.place % 2 end
      from unnest(${PAIRS.map(({ from }) => from)}::text[]) with ordinality as t(state, place)
      where r.run_id = ${run.runId} and r.seq = t.place - 1`.execute(db);
    await sql`
      insert into shard_counts (run_id, channel, shard, state, count)
      select run_id, channel, shard, state, count(*) from recipients
      where run_id = ${run.runId} and state <> 'pending' group by 1, 2, 3, 4`.execute(db);
    await sql`
      insert into recipient_codes (run_id, channel, state, code, slot, count)
      select run_id, channel, state, code, shard % 8, count(*) from recipients
      where run_id = ${run.runId} and code is not null group by 1, 2, 3, 4, 5`.execute(db);
    return run;
  }

  const move = (runId: string, rule: MoveName, scope: Scope, moreAttempts = 0) =>
    moveRecipients(db, {
      scope,
      rule,
      rows: sql`
        select ${runId}::text as run_id, 'sms' as channel, place::int - 1 as seq, state, ${moreAttempts}::int as attempt
        from unnest(${PAIRS.map(({ to }) => to)}::text[]) with ordinality as t(state, place)`,
    });

  test.each(Object.keys(MOVES) as MoveName[])(
    'by the rule %s go where it leads, and are counted',
    async (rule) => {
      const { runId } = await plantStates();
      const allowed = PAIRS.map(({ from, to }) => ALLOWED[rule](from, to));
      const moved = await move(runId, rule, { runId });
      expect(Object.values(moved).reduce((sum, n) => sum + n, 0)).toBe(allowed.filter(Boolean).length);
      const states = await storedStates(db, runId);
      expect(states).toEqual(PAIRS.map(({ from, to }, i) => (allowed[i] ? to : from)));
      expect(await countedStates(db, runId)).toEqual(tallied(states));
      expect(await wrongCodeCounts(db, runId)).toEqual([]);
    },
  );

  test('go anywhere with another attempt, by what an event is followed by', async () => {
    const { runId } = await plantStates();
    await move(runId, 'followed', { runId }, 1);
    expect(await storedStates(db, runId)).toEqual(
      PAIRS.map(({ from, to }) => (to === 'pending' ? from : to)),
    );
  });

  test.each([
    ['of another workspace', 1],
    ['of another workspace among many runs', 40],
  ])('%s is refused', async (_, runs) => {
    const { runId, workspaceId } = await plantStates();
    const before = [await storedStates(db, runId), await countedStates(db, runId)];
    const runIds = [runId, ...Array.from({ length: runs - 1 }, () => newId('run'))];
    expect(await move(runId, 'call', { workspaceId: newId('wsp'), runIds })).toEqual({});
    expect([await storedStates(db, runId), await countedStates(db, runId)]).toEqual(before);
    expect(await move(runId, 'call', { workspaceId, runIds })).not.toEqual({});
  });

  test('of another run are refused', async () => {
    const [{ runId }, other] = [await plantStates(), await plantStates()];
    expect(await move(runId, 'call', { runId: other.runId })).toEqual({});
  });
});

function tallied(states: readonly RecipientState[]): Partial<Record<RecipientState, number>> {
  const tally: Partial<Record<RecipientState, number>> = {};
  for (const state of states) if (state !== 'pending') tally[state] = (tally[state] ?? 0) + 1;
  return tally;
}
