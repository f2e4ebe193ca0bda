import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { InboundSink } from '../../providers/provider';
import { newId } from '../../storage/new-id';
import type { MessagingTables } from '../model/tables';

interface InboundPart {
  from: string;
  to: string;
  text: string;
  joined: { reference: number; total: number; number: number };
}

/** Parts of long inbound SMS that were acknowledged to the centre before the whole was there. Any process completes them. */
export interface InboundParts {
  /** Repeating it changes nothing. */
  keep(parts: readonly InboundPart[]): Promise<void>;
  /**
   * Passes the messages to `take` that are complete, or that have waited long enough for the rest, and forgets them. After a
   * crash in between, or by another process, one comes with the same id again.
   */
  takeWhole(take: InboundSink): Promise<void>;
}

export function createInboundParts({
  db,
  provider,
}: {
  db: Kysely<MessagingTables>;
  provider: string;
}): InboundParts {
  return {
    async keep(parts) {
      // One statement may write a row once.
      const rows = [
        ...new Map(parts.map((one) => [JSON.stringify([one.from, one.to, one.joined]), one])).values(),
      ];
      await sql`
        insert into inbound_parts (provider, from_address, to_address, reference, parts, number, id, octets)
        select ${provider}, r.from_address, r.to_address, r.reference, r.parts, r.number, r.id, decode(r.octets, 'hex')
        from unnest(
          ${rows.map(({ from }) => from)}::text[],
          ${rows.map(({ to }) => to)}::text[],
          ${rows.map(({ joined }) => joined.reference)}::int[],
          ${rows.map(({ joined }) => joined.total)}::int[],
          ${rows.map(({ joined }) => joined.number)}::int[],
          ${rows.map(() => newId('inp'))}::text[],
          ${rows.map(({ text }) => Buffer.from(text, 'utf16le').toString('hex'))}::text[]
        ) as r(from_address, to_address, reference, parts, number, id, octets)
        on conflict (provider, from_address, to_address, reference, parts, number) do update set
          id = excluded.id, octets = excluded.octets, created_at = now()
        -- Otherwise the centre sent the same part again, because its acknowledgement was lost.
        where inbound_parts.octets <> excluded.octets
      `.execute(db);
    },
    async takeWhole(take) {
      await closeOverdue(db, provider);
      const { rows } = await sql<Whole>`
        select from_address, to_address, min(id) as id, max(created_at) as at, array_agg(id) as ids,
          string_agg(octets, ''::bytea order by number) as octets
        from inbound_parts where provider = ${provider}
        group by from_address, to_address, reference, parts
        having count(*) = parts
        limit ${LIMITS.receiptBatch}
      `.execute(db);
      if (rows.length === 0) return;
      await take(
        rows.map(({ id, from_address: from, to_address: to, octets, at }) => ({
          ...{ id, from, to, text: octets.toString('utf16le'), at: at.toISOString() },
        })),
      );
      // By their ids, because the first part of a later message may have taken the place of one meanwhile.
      await sql`
        delete from inbound_parts where provider = ${provider} and id = any(${rows.flatMap(({ ids }) => ids)}::text[])
      `.execute(db);
    },
  };
}

/**
 * Makes what has waited long enough a message of one part, under a number of its own. Its rest may be stored while it is
 * given, so that another process would give the whole as well, with the same id and another text.
 */
async function closeOverdue(db: Kysely<MessagingTables>, provider: string): Promise<void> {
  const overdue = sql`
    select from_address, to_address, reference, parts from inbound_parts where provider = ${provider}
    group by from_address, to_address, reference, parts
    having count(*) < parts and min(created_at) < now() - ${LIMITS.inboundPartsMs} * interval '1 millisecond'
  `;
  if ((await overdue.execute(db)).rows.length === 0) return;
  await db.transaction().execute(async (tx) => {
    // Of two processes at once, each might take some of a message's parts.
    await sql`select pg_advisory_xact_lock(hashtextextended(${`inbound parts of ${provider}`}, 0))`.execute(
      tx,
    );
    await sql`
      with gone as (
        delete from inbound_parts i using (${overdue}) o where i.provider = ${provider}
          and (i.from_address, i.to_address, i.reference, i.parts) = (o.from_address, o.to_address, o.reference, o.parts)
        returning i.*
      )
      insert into inbound_parts (provider, from_address, to_address, reference, parts, number, id, octets, created_at)
      -- Those of centres are not negative.
      select provider, from_address, to_address, -ceil(random() * ${REFERENCES})::int, 1, 1, min(id),
        string_agg(octets, ''::bytea order by number), max(created_at)
      from gone group by provider, from_address, to_address, reference, parts
    `.execute(tx);
  });
}

/** Numbers to draw from, so that two messages between the same numbers do not get one. */
const REFERENCES = 2_000_000_000;

interface Whole {
  from_address: string;
  to_address: string;
  id: string;
  at: Date;
  ids: string[];
  octets: Buffer;
}
