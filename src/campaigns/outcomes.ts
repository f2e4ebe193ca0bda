import { type Kysely, sql } from 'kysely';
import type { Channel } from '../domain/channel';
import { parseMessageUid } from '../domain/ids';
import type { MessageEvent } from '../domain/message';
import { RECIPIENT_RANK, RECIPIENT_STATES, type RecipientState } from '../domain/recipient';
import { type EndedCall, storeEndings } from './calls';
import { addToCounts, rank } from './ledger';
import { sendNews, storeSendNews } from './send-outcomes';
import type { CampaignTables } from './tables';

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

interface Outcome {
  runId: string;
  channel: Channel;
  seq: number;
  attempt: number;
  state: RecipientState;
  code: string | undefined;
}

/**
 * Takes one page of the event feed into the ledger and moves the cursor, in one transaction. Answers which
 * durable sends are to be woken now; `undefined`, having changed nothing, when somebody else moved the
 * cursor: then this reader is a leftover.
 * For a call only its end is stored, and what follows is left to its workflow: a busy line is not the end
 * of a recipient that is redialled.
 */
export async function applyEvents(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  from: string,
  to: string,
  events: readonly MessageEvent[],
  calls: readonly EndedCall[],
): Promise<{ sends: string[] } | undefined> {
  const outcomes = collapse(events);
  const sends = sendNews(events);
  return db.transaction().execute(async (tx) => {
    const moved = await tx
      .updateTable('event_cursors')
      .set({ cursor: to, updated_at: new Date() })
      .where('workspace_id', '=', workspaceId)
      .where('cursor', '=', from)
      .executeTakeFirst();
    if (moved.numUpdatedRows !== 1n) return undefined;
    if (outcomes.length) await writeOutcomes(tx, outcomes);
    await storeEndings(tx, calls);
    return { sends: await storeSendNews(tx, workspaceId, sends) };
  });
}

/** The highest-ranking news of each recipient of ours; everything else in the feed is somebody else's. */
function collapse(events: readonly MessageEvent[]): Outcome[] {
  const highest = new Map<string, Outcome>();
  for (const event of events) {
    const key = parseMessageUid(event.uid);
    const state = event.state as RecipientState;
    if (!key || key.channel === 'voice' || !(RECIPIENT_STATES as readonly string[]).includes(state)) continue;
    if (RECIPIENT_RANK[state] <= RECIPIENT_RANK.accepted) continue;
    const known = highest.get(event.uid);
    if (known && RECIPIENT_RANK[known.state] >= RECIPIENT_RANK[state]) continue;
    highest.set(event.uid, { ...key, state, code: event.code });
  }
  return [...highest.values()];
}

async function writeOutcomes(tx: Kysely<CampaignTables>, outcomes: readonly Outcome[]): Promise<void> {
  await sql`
    with result as (
      select * from unnest(
        ${outcomes.map((o) => o.runId)}::text[], ${outcomes.map((o) => o.channel)}::text[],
        ${outcomes.map((o) => o.seq)}::int[], ${outcomes.map((o) => o.attempt)}::int[],
        ${outcomes.map((o) => o.state)}::text[], ${outcomes.map((o) => o.code ?? null)}::text[]
      ) as t(run_id, channel, seq, attempt, state, code)
    ), old as (
      select r.run_id, r.channel, r.seq, r.state from recipients r join result using (run_id, channel, seq)
      where r.attempt = result.attempt and ${rank('result.state')} > ${rank('r.state')}
      for update of r
    ), written as (
      update recipients r
      set state = result.state, code = result.code, attempts = greatest(r.attempts, 1), retry_at = null, updated_at = now()
      from result join old using (run_id, channel, seq)
      where r.run_id = result.run_id and r.channel = result.channel and r.seq = result.seq
      returning r.run_id, r.channel, r.shard, old.state as old_state, r.state as new_state
    )
    ${addToCounts}`.execute(tx);
}
