import { type Kysely, sql, type Transaction } from 'kysely';
import { type Erased, withoutPerson } from '../../domain/erasure';
import { LIMITS } from '../../domain/limits';
import { whileErased } from '../events/event-rows';
import { seqOf, withData } from '../events/history';
import { idsOfMessagesTo } from '../events/messages-to-person';
import type { StoredEvent } from '../model/stored-event';
import type { MessagingTables } from '../model/tables';

/**
 * What the messaging half forgets of a person (api.md 16). Each step, after those that wait were canceled
 * (cancellations.ts), changes some rows and answers how many; repeated until all answer 0, and after a crash from the
 * beginning, they leave nothing.
 */

/** How many messages to the person still wait, or are with a provider. */
export async function countWaiting(db: Kysely<MessagingTables>, person: Erased): Promise<number> {
  const { rows } = await sql<{ waiting: number }>`
    select count(*)::int as waiting from (${idsOfMessagesTo(person)}) found`.execute(db);
  return rows[0]?.waiting ?? 0;
}

interface Found {
  id: string;
  history: StoredEvent[];
  accepted_seq: number;
}

/** Messages that have ended, each with its events and their deliveries to webhooks. */
export async function eraseMessages(db: Kysely<MessagingTables>, person: Erased): Promise<number> {
  return db.transaction().execute(async (tx) => {
    await whileErased(person.workspaceId).execute(tx);
    const { rows } = await sql<Found>`
      select id, history, accepted_seq from messages
      where id = any(array(${idsOfMessagesTo(person, sql`due_at is null`)} limit ${LIMITS.erasedMessages}))
        and due_at is null and to_address is not null
      order by id for update`.execute(tx);
    if (rows.length === 0) return 0;
    const ids = rows.map(({ id }) => id);
    const seqs = rows.flatMap(({ history, accepted_seq }) => [accepted_seq, ...history.map(seqOf)]);
    await eraseEvents(tx, person, ids, seqs);
    await eraseDeliveries(tx, person, seqs);
    // The rendered document, and what was entered.
    await sql`delete from vendor_calls where message_id = any(${ids}::text[])`.execute(tx);
    await sql`delete from orphan_receipts where message_id = any(${ids}::text[])`.execute(tx);
    await sql`update sms_parts set data = null where message_id = any(${ids}::text[])`.execute(tx);
    await sql`
      update messages m set to_address = null, params = '{}', subject = null, body = null, voice = null,
        history = r.history::jsonb
      from unnest(${ids}::text[], ${rows.map(({ history }) => erasedHistory(history, person))}::text[]) as r(id, history)
      where m.id = r.id`.execute(tx);
    return rows.length;
  });
}

/** Only data from carriers has free text; states, codes and times stay as they are. */
const erasedHistory = (history: Found['history'], person: Erased): string =>
  JSON.stringify(history.map((event) => withData(event, (data) => withoutPerson(data, person))));

/** A row of the log has the events of many messages, of which the others stay as they are. */
async function eraseEvents(
  tx: Transaction<MessagingTables>,
  person: Erased,
  ids: readonly string[],
  seqs: readonly number[],
): Promise<void> {
  const own = new Set(ids);
  const { rows } = await sql<{ first_seq: number; events: string }>`
    select e.first_seq, e.events::text as events from (
      select distinct (
        select max(first_seq) from event_log where workspace_id = ${person.workspaceId} and first_seq <= s.seq
      ) as first_seq from unnest(${seqs}::int8[]) as s(seq)
    ) found
    join event_log e on e.workspace_id = ${person.workspaceId} and e.first_seq = found.first_seq
    order by e.first_seq for update of e`.execute(tx);
  for (const { first_seq, events } of rows) {
    const all = JSON.parse(events) as ({ id: string; data?: unknown } | null)[];
    const left = all.map((event) =>
      event && own.has(event.id) && event.data !== undefined
        ? { ...event, data: withoutPerson(event.data, person) }
        : event,
    );
    const text = JSON.stringify(left);
    if (text === events) continue;
    await sql`update event_log set events = ${text}::json
      where workspace_id = ${person.workspaceId} and first_seq = ${first_seq}`.execute(tx);
  }
}

async function eraseDeliveries(
  tx: Transaction<MessagingTables>,
  person: Erased,
  seqs: readonly number[],
): Promise<void> {
  const { rows } = await sql<{ id: string; body: string }>`
    select d.id, d.body from webhooks w
    join webhook_deliveries d on d.webhook_id = w.id and d.sequence = any(${seqs}::int8[])
    where w.workspace_id = ${person.workspaceId}`.execute(tx);
  const erased = rows.map(({ id, body }) => {
    const whole = JSON.parse(body) as { data?: { data?: unknown } };
    const data = whole.data && 'data' in whole.data ? { data: withoutPerson(whole.data.data, person) } : {};
    return { id, body: JSON.stringify({ ...whole, data: { ...whole.data, ...data } }) };
  });
  await sql`
    update webhook_deliveries d set body = r.body, answer = null
    from unnest(${erased.map(({ id }) => id)}::text[], ${erased.map(({ body }) => body)}::text[]) as r(id, body)
    where d.id = r.id`.execute(tx);
}
