import { type Kysely, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import { type RecipientFinding, recipientFinding } from '../../domain/delivery-codes';
import { LIMITS } from '../../domain/limits';
import { addressKey, type Suppression, type SuppressionSource } from '../../domain/suppression';
import type { Verdict } from '../outbox/verdict';
import { upsertSuppressions } from '../suppression/suppression-rows';
import type { MessagingTables } from '../tables';
import type { FromProvider, Targets } from './receipt-rows';
import { isHandedOver, targetOf } from './receipt-sort';

/**
 * Codes that say something about the recipient (domain/delivery-codes.ts) block it. To be called before the
 * receipts are recorded: killed in between, they are told again; the other way round a receipt that is known
 * as told would never block anybody. Twice is as once, whenever that is: a message is one bounce.
 */
export async function suppressByReceipts(
  db: Kysely<MessagingTables>,
  receipts: readonly FromProvider[],
  targets: Targets,
): Promise<void> {
  const about = new Map<string, RecipientFinding>();
  for (const from of receipts) {
    if (from.receipt.code === undefined) continue;
    const target = targetOf(from, targets);
    if (!target || target.provider !== from.provider || !isHandedOver(target)) continue;
    const finding = recipientFinding(target.channel, from.receipt.code);
    if (finding) about.set(target.id, finding);
  }
  if (about.size === 0) return;
  const { rows } = await sql<{ workspace_id: string } & Omit<Found, 'finding'>>`
    select id, workspace_id, channel, to_address as "to", from_address as "from"
    from messages where id = any(${[...about.keys()]}::text[])
  `.execute(db);
  for (const workspaceId of new Set(rows.map((row) => row.workspace_id))) {
    const ofWorkspace = rows.filter((row) => row.workspace_id === workspaceId);
    const found = ofWorkspace.map((row) => ({ ...row, finding: about.get(row.id) as RecipientFinding }));
    await suppressFound(db, workspaceId, found);
  }
}

/**
 * What a provider said of the recipient at once, by the message's end. To be written in the transaction that
 * records the verdicts.
 */
export function foundIn(verdicts: readonly Verdict[]): Found[] {
  return verdicts.flatMap((verdict): Found[] => {
    const { id, channel, to, from } = verdict.message;
    const finding = findingOf(verdict);
    return finding ? [{ id, channel, to, from, finding }] : [];
  });
}

/**
 * One that was tried until its attempts or its time were over bounced if the last try did, as it would have
 * with a relay that keeps it and gives it up. A message that may still be taken did not.
 */
function findingOf({ message, state, code, data }: Verdict): RecipientFinding | undefined {
  if (state === 'rejected') return recipientFinding(message.channel, code);
  const last = state === 'failed' ? data?.lastCode : state === 'expired' ? message.lastCode : undefined;
  const finding = typeof last === 'string' ? recipientFinding(message.channel, last) : undefined;
  return finding === 'soft' ? finding : undefined;
}

/** Somebody of whom a provider said something, and the message that brought it to light. */
export interface Found {
  id: string;
  channel: Channel;
  to: string;
  from: string;
  finding: RecipientFinding;
}

/** Of one workspace. */
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

/**
 * Notes that these bounced today, unless they did before, and answers the addresses of those that did on too
 * many days.
 */
async function tooSoft(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  bounces: readonly SoftBounce[],
): Promise<string[]> {
  if (bounces.length === 0) return [];
  // In one order, so that two who note the same wait for each other instead of ending in a deadlock.
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
