import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { parseMessageUid } from '../../domain/ids';
import type { MessageEvent } from '../../domain/message';
import { RECIPIENT_RANK, type RecipientState } from '../../domain/recipient';
import { storeCallNews } from '../calls/call-news';
import { countsContacts, releaseUnsent, tellsUnsent } from '../policy/cap-outcomes';
import { repeated, repeatedTransaction } from '../repeated-transaction';
import { type SendNews, sendNews, storeSendNews } from '../sends/send-outcomes';
import type { CampaignTables } from '../tables';
import { addToCounts, rank } from './count-moves';
import { followOutcomes, isFollowed, type Outcome, runRules, runsSendingAnew } from './outcomes-followed';

/** Before the first event of a workspace's feed. */
export const FEED_START = '';

export async function readCursor(db: Kysely<CampaignTables>, workspaceId: string): Promise<string> {
  await db
    .insertInto('event_cursors')
    .values({ workspace_id: workspaceId, cursor: FEED_START })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const row = await db
    .selectFrom('event_cursors')
    .select('cursor')
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow();
  return row.cursor;
}

/** What one page of the event feed tells, and between which cursors it stands. */
interface FeedPage {
  workspaceId: string;
  from: string;
  to: string;
  events: readonly MessageEvent[];
  outcomes: readonly Outcome[];
  sends: readonly SendNews[];
}

/**
 * Takes one page of the event feed into the ledger and moves the cursor, in one transaction. Answers which
 * durable sends are to be woken now; `undefined`, having changed nothing, when somebody else moved the
 * cursor: then this reader is a leftover.
 * Of a call the record is kept, and what follows from its end is left to its workflow: a busy line is not the
 * end of a recipient that is redialled.
 */
export async function applyEvents(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  from: string,
  to: string,
  events: readonly MessageEvent[],
): Promise<{ sends: string[] } | undefined> {
  const page = { workspaceId, from, to, events, outcomes: collapse(events), sends: sendNews(events) };
  return (await applyAtOnce(db, page)) ? { sends: [] } : applyInSteps(db, page);
}

/**
 * By one statement, as most pages are: each statement of a transaction keeps others waiting, who share the embedded
 * engine's one session. Changes nothing, and answers false, for a page of which more is to be seen to.
 */
async function applyAtOnce(db: Kysely<CampaignTables>, page: FeedPage): Promise<boolean> {
  const { workspaceId, from, to, events, outcomes, sends } = page;
  if (sends.length || outcomes.some(({ attempt }) => attempt > 0)) return false;
  if (events.some(({ channel }) => channel === 'voice')) return false;
  const { rows } = await repeated(() =>
    sql`
      with page as (
        update event_cursors set cursor = ${to}, updated_at = now()
        where workspace_id = ${workspaceId} and cursor = ${from}
          and not exists (select 1 from ${runsSendingAnew(runsOfOutcomes(outcomes))})
          and not (${tellsUnsent(events)}::bool and ${countsContacts(workspaceId)})
        returning 1
      ), ${written(sql`select told.* from page, ${told(outcomes)}`)}, counted as (${addToCounts})
      select 1 from page`.execute(db),
  );
  return rows.length > 0;
}

async function applyInSteps(
  db: Kysely<CampaignTables>,
  { workspaceId, from, to, events, outcomes, sends }: FeedPage,
): Promise<{ sends: string[] } | undefined> {
  return repeatedTransaction(db, async (tx) => {
    const moved = await tx
      .updateTable('event_cursors')
      .set({ cursor: to, updated_at: new Date() })
      .where('workspace_id', '=', workspaceId)
      .where('cursor', '=', from)
      .returning(countsContacts(workspaceId).as('capped'))
      .executeTakeFirst();
    if (!moved) return undefined;
    await takeIn(tx, outcomes);
    await storeCallNews(tx, events);
    const woken = await storeSendNews(tx, workspaceId, sends);
    if (moved.capped) await releaseUnsent(tx, workspaceId, events);
    return { sends: woken };
  });
}

/** Runs that a page of the feed tells of. */
export function runsOf(events: readonly MessageEvent[]): Set<string> {
  return new Set(events.flatMap((event) => parseMessageUid(event.uid)?.runId ?? []));
}

const runsOfOutcomes = (outcomes: readonly Outcome[]) => [...new Set(outcomes.map(({ runId }) => runId))];

/** The highest-ranking news of each message of ours; everything else in the feed is somebody else's. */
function collapse(events: readonly MessageEvent[]): Outcome[] {
  const highest = new Map<string, Outcome>();
  for (const event of events) {
    // A third of a feed says that messages were accepted, and its uids need not be taken apart.
    const state = event.state as RecipientState;
    if (!(RECIPIENT_RANK[state] > RECIPIENT_RANK.accepted)) continue;
    const known = highest.get(event.uid);
    if (known && RECIPIENT_RANK[known.state] >= RECIPIENT_RANK[state]) continue;
    const key = parseMessageUid(event.uid);
    if (!key || key.channel === 'voice') continue;
    highest.set(event.uid, { ...key, uid: event.uid, state, code: event.code });
  }
  return [...highest.values()];
}

/** In one statement, except for those of whom more than one message is told, or who may be sent to anew. */
async function takeIn(tx: Transaction<CampaignTables>, outcomes: readonly Outcome[]): Promise<void> {
  if (!outcomes.length) return;
  const rules = await runRules(tx, runsOfOutcomes(outcomes));
  const simple: Outcome[] = [];
  const followed: Outcome[] = [];
  for (const outcome of outcomes) (isFollowed(outcome, rules) ? followed : simple).push(outcome);
  if (simple.length) await writeOutcomes(tx, simple);
  if (followed.length) await followOutcomes(tx, followed, rules);
}

async function writeOutcomes(tx: Kysely<CampaignTables>, outcomes: readonly Outcome[]): Promise<void> {
  await sql`with ${written(sql`select told.* from ${told(outcomes)}`)} ${addToCounts}`.execute(tx);
}

const told = (outcomes: readonly Outcome[]) => sql`
  unnest(
    ${outcomes.map((o) => o.runId)}::text[], ${outcomes.map((o) => o.channel)}::text[],
    ${outcomes.map((o) => o.seq)}::int[], ${outcomes.map((o) => o.attempt)}::int[],
    ${outcomes.map((o) => o.state)}::text[], ${outcomes.map((o) => o.code ?? null)}::text[]
  ) as told(run_id, channel, seq, attempt, state, code)`;

/** CTEs that write what `results` selects, where it is news; the last of them is `written`. */
const written = (results: RawBuilder<unknown>) => sql`
  result as (${results}), old as (
    select r.run_id, r.channel, r.seq, r.state from recipients r join result using (run_id, channel, seq)
    where ${rank('result.state')} > ${rank('r.state')} and (r.attempt = result.attempt
      or (result.attempt < r.attempt and (result.state = 'delivered'
        or (result.state = 'sent' and result.attempt = any(r.doubts)))))
    for update of r
  ), written as (
    update recipients r
    set state = result.state, code = result.code,
      attempts = greatest(r.attempts + case when r.state in ('pending', 'waiting') then 1 else 0 end, 1), retry_at = null, updated_at = now()
    from result join old using (run_id, channel, seq)
    where r.run_id = result.run_id and r.channel = result.channel and r.seq = result.seq
    returning r.run_id, r.channel, r.shard, old.state as old_state, r.state as new_state
  )`;
