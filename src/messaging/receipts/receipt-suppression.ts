import { type Kysely, sql } from 'kysely';
import { isOfKind } from '../../domain/account';
import type { Channel } from '../../domain/channel';
import { type RecipientFinding, recipientFinding } from '../../domain/delivery-codes';
import { LIMITS } from '../../domain/limits';
import { addressKey, type Suppression, type SuppressionSource } from '../../domain/suppression';
import type { AttemptResult } from '../model/attempt-result';
import type { MessagingTables } from '../model/tables';
import { upsertSuppressions } from '../suppression/suppression-rows';
import type { FromProvider, Targets } from './receipt-rows';
import { isHandedOver, targetOf } from './receipt-sort';

/**
 * Suppresses recipients by codes that concern them (domain/delivery-codes.ts). Call it before the receipts are
 * recorded. If the process is killed in between, the receipts come again. In the other order, a recorded
 * receipt would never suppress its recipient. Repeating it is harmless at any time, because a message counts as
 * one bounce.
 */
export async function suppressByReceipts(
  db: Kysely<MessagingTables>,
  receipts: readonly FromProvider[],
  targets: Targets,
): Promise<void> {
  // Reports that come together may say several things of one message: that its recipient complained, and unsubscribed.
  const about = new Map<string, Set<RecipientFinding>>();
  for (const from of receipts) {
    if (from.receipt.code === undefined) continue;
    const target = targetOf(from, targets);
    if (!target || !isOfKind(target.provider ?? '', from.provider) || !isHandedOver(target)) continue;
    const finding = recipientFinding(target.channel, from.receipt.code);
    if (finding) about.set(target.id, (about.get(target.id) ?? new Set()).add(finding));
  }
  if (about.size === 0) return;
  const { rows } = await sql<{ workspace_id: string } & Omit<Found, 'finding'>>`
    select id, workspace_id, channel, to_address as "to", from_address as "from"
    from messages where id = any(${[...about.keys()]}::text[]) and to_address is not null
  `.execute(db);
  for (const workspaceId of new Set(rows.map((row) => row.workspace_id))) {
    const ofWorkspace = rows.filter((row) => row.workspace_id === workspaceId);
    const found = ofWorkspace.flatMap((row) =>
      [...(about.get(row.id) ?? [])].map((finding) => ({ ...row, finding })),
    );
    await suppressFound(db, workspaceId, found);
  }
}

/**
 * What providers said about recipients as part of the messages' results. Write it in the transaction that
 * records the results.
 */
export function foundIn(attemptResults: readonly AttemptResult[]): Found[] {
  return attemptResults.flatMap((attemptResult): Found[] => {
    const { id, channel, to, from } = attemptResult.message;
    const finding = findingOf(attemptResult);
    return finding ? [{ id, channel, to, from, finding }] : [];
  });
}

/**
 * A message that ended after all attempts or its time counts as bounced if its last attempt did, as with a
 * relay that keeps it and gives up. A message that may still be delivered does not count.
 */
function findingOf({ message, state, code, data }: AttemptResult): RecipientFinding | undefined {
  if (state === 'rejected') return recipientFinding(message.channel, code);
  const last = state === 'failed' ? data?.lastCode : state === 'expired' ? message.lastCode : undefined;
  const finding = typeof last === 'string' ? recipientFinding(message.channel, last) : undefined;
  return finding === 'soft' ? finding : undefined;
}

/** A recipient about whom a provider said something, and the message it was said about. */
export interface Found {
  id: string;
  channel: Channel;
  to: string;
  from: string;
  finding: RecipientFinding;
}

/** All of one workspace. */
export async function suppressFound(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  found: readonly Found[],
): Promise<void> {
  const blocks: Record<'bounce' | 'complaint' | 'provider', Suppression[]> = {
    bounce: [],
    complaint: [],
    provider: [],
  };
  const soft: SoftBounce[] = [];
  for (const { id, channel, to: address, from, finding } of found) {
    if (finding === 'soft') soft.push({ messageId: id, address: addressKey(address) });
    else if (finding === 'opted_out')
      blocks.provider.push({ channel, address, reason: 'opted out at the carrier', sender: from });
    else {
      const source = finding === 'hard' ? 'bounce' : 'complaint';
      blocks[source].push({ channel, address, reason: REASON[finding], sender: undefined });
    }
  }
  for (const address of await tooSoft(db, workspaceId, soft)) {
    blocks.bounce.push({ channel: 'email', address, reason: REASON.soft, sender: undefined });
  }
  for (const [source, some] of Object.entries(blocks)) {
    await upsertSuppressions(db, workspaceId, some, source as SuppressionSource);
  }
}

const REASON = {
  hard: 'no such mailbox',
  soft: 'took nothing for days',
  complaint: 'called it spam',
} as const;

interface SoftBounce {
  messageId: string;
  address: string;
}

/** Records that these messages bounced today, once each. Returns the addresses that did so on too many days. */
async function tooSoft(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  bounces: readonly SoftBounce[],
): Promise<string[]> {
  if (bounces.length === 0) return [];
  // One order, so that two transactions that record the same bounces wait for each other instead of
  // deadlocking.
  const sorted = [...bounces].sort((a, b) => (a.messageId < b.messageId ? -1 : 1));
  const addresses = sorted.map((one) => one.address);
  await sql`
    insert into soft_bounces (workspace_id, address, message_id, day)
    select ${workspaceId}, address, message_id, (now() at time zone 'utc')::date
    from unnest(
      ${addresses}::text[], ${sorted.map((one) => one.messageId)}::text[]
    ) as given(address, message_id)
    on conflict do nothing
  `.execute(db);
  const { rows } = await sql<{ address: string }>`
    select address from soft_bounces
    where workspace_id = ${workspaceId} and address = any(${addresses}::text[])
      and day > (now() at time zone 'utc')::date - ${LIMITS.softBounceWindowDays}::int
    group by address having count(distinct day) >= ${LIMITS.softBounceDays}
  `.execute(db);
  return rows.map((row) => row.address);
}
