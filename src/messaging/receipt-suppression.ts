import { type Kysely, sql } from 'kysely';
import type { Channel } from '../domain/channel';
import { type RecipientFinding, recipientFinding } from '../domain/delivery-codes';
import { LIMITS } from '../domain/limits';
import { addressKey, type Suppression, type SuppressionSource } from '../domain/suppression';
import type { FromProvider, Targets } from './receipt-rows';
import { isHandedOver, targetOf } from './receipt-sort';
import { upsertSuppressions } from './suppression-rows';
import type { MessagingTables } from './tables';
import type { Verdict } from './verdict';

/**
 * Codes that say something about the recipient (domain/delivery-codes.ts) block it. To be called before the
 * receipts or verdicts are recorded: killed in between, they are told again, or are in doubt, and the block
 * stands; the other way round a receipt that is known as told would never block anybody. Twice is as once.
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
  const { rows } = await sql<{ id: string; workspace_id: string } & Omit<Found, 'finding'>>`
    select id, workspace_id, channel, to_address as "to", from_address as "from"
    from messages where id = any(${[...about.keys()]}::text[])
  `.execute(db);
  for (const workspaceId of new Set(rows.map((row) => row.workspace_id))) {
    const ofWorkspace = rows.filter((row) => row.workspace_id === workspaceId);
    const found = ofWorkspace.map((row) => ({ ...row, finding: about.get(row.id) as RecipientFinding }));
    await suppressFound(db, workspaceId, found);
  }
}

/** The same for what a provider said at once. Verdicts of one workspace. */
export async function suppressByVerdicts(
  db: Kysely<MessagingTables>,
  verdicts: readonly Verdict[],
): Promise<void> {
  const found = verdicts.flatMap(({ message, state, code }): Found[] => {
    if (state !== 'rejected') return [];
    const finding = recipientFinding(message.channel, code);
    return finding ? [{ channel: message.channel, to: message.to, from: message.from, finding }] : [];
  });
  const workspaceId = verdicts[0]?.message.workspaceId;
  if (workspaceId !== undefined && found.length > 0) await suppressFound(db, workspaceId, found);
}

interface Found {
  channel: Channel;
  to: string;
  from: string;
  finding: RecipientFinding;
}

async function suppressFound(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  found: readonly Found[],
): Promise<void> {
  const blocks: Record<'bounce' | 'complaint' | 'provider', Suppression[]> = {
    bounce: [],
    complaint: [],
    provider: [],
  };
  const soft: string[] = [];
  for (const { channel, to: address, from, finding } of found) {
    if (finding === 'soft') soft.push(addressKey(address));
    else if (finding === 'opted_out')
      blocks.provider.push({ channel, address, reason: 'opted out at the carrier', sender: from });
    else {
      const source = finding === 'hard' ? 'bounce' : 'complaint';
      blocks[source].push({ channel, address, reason: REASON[finding], sender: undefined });
    }
  }
  for (const address of await tooSoft(db, workspaceId, [...new Set(soft)])) {
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

/** Notes that these bounced today, and answers those that did on too many days. */
async function tooSoft(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  addresses: readonly string[],
): Promise<string[]> {
  if (addresses.length === 0) return [];
  await sql`
    insert into soft_bounces (workspace_id, address, day)
    select ${workspaceId}, address, (now() at time zone 'utc')::date
    from unnest(${[...addresses].sort()}::text[]) as given(address)
    on conflict do nothing
  `.execute(db);
  const { rows } = await sql<{ address: string }>`
    select address from soft_bounces
    where workspace_id = ${workspaceId} and address = any(${addresses}::text[])
      and day > (now() at time zone 'utc')::date - ${LIMITS.softBounceWindowDays}::int
    group by address having count(*) >= ${LIMITS.softBounceDays}
  `.execute(db);
  return rows.map((row) => row.address);
}
