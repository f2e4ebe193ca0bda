import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { ReceiptType } from '../../domain/message';
import type { Receipt } from '../../providers/provider';
import { carriersMessages } from '../model/carrier-ids';
import type { DeliveryObserver } from '../model/observer';
import type { MessagingTables } from '../model/tables';
import { createReceiptMatcher, type ReceiptMatcher } from './receipt-matching';
import { handedOverMs, meansAnother, meantOf, type TargetRow } from './receipt-rows';

/**
 * Messages sent in several parts, for providers whose carrier reports each part separately. A message is
 * delivered when all of its parts are, and has ended otherwise as soon as one of them has. A process first
 * writes what it learns and then reads what all parts say, so that the later of two processes sees everything.
 * A repeated report has the same result.
 */
export interface SmsParts {
  record(messages: readonly SentInParts[]): Promise<void>;
  resolve(receipts: readonly OfPart[]): Promise<Receipt[]>;
  takeEarly(tell: (receipts: Receipt[]) => Promise<void>): Promise<void>;
  settleLost(tell: (receipts: Receipt[]) => Promise<void>, options: { asOnePart: boolean }): Promise<void>;
}

interface SentInParts {
  id: string;
  parts: number;
  partIds: readonly string[];
}

type Said = Pick<Receipt, 'type' | 'code' | 'data'>;

interface OfPart {
  /** The likeliest first. */
  candidates: readonly string[];
  known: { messageId: string; parts: number } | undefined;
  receipt: Said;
  about?: Receipt['about'];
}

interface SaidOfPart {
  partId: string;
  messageId: string;
  parts: number;
  receipt: Said;
}

const EARLY_MAX = 1_000;

interface SmsPartsDeps {
  db: Kysely<MessagingTables>;
  provider: string;
  observer?: DeliveryObserver | undefined;
}

export function createSmsParts(deps: SmsPartsDeps): SmsParts {
  return new StoredParts(deps);
}

class StoredParts implements SmsParts {
  private readonly lostIds: ReceiptMatcher;

  constructor(private readonly deps: SmsPartsDeps) {
    this.lostIds = createReceiptMatcher({ db: deps.db, provider: deps.provider, observer: deps.observer });
  }

  readonly record: SmsParts['record'] = async (messages) => {
    const rows = messages.flatMap(({ id, parts, partIds }) =>
      partIds.map((partId) => ({ id, parts, partId })),
    );
    if (rows.length === 0) return;
    await sql`
        insert into sms_parts (provider, part_id, message_id, parts)
        select distinct on (r.part_id) ${this.deps.provider}, r.part_id, r.message_id, r.parts
        from unnest(
          ${rows.map((one) => one.partId)}::text[],
          ${rows.map((one) => one.id)}::text[],
          ${rows.map((one) => one.parts)}::int[]
        ) as r(part_id, message_id, parts)
        on conflict (provider, part_id) do update set
          message_id = excluded.message_id, parts = excluded.parts, created_at = now(),
          type = case when sms_parts.message_id = excluded.message_id then sms_parts.type end,
          code = case when sms_parts.message_id = excluded.message_id then sms_parts.code end,
          data = case when sms_parts.message_id = excluded.message_id then sms_parts.data end
      `.execute(this.deps.db);
  };

  readonly resolve = async (receipts: readonly OfPart[]): Promise<Receipt[]> => {
    const found = await this.locate(receipts);
    const said: SaidOfPart[] = [];
    const others: Receipt[] = [];
    for (const [i, { candidates, known, receipt, about }] of receipts.entries()) {
      const place = found.get(i);
      const partId = place?.part_id ?? candidates[0] ?? '';
      if (known) said.push({ partId, ...known, receipt });
      else if (place?.message_id) {
        said.push({ partId, messageId: place.message_id, parts: place.parts, receipt });
      } else others.push({ providerId: partId, ...receipt, about });
    }
    if (said.length === 0) return others;
    await this.write(said);
    return [...others, ...(await this.wholes([...new Set(said.map((one) => one.messageId))]))];
  };

  readonly settleLost: SmsParts['settleLost'] = async (tell, options) => {
    const found = await this.lostIds.find(options);
    if (found.length === 0) return;
    // Stored as parts, even for a single part, so that a repetition is recognised.
    const told = await this.resolve(
      found.map(({ partId, messageId, parts, receipt }) => ({
        candidates: [partId],
        known: { messageId, parts },
        receipt,
      })),
    );
    if (told.length > 0) await tell(told);
    await this.lostIds.settled(found);
  };

  readonly takeEarly: SmsParts['takeEarly'] = async (tell) => {
    // Receipts that came to a process that did not know the part yet are among the early ones of all
    // providers.
    const { rows } = await sql<EarlyRow>`
        select o.id, p.part_id, o.receipt, o.to_address, o.from_address from orphan_receipts o
        join sms_parts p on p.provider = o.provider and p.part_id = o.provider_id
        left join messages m on m.id = p.message_id
        where o.provider = ${this.deps.provider}
          and not ${meansAnother(sql`p.provider`, sql`m.to_address`, sql`o.to_address`)}
        order by o.id limit ${EARLY_MAX}
      `.execute(this.deps.db);
    if (rows.length > 0) {
      const receipts = rows.map(
        ({ part_id, receipt: { type, code, data }, to_address: to, from_address: from }) => ({
          candidates: [part_id],
          known: undefined,
          receipt: { type, code, data },
          about: to === null || from === null ? undefined : { to, from },
        }),
      );
      const told = await this.resolve(receipts);
      if (told.length > 0) await tell(told);
      await sql`delete from orphan_receipts where id = any(${rows.map((row) => row.id)}::text[])`.execute(
        this.deps.db,
      );
    }
    await sql`
        delete from sms_parts where (provider, part_id) in (
          select provider, part_id from sms_parts
          where created_at < now() - ${LIMITS.smsPartHours} * interval '1 hour'
          limit ${LIMITS.retentionRows}
        )
      `.execute(this.deps.db);
  };

  /**
   * Finds which of the candidates exists, among parts and among messages of one part. Where both are of that name, because the
   * centre has begun to count again, it is the message that is meant.
   */
  private async locate(receipts: readonly OfPart[]): Promise<Map<number, Place>> {
    const { provider } = this.deps;
    const asked = receipts.flatMap(({ candidates, known, about }, i) =>
      known ? [] : candidates.map((partId, rank) => ({ i, rank, partId, to: about?.to ?? null })),
    );
    if (asked.length === 0) return new Map();
    const { rows } = await sql<
      Place & {
        i: number;
        created_at: Date;
        to: string | null;
        others: OnePart[] | null;
        means_another: boolean;
      }
    >`
      select distinct on (c.i) c.i, c.part_id, p.message_id, p.parts, p.created_at, m.to_address as to, o.others,
        p.part_id is not null and ${meansAnother(sql`p.provider`, sql`m.to_address`, sql`c.named`)} as means_another
      from unnest(
        ${asked.map((one) => one.i)}::int[],
        ${asked.map((one) => one.rank)}::int[],
        ${asked.map((one) => one.partId)}::text[],
        ${asked.map((one) => one.to)}::text[]
      ) as c(i, rank, part_id, named)
      left join sms_parts p on p.provider = ${provider} and p.part_id = c.part_id
      left join messages m on m.id = p.message_id
      left join lateral (
        select jsonb_agg(jsonb_build_object(
          'to', w.to_address, 'history', w.history, 'provider', w.provider, 'attempt', w.attempt)) as others
        from ${carriersMessages(sql`${provider}`, sql`c.part_id`)} k join messages w on w.id = k.message_id
        where p.part_id is not null having count(*) > 0
      ) o on true
      where p.part_id is not null
        or exists (select 1 from ${carriersMessages(sql`${provider}`, sql`c.part_id`)} k)
      order by c.i, c.rank
    `.execute(this.deps.db);
    return new Map(
      rows.map(({ i, created_at, to, others, means_another, ...place }) => {
        const part = { to, atMs: created_at?.getTime(), message_id: place.message_id };
        const wholes = (others ?? []).map((one) => ({
          to: one.to,
          atMs: handedOverMs(one),
          message_id: null,
        }));
        const meant = others ? meantOf([part, ...wholes], receipts[i]?.about?.to) : part;
        const isPart = meant === part && !means_another;
        return [i, { ...place, message_id: isPart ? part.message_id : null }];
      }),
    );
  }

  /**
   * One statement may write a row once. Of several receipts of one part the last counts, as if they came one by
   * one.
   */
  private async write(said: readonly SaidOfPart[]): Promise<void> {
    const rows = [...new Map(said.map((one) => [one.partId, one])).values()];
    await sql`
      insert into sms_parts (provider, part_id, message_id, parts, type, code, data)
      select ${this.deps.provider}, r.part_id, r.message_id, r.parts, r.type, r.code, r.data::jsonb
      from unnest(
        ${rows.map((one) => one.partId)}::text[],
        ${rows.map((one) => one.messageId)}::text[],
        ${rows.map((one) => one.parts)}::int[],
        ${rows.map(({ receipt }) => receipt.type)}::text[],
        ${rows.map(({ receipt }) => receipt.code ?? null)}::text[],
        ${rows.map(({ receipt }) => (receipt.data ? JSON.stringify(receipt.data) : null))}::text[]
      ) as r(part_id, message_id, parts, type, code, data)
      on conflict (provider, part_id) do update set
        message_id = excluded.message_id, parts = excluded.parts,
        type = excluded.type, code = excluded.code, data = excluded.data
    `.execute(this.deps.db);
  }

  /** The messages whose parts have reported enough. */
  private async wholes(messageIds: readonly string[]): Promise<Receipt[]> {
    const { rows } = await sql<Said & { message_id: string; parts: number }>`
      select message_id, parts, type, code, data from sms_parts
      where message_id = any(${messageIds}::text[]) and provider = ${this.deps.provider} and type is not null
      order by message_id, part_id
    `.execute(this.deps.db);
    const byMessage = new Map<string, typeof rows>();
    for (const row of rows) byMessage.set(row.message_id, [...(byMessage.get(row.message_id) ?? []), row]);
    return [...byMessage].flatMap(([id, parts]) => {
      const worst = worstOf(parts);
      const isWhole = worst.type !== 'delivered' || parts.length >= (parts[0]?.parts ?? 1);
      if (!isWhole) return [];
      return [{ id, type: worst.type, code: worst.code ?? undefined, data: worst.data ?? undefined }];
    });
  }
}

interface EarlyRow {
  id: string;
  part_id: string;
  receipt: Said;
  to_address: string | null;
  from_address: string | null;
}

type OnePart = Pick<TargetRow, 'history' | 'provider' | 'attempt'> & { to: string | null };

interface Place {
  part_id: string;
  /** `null` for a message of one part. */
  message_id: string | null;
  parts: number;
}

/** From worst to best; other types do not end a message. */
const ORDER: readonly ReceiptType[] = ['rejected', 'failed', 'undelivered', 'expired', 'delivered'];

const worstOf = <T extends Said>(parts: readonly T[]): T =>
  parts.reduce((worst, part) => (ORDER.indexOf(part.type) < ORDER.indexOf(worst.type) ? part : worst));
