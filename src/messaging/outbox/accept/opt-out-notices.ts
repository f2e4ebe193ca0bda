import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { addressKey, senderKey } from '../../../domain/suppression';
import type { Draft } from '../../model/outgoing';
import type { MessagingTables } from '../../model/tables';
import { type InsertOutcome, insertMessages } from './accept-insert';

/** A message in one of these states has informed no recipient. */
const UNSENT = ['failed', 'rejected', 'expired', 'canceled', 'suppressed', 'undelivered'];

/**
 * Inserts messages, some of which may be the first of their sender to a number. Those get the policy's opt-out
 * text. The first one is claimed in the transaction that writes the message, so that of two at the same moment
 * one waits for the other. If the claimed one was never sent, or is planned for later, the next message has the
 * text too: twice is better than never.
 */
export async function insertWithNotices(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  partition: { id: string; fence: number },
  given: readonly Draft[],
  at: string,
): Promise<{ outcome: InsertOutcome; drafts: readonly Draft[] }> {
  const always = given.map((draft) => (draft.ending && !draft.ending.onlyFirst ? ended(draft) : draft));
  const candidates = firstOfEach(always.filter(({ ending }) => ending?.onlyFirst));
  if (candidates.length === 0) {
    return { outcome: await insertMessages(db, workspaceId, partition, always, at), drafts: always };
  }
  return db.transaction().execute(async (tx) => {
    const claimed = await claim(tx, workspaceId, candidates);
    const drafts = always.map((draft) => (claimed.has(draft.id) ? ended(draft) : draft));
    const outcome = await insertMessages(tx, workspaceId, partition, drafts, at);
    const vain = [...claimed].filter((id) => !isWritten(outcome, id));
    if (vain.length > 0) {
      await tx
        .deleteFrom('opt_out_notices')
        .where('workspace_id', '=', workspaceId)
        .where('message_id', '=', sql<string>`any(${vain}::text[])`)
        .where('address', '=', sql<string>`any(${candidates.map(({ to }) => addressKey(to))}::text[])`)
        .execute();
    }
    return { outcome, drafts };
  });
}

function ended(draft: Draft): Draft {
  const { ending } = draft;
  if (!ending) return draft;
  return { ...draft, suffix: ending.text, segments: ending.segments, encoding: ending.encoding };
}

const keyOf = ({ from, to }: Draft) => `${addressKey(to)} ${senderKey(from)}`;

/** One statement may write a row once; one order, so that two statements cannot deadlock. */
function firstOfEach(drafts: readonly Draft[]): Draft[] {
  const first = new Map<string, Draft>();
  for (const draft of drafts) if (!first.has(keyOf(draft))) first.set(keyOf(draft), draft);
  return [...first].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, draft]) => draft);
}

/** SQL: the message of a row of `opt_out_notices n` was never sent, or will be sent later. */
const isVain = sql<boolean>`exists (
  select 1 from messages m where m.id = n.message_id
    and (m.state = any(${UNSENT}::text[]) or (m.state = 'scheduled' and m.send_at > now())))`;

/** SQL: whether the sender has given a number the text already. */
export function isTold(
  workspaceId: string,
  { from, to }: { from: string; to: RawBuilder<unknown> },
): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select 1 from opt_out_notices n
    where n.workspace_id = ${workspaceId} and n.address = lower(${to} collate "C")
      and n.sender = ${senderKey(from)} and not ${isVain})`;
}

/** The ids of the messages that get the text. Numbers that have had it already are found without a lock. */
async function claim(
  tx: Transaction<MessagingTables>,
  workspaceId: string,
  candidates: readonly Draft[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ message_id: string }>`
    insert into opt_out_notices as n (workspace_id, sender, address, message_id)
    select ${workspaceId}, g.sender, g.address, g.id from unnest(
      ${candidates.map(({ from }) => senderKey(from))}::text[], ${candidates.map(({ to }) => addressKey(to))}::text[],
      ${candidates.map(({ id }) => id)}::text[]) with ordinality as g(sender, address, id, place)
    where not exists (
      select 1 from opt_out_notices n
      where n.workspace_id = ${workspaceId} and n.address = g.address and n.sender = g.sender and not ${isVain})
    order by g.place
    on conflict (workspace_id, address, sender) do update set message_id = excluded.message_id where ${isVain}
    returning n.message_id`.execute(tx);
  return new Set(rows.map(({ message_id }) => message_id));
}

function isWritten(outcome: InsertOutcome, id: string): boolean {
  if (outcome.kind !== 'inserted' || outcome.suppressed.has(id)) return false;
  return outcome.ids === 'all' || outcome.ids.has(id);
}
