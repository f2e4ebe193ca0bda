import { hash } from 'node:crypto';
import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { accountIdOf } from '../../domain/account';
import { LIMITS } from '../../domain/limits';
import type { KeywordAction, KeywordReading } from '../../domain/opt-out-keywords';
import { senderKey } from '../../domain/suppression';
import type { InboundSms } from '../../providers/provider';
import { newId } from '../../storage/new-id';
import { eventOf } from '../events/event-rows';
import { isText } from '../model/hashed-text';
import type { MessagingTables } from '../model/tables';
import type { ReceiptTarget } from '../receipts/receipt-change';
import { type TargetRow, targetOf, writeChanges } from '../receipts/receipt-rows';
import { liftSuppressions } from '../suppression/lift-suppressions';
import { senderKeySql } from '../suppression/suppression-check';

/** A workspace that a subscriber answers, and its last message to them, if it is kept. */
export interface Correspondent {
  workspaceId: string;
  sender: string;
  target: ReceiptTarget | undefined;
}

/** A reply that a subscriber is to get, with the inbound message it answers. */
export interface OwedReply {
  /** Id of the inbound message. */
  id: string;
  kind: KeywordAction;
  messageId: string;
  workspaceId: string;
  from: string;
  to: string;
  language: string;
  receivedAt: Date;
}

type Transacted = Transaction<MessagingTables>;

/** `undefined` when the message was stored before. */
export async function insertInbound(
  tx: Transacted,
  provider: string,
  sms: InboundSms,
  action: KeywordReading['action'],
): Promise<string | undefined> {
  const { id, from, to, text } = sms;
  const row = await tx
    .insertInto('inbound_messages')
    .values({
      id: newId('inb'),
      provider,
      fingerprint: hash('sha256', JSON.stringify([id, from, to, text]), 'base64url'),
      action,
    })
    .onConflict((conflict) => conflict.columns(['provider', 'fingerprint']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return row?.id;
}

/**
 * The workspaces that wrote to a subscriber from that sender, each once, by id. Several may share a number, and
 * the SMS does not say which is meant. The last message that left counts before one that did not. If no such
 * message is kept, it is every workspace that uses the sender.
 *
 * At another account the same short code or name is another sender, so that a workspace counts only if it may use the account
 * that was answered, or if that account carried its message.
 */
export async function findCorrespondents(
  tx: Kysely<MessagingTables>,
  { provider, subscriber, senders }: { provider: string; subscriber: string; senders: readonly string[] },
): Promise<Correspondent[]> {
  const mayUse = (workspaceId: RawBuilder<unknown>) => isOpenTo(provider, workspaceId);
  const { rows } = await sql<TargetRow & { from_address: string }>`
    select distinct on (m.workspace_id) m.id, m.workspace_id, m.uid, m.channel, m.campaign, m.state,
      m.attempt, m.provider, m.history, m.from_address
    from messages m
    where m.channel = 'sms' and ${isText(sql`m.to_address`, sql`${subscriber}::text`)}
      and ${senderKeySql(sql`m.from_address`)} = any(${senders}::text[])
      and (m.provider = ${provider} or ${mayUse(sql`m.workspace_id`)})
      and not exists (select 1 from inbound_messages i where i.reply_id = m.id)
    order by m.workspace_id,
      m.state in ('scheduled', 'accepted', 'suppressed', 'canceled', 'expired'), m.id desc
    limit ${LIMITS.workspacesPerSender}
  `.execute(tx);
  if (rows.length > 0) {
    return rows.map(({ from_address, ...row }) => ({
      workspaceId: row.workspace_id,
      sender: from_address,
      target: targetOf(row),
    }));
  }
  const users = await tx
    .selectFrom('sms_senders')
    .selectAll()
    .where('sender', '=', sql<string>`any(${senders}::text[])`)
    .where(mayUse(sql`workspace_id`))
    .orderBy('workspace_id')
    .limit(LIMITS.workspacesPerSender)
    .execute();
  return users.map(({ workspace_id, sender }) => ({ workspaceId: workspace_id, sender, target: undefined }));
}

/** SQL: any workspace may use an account of the environment, and some kinds of carriers do not say which account was answered. */
const isOpenTo = (provider: string, workspaceId: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql`not exists (
    select from accounts where id = ${accountIdOf(provider, 'sms')} and not workspaces && array['*', ${workspaceId}]
  )`;

/** Adds an event to the message that was answered. A message with the most events gets no more. */
export async function tellInbound(
  tx: Transacted,
  found: ReceiptTarget,
  data: Record<string, unknown>,
): Promise<boolean> {
  let target: ReceiptTarget | undefined = found;
  for (let round = 0; target && round < ROUNDS_MAX; round++) {
    if (target.history.length >= LIMITS.messageEvents) return false;
    const event = eventOf(
      { id: target.id, uid: target.uid, channel: target.channel, campaign: target.campaign ?? undefined },
      { type: 'inbound', state: target.state, data },
    );
    const written = await writeChanges(tx, target.workspace_id, [{ target, event }]);
    if (written.size > 0) return true;
    // A receipt or an erasure has changed the message in between.
    const { rows } = await sql<TargetRow>`
      select id, workspace_id, uid, channel, campaign, state, attempt, provider, history, to_address is null as erased
      from messages where id = ${found.id}
    `.execute(tx);
    target = rows[0] && targetOf(rows[0]);
  }
  return false;
}
const ROUNDS_MAX = 10;

/** Lifts suppressions made by keywords, and no others. Returns whether there were any. */
export async function liftKeyword(
  tx: Transacted,
  { workspaceId, sender }: Correspondent,
  address: string,
): Promise<boolean> {
  const made = sql<boolean>`sender = ${senderKey(sender)} and source = 'keyword'`;
  return (await liftSuppressions(tx, { workspaceId, address, channel: 'sms' }, made, 'keyword')) > 0;
}

/** Stores a pending reply, unless the subscriber has had the day's most replies. */
export async function oweReply(tx: Transacted, owed: Omit<OwedReply, 'receivedAt' | 'messageId'>) {
  await sql`
    update inbound_messages set reply = ${owed.kind}, reply_id = ${newId('msg')},
      reply_workspace = ${owed.workspaceId}, reply_from = ${owed.from}, reply_to = ${owed.to},
      reply_language = ${owed.language}
    where id = ${owed.id} and (
      select count(*) from inbound_messages
      where reply_to = ${owed.to} and received_at > now() - interval '1 day' and reply_id is not null
    ) < ${LIMITS.repliesPerDay}
  `.execute(tx);
}

/** Pending replies, of one inbound message or of all. */
export async function readOwed(db: Kysely<MessagingTables>, id?: string): Promise<OwedReply[]> {
  let query = db
    .selectFrom('inbound_messages')
    .selectAll()
    .where('reply_id', 'is not', null)
    .where('replied_at', 'is', null);
  if (id !== undefined) query = query.where('id', '=', id);
  const rows = await query.orderBy('received_at').limit(LIMITS.repliesAtOnce).execute();
  return rows.flatMap((row) => {
    const { reply, reply_id, reply_workspace, reply_from, reply_to, reply_language } = row;
    if (!reply || !reply_id || !reply_workspace || !reply_from || !reply_to || !reply_language) return [];
    return [
      {
        id: row.id,
        kind: reply,
        messageId: reply_id,
        workspaceId: reply_workspace,
        from: reply_from,
        to: reply_to,
        language: reply_language,
        receivedAt: row.received_at,
      },
    ];
  });
}

export async function markReplied(db: Kysely<MessagingTables>, id: string): Promise<void> {
  await db
    .updateTable('inbound_messages')
    .set({ replied_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}
