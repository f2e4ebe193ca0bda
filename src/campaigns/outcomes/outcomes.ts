import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { recipientFinding } from '../../domain/delivery-codes';
import { parseMessageUid } from '../../domain/ids';
import type { MessageEvent } from '../../domain/message';
import { RECIPIENT_RANK, type RecipientState } from '../../domain/recipient';
import { type EndedCall, endedCalls, storeCallEvents } from '../calls/call-events';
import { type Move, moveRecipients, moving, ownRuns } from '../ledger/move-recipients';
import { retryStatement, retryTransaction } from '../model/retry-transaction';
import type { CampaignTables } from '../model/tables';
import { countsContacts, releaseUnsent, tellsUnsent } from '../policy/cap-outcomes';
import { type SendReport, sendReports, storeSendReports } from '../sends/send-outcomes';
import { followOutcomes, isFollowed, type Outcome, runRules, runsSendingAnew } from './outcomes-followed';

/** The cursor before the first event of a workspace's feed. */
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

/** One page of the event feed, and the cursors before and after it. */
interface FeedPage {
  workspaceId: string;
  from: string;
  to: string;
  events: readonly MessageEvent[];
  outcomes: readonly Outcome[];
  sends: readonly SendReport[];
}

/** What a page of the feed concerned, within its workspace. */
export interface AppliedEvents {
  /** Runs that have outcomes in the page. */
  runs: string[];
  /** Ended calls, whose workflows wait for the end. */
  calls: EndedCall[];
  /** Durable sends that must decide their next step now. */
  sends: string[];
}

/**
 * Applies one page of the event feed to the ledger and moves the cursor, in one transaction. Returns
 * `undefined` and changes nothing when another reader has moved the cursor, because this reader is then
 * outdated.
 *
 * Callers choose the uids of their own messages, so a feed may name recipients of another workspace. Only runs
 * of the feed's own workspace are changed and returned. For a call, only its record is kept: its workflow
 * decides what follows, because a busy line does not end a recipient who is redialled.
 */
export async function applyEvents(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  from: string,
  to: string,
  events: readonly MessageEvent[],
): Promise<AppliedEvents | undefined> {
  const page = { workspaceId, from, to, events, outcomes: collapse(events), sends: sendReports(events) };
  return (await applyAtOnce(db, page)) ?? applyInSteps(db, page);
}

/**
 * Applies the page by one statement, as most pages allow, because each statement of a transaction is a round
 * trip. Returns `undefined` and changes nothing for a page that needs more.
 */
async function applyAtOnce(db: Kysely<CampaignTables>, page: FeedPage): Promise<AppliedEvents | undefined> {
  const { workspaceId, from, to, events, outcomes, sends } = page;
  if (sends.length || outcomes.some(({ attempt, isBounce }) => attempt > 0 || isBounce)) return undefined;
  if (events.some(({ channel }) => channel === 'voice')) return undefined;
  const runIds = runsOfEvents(events);
  const { rows } = await retryStatement(() =>
    sql<{ runs: string[] }>`
      with page as (
        update event_cursors set cursor = ${to}, updated_at = now()
        where workspace_id = ${workspaceId} and cursor = ${from}
          and not exists (select 1 from ${runsSendingAnew(workspaceId, runsOfOutcomes(outcomes))})
          and not (${tellsUnsent(events)}::bool and ${countsContacts(workspaceId)})
        returning 1
      ), ${moving(outcomeMove(workspaceId, outcomes, sql`select told.* from page, ${told(outcomes)}`))}
      select array(${ownRuns({ workspaceId, runIds })}) as runs from page`.execute(db),
  );
  return rows[0] && { runs: rows[0].runs, calls: [], sends: [] };
}

async function applyInSteps(db: Kysely<CampaignTables>, page: FeedPage): Promise<AppliedEvents | undefined> {
  const { workspaceId } = page;
  return retryTransaction(db, async (tx) => {
    const moved = await tx
      .updateTable('event_cursors')
      .set({ cursor: page.to, updated_at: new Date() })
      .where('workspace_id', '=', workspaceId)
      .where('cursor', '=', page.from)
      .returning(countsContacts(workspaceId).as('capped'))
      .executeTakeFirst();
    if (!moved) return undefined;
    const { rows } = await ownRuns({ workspaceId, runIds: runsOfEvents(page.events) }).execute(tx);
    const own = new Set(rows.map(({ id }) => id));
    const events = page.events.filter(({ uid }) => {
      const key = parseMessageUid(uid);
      return !key || own.has(key.runId);
    });
    await takeIn(
      tx,
      workspaceId,
      page.outcomes.filter(({ runId }) => own.has(runId)),
    );
    await storeCallEvents(tx, workspaceId, events);
    const sends = await storeSendReports(tx, workspaceId, page.sends);
    if (moved.capped) await releaseUnsent(tx, workspaceId, events);
    return { runs: [...own], calls: endedCalls(events), sends };
  });
}

const runsOfEvents = (events: readonly MessageEvent[]) => [
  ...new Set(events.flatMap(({ uid }) => parseMessageUid(uid)?.runId ?? [])),
];

const runsOfOutcomes = (outcomes: readonly Outcome[]) => [...new Set(outcomes.map(({ runId }) => runId))];

/** The highest-ranking event of each message that has a run's uid. Other messages of the feed are left out. */
function collapse(events: readonly MessageEvent[]): Outcome[] {
  const highest = new Map<string, Outcome>();
  for (const event of events) {
    // Skip events below `sent` before parsing their uids: a third of a feed only says that messages were
    // accepted.
    const state = event.state as RecipientState;
    if (!(RECIPIENT_RANK[state] > RECIPIENT_RANK.accepted)) continue;
    const known = highest.get(event.uid);
    const isBounce = isLateBounce(event.channel, state, event.code);
    if (known && (known.isBounce || (!isBounce && RECIPIENT_RANK[known.state] >= RECIPIENT_RANK[state])))
      continue;
    const key = parseMessageUid(event.uid);
    if (!key || key.channel === 'voice') continue;
    const { runId, channel, seq, attempt } = key;
    highest.set(event.uid, {
      runId,
      channel,
      seq,
      attempt,
      uid: event.uid,
      state,
      code: event.code,
      isBounce,
    });
  }
  return [...highest.values()];
}

/** One statement, except for recipients with several messages in the page or with a possible retry. */
async function takeIn(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  outcomes: readonly Outcome[],
): Promise<void> {
  if (!outcomes.length) return;
  const rules = await runRules(tx, workspaceId, runsOfOutcomes(outcomes));
  const simple: Outcome[] = [];
  const followed: Outcome[] = [];
  for (const outcome of outcomes) (isFollowed(outcome, rules) ? followed : simple).push(outcome);
  if (simple.length) {
    const rows = sql`select told.* from ${told(simple)}`;
    await moveRecipients(tx, outcomeMove(workspaceId, simple, rows));
  }
  if (followed.length) await followOutcomes(tx, workspaceId, followed, rules);
  const bounced = outcomes.filter(({ isBounce }) => isBounce);
  if (bounced.length) {
    const rows = sql`select told.* from ${told(bounced)}`;
    await moveRecipients(tx, {
      scope: { workspaceId, runIds: runsOfOutcomes(bounced) },
      ...{ rule: 'bounced', rows, when: sql`r.attempt = result.attempt` },
      set: { code: sql`result.code` },
    });
  }
}

/** Whether the end also holds for a recipient whose email was delivered before (api.md 4). */
const isLateBounce = (channel: string, state: RecipientState, code: string | undefined): boolean =>
  channel === 'email' && state === 'undelivered' && recipientFinding('email', code) === 'hard';

const told = (outcomes: readonly Outcome[]) => sql`
  unnest(
    ${outcomes.map((o) => o.runId)}::text[], ${outcomes.map((o) => o.channel)}::text[],
    ${outcomes.map((o) => o.seq)}::int[], ${outcomes.map((o) => o.attempt)}::int[],
    ${outcomes.map((o) => o.state)}::text[], ${outcomes.map((o) => o.code ?? null)}::text[]
  ) as told(run_id, channel, seq, attempt, state, code)`;

/**
 * An earlier attempt's event counts only if it is good. `sent` counts for an earlier attempt only if that
 * attempt was in doubt.
 */
function outcomeMove(workspaceId: string, outcomes: readonly Outcome[], rows: RawBuilder<unknown>): Move {
  return {
    scope: { workspaceId, runIds: runsOfOutcomes(outcomes) },
    rule: 'event',
    rows,
    when: sql`(r.attempt = result.attempt or (result.attempt < r.attempt and (result.state = 'delivered'
      or (result.state = 'sent' and result.attempt = any(r.doubts)))))`,
    set: {
      code: sql`result.code`,
      attempts: sql`greatest(r.attempts
        + case when r.state in ('pending', 'waiting') and r.attempt = result.attempt then 1 else 0 end, 1)`,
      retry_at: sql`null`,
    },
  };
}
