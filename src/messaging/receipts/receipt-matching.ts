import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { MessageState } from '../../domain/message';
import { messageReference } from '../../domain/message-reference';
import type { Receipt } from '../../providers/provider';
import { isText } from '../model/hashed-text';
import type { DeliveryObserver } from '../model/observer';
import type { MessagingTables } from '../model/tables';

/**
 * Matches receipts whose provider ids we never stored, because a process was killed before it recorded the
 * submission's answer. Such a message is `unknown`, and its receipt is among the early ones. The receipt goes
 * to the message if no other can be meant (docs/sms.md, decision 22):
 *
 * - The receipt has its recipient and sender and, where the carrier returns our reference, that too.
 * - No other message is possible. It must be the only one to the recipient from that sender that is under way,
 * `unknown`, sent without a receipt, or ended by some of its parts. Other ended messages have had their
 * receipts.
 * - There are no more such receipts than the message has parts.
 *
 * A receipt is first looked at when every answer that was under way as it came has been recorded.
 */
export interface ReceiptMatcher {
  /** The receipts that match now. Repeated before `settled`, it returns the same, or less. */
  find(options: { asOnePart: boolean }): Promise<Found[]>;
  settled(found: readonly Found[]): Promise<void>;
}

export interface Found {
  orphanId: string;
  partId: string;
  messageId: string;
  parts: number;
  receipt: Pick<Receipt, 'type' | 'code' | 'data'>;
}

interface Orphan {
  id: string;
  provider_id: string;
  to_address: string;
  from_address: string;
  reference: number | null;
  receipt: Receipt;
  received_at: Date;
  is_due: boolean;
  ambiguous: boolean;
}

interface Candidate {
  to_address: string;
  id: string;
  from_address: string;
  created_at: Date;
  /** It may be the message that is meant. */
  is_open: boolean;
  segments: number | null;
  /** Known ids of its parts. */
  known: string[];
}

/** Receipts looked at together; the others come next time. */
const LOOK_MAX = 500;
/** With this many candidates for a recipient there may be more, so that no match is certain. */
const CANDIDATES_MAX = 20;
/** States that the receipt of one part may cause while other parts have none. */
const PARTLY_ENDED: readonly MessageState[] = ['undelivered', 'failed', 'expired', 'rejected'];

interface ReceiptMatcherDeps {
  db: Kysely<MessagingTables>;
  provider: string;
  observer: DeliveryObserver | undefined;
}

export function createReceiptMatcher(deps: ReceiptMatcherDeps): ReceiptMatcher {
  return new StoredReceiptMatcher(deps);
}

class StoredReceiptMatcher implements ReceiptMatcher {
  constructor(private readonly deps: ReceiptMatcherDeps) {}

  readonly find: ReceiptMatcher['find'] = async ({ asOnePart }) => {
    const orphans = await this.readOrphans();
    if (orphans.length === 0) return [];
    const candidates = await this.readCandidates(
      [...new Set(orphans.map((one) => one.to_address))],
      asOnePart,
    );
    const found: Found[] = [];
    const ambiguous = new Set<Orphan>();
    for (const group of groupsOf(orphans)) {
      // The latest of the group: a message that it cannot belong to fits none of them.
      const latest = group.at(-1) as Orphan;
      const meant = candidates.filter((one) => fits(one, latest));
      const [only] = meant;
      if (!only) continue;
      const parts = asOnePart ? 1 : (only.segments ?? 1);
      const ids = new Set([...only.known, ...group.map((one) => one.provider_id)]);
      const isCrowded =
        candidates.filter((one) => one.to_address === latest.to_address).length >= CANDIDATES_MAX;
      if (isCrowded || meant.length > 1 || !only.is_open || ids.size > parts) {
        if (meant.some((one) => one.is_open)) for (const orphan of group) ambiguous.add(orphan);
        continue;
      }
      const by = latest.reference === null ? 'addresses' : 'reference';
      for (const { id, provider_id: partId, receipt, is_due } of group) {
        if (!is_due) continue;
        const { type, code, data } = receipt;
        const told = { type, code, data: { ...data, matchedBy: by } };
        found.push({ orphanId: id, partId, messageId: only.id, parts, receipt: told });
      }
    }
    const done = new Set(found.map(({ orphanId }) => orphanId));
    const left = orphans.filter((one) => one.is_due && !done.has(one.id));
    const newlyAmbiguous = left.filter((one) => ambiguous.has(one) && !one.ambiguous).length;
    await lookAgain(this.deps.db, left, ambiguous);
    if (newlyAmbiguous > 0) this.deps.observer?.lostIds(this.deps.provider, 'ambiguous', newlyAmbiguous);
    return found;
  };

  readonly settled: ReceiptMatcher['settled'] = async (found) => {
    await sql`
        delete from orphan_receipts where id = any(${found.map((one) => one.orphanId)}::text[])
      `.execute(this.deps.db);
    this.deps.observer?.lostIds(this.deps.provider, 'matched', found.length);
  };

  /** The due receipts, and all that compete with them. */
  private async readOrphans(): Promise<Orphan[]> {
    const { rows } = await sql<Orphan>`
      with due as (
        select id, to_address from orphan_receipts
        where provider = ${this.deps.provider} and look_at <= now() order by look_at limit ${LOOK_MAX}
      )
      select o.id, o.provider_id, o.to_address, o.from_address, o.reference, o.receipt, o.received_at, o.ambiguous,
        o.id in (select id from due) as is_due
      from orphan_receipts o
      where o.provider = ${this.deps.provider} and o.to_address in (select to_address from due)
      order by o.id
    `.execute(this.deps.db);
    return rows;
  }

  private async readCandidates(addresses: readonly string[], asOnePart: boolean): Promise<Candidate[]> {
    const { rows } = await sql<Candidate>`
      select a.to_address, m.id, m.from_address, m.created_at, m.segments, m.known,
        m.provider_id is null and m.state in ('unknown', ${sql.join(PARTLY_ENDED)}) as is_open
      from unnest(${addresses}::text[]) as a(to_address)
      cross join lateral (
        select c.*, p.known from messages c
        cross join lateral (
          select coalesce(array_agg(part_id), '{}') as known from sms_parts
          where message_id = c.id and provider = ${this.deps.provider}
        ) as p
        where c.channel = 'sms' and ${isText(sql`c.to_address`, sql`a.to_address`)} and case
          when c.state = 'accepted' then exists (
            select 1 from handover_batches b where b.provider = ${this.deps.provider} and c.id = any(b.message_ids)
          )
          when c.provider <> ${this.deps.provider} or c.updated_at < now() - ${LIMITS.orphanReceiptHours} * interval '1 hour'
            then false
          when c.state in ('sent', 'unknown') then true
          when c.state in (${sql.join(PARTLY_ENDED)}) then not ${asOnePart}::boolean
            and cardinality(p.known) between 1 and c.segments - 1
          else false
        end
        order by c.created_at desc limit ${CANDIDATES_MAX}
      ) as m
    `.execute(this.deps.db);
    return rows;
  }
}

/** Postpones the next look more each time, because a message that is not clear after an hour rarely becomes so. */
async function lookAgain(
  db: Kysely<MessagingTables>,
  orphans: readonly Orphan[],
  ambiguous: ReadonlySet<Orphan>,
): Promise<void> {
  if (orphans.length === 0) return;
  await sql`
    update orphan_receipts o set
      ambiguous = o.ambiguous or r.ambiguous,
      look_at = now() + least(
        greatest(now() - o.received_at, ${LIMITS.lostIdFirstLookMs} * interval '1 millisecond'),
        interval '1 hour'
      )
    from unnest(
      ${orphans.map(({ id }) => id)}::text[],
      ${orphans.map((orphan) => ambiguous.has(orphan))}::boolean[]
    ) as r(id, ambiguous)
    where o.id = r.id
  `.execute(db);
}

/** Receipts that may belong to one message. */
function groupsOf(orphans: readonly Orphan[]): Orphan[][] {
  const groups = new Map<string, Orphan[]>();
  for (const orphan of orphans) {
    const key = JSON.stringify([orphan.to_address, senderOf(orphan.from_address), orphan.reference]);
    groups.set(key, [...(groups.get(key) ?? []), orphan]);
  }
  return [...groups.values()];
}

const fits = (candidate: Candidate, { to_address, from_address, reference, received_at }: Orphan): boolean =>
  candidate.to_address === to_address &&
  senderOf(candidate.from_address) === senderOf(from_address) &&
  candidate.created_at.getTime() < received_at.getTime() + CLOCKS_DIFFER_MS &&
  (reference === null || messageReference(candidate.id) === reference);

/** The accepting process dates a message, and clocks may differ by this much. */
const CLOCKS_DIFFER_MS = 60_000;

/** Centres write a number with or without its plus. */
const senderOf = (address: string): string => address.replace(/^\+/, '').toLowerCase();
