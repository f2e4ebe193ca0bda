import { type Kysely, sql, type Transaction } from 'kysely';
import { accountIdOf, isOfKind } from '../../domain/account';
import type { Channel } from '../../domain/channel';
import { LIMITS } from '../../domain/limits';
import { routeSender } from '../../domain/route';
import type { Log } from '../../log';
import { eventsOf } from '../events/history';
import { carriersMessages } from '../model/carrier-ids';
import { storable } from '../model/storable-text';
import type { StoredEvent } from '../model/stored-event';
import type { MessagingTables } from '../model/tables';
import { raiseRevision } from './revision';

/**
 * Senders that a carrier refuses at one account, and that other accounts may take (api.md 15). Only the carrier knows when
 * it would take them, so that they stay closed until an owner reopens them.
 */
export interface ClosedSender {
  channel: Channel;
  /** As `routeSender` makes it. */
  sender: string;
  /** The carrier's own words. */
  code: string;
  message: string;
  /** ISO 8601. */
  since: string;
}

export interface SenderRefusal {
  accountId: string;
  channel: Channel;
  from: string;
  code: string;
  message: string;
  /** ISO 8601; by default now. */
  handedOverAt?: string | undefined;
}

/** Closed senders in the memory of one process: those of the table, and those not yet written to it. */
export class ClosedSenderMemory {
  private known: ReadonlyMap<string, ClosedSender> = new Map();
  private readonly unwritten = new Map<string, SenderRefusal>();
  private written: string[] = [];

  constructor(
    private readonly db: Kysely<MessagingTables>,
    private readonly log: Log,
  ) {}

  get isEmpty(): boolean {
    return this.known.size + this.unwritten.size === 0;
  }

  find(accountId: string, message: { channel: Channel; from: string }): ClosedSender | undefined {
    if (this.isEmpty) return undefined;
    const key = keyOf(accountId, message.channel, message.from);
    const known = this.known.get(key);
    if (known) return known;
    const refusal = this.unwritten.get(key);
    return refusal && { ...closedSenderOf(refusal), since: new Date().toISOString() };
  }

  /** Holds in this process at once. Answers whether the sender was open. */
  add(refusal: SenderRefusal): boolean {
    const { accountId, channel, from, code } = refusal;
    const key = keyOf(accountId, channel, from);
    if (this.known.has(key) || this.unwritten.has(key) || this.unwritten.size >= LIMITS.closedSenders)
      return false;
    this.unwritten.set(key, refusal);
    this.log.error(
      { account: accountId, channel, code },
      'The carrier refuses a sender: it is closed at this account until an owner reopens it',
    );
    return true;
  }

  /** Writes what is not in the table yet; the caller reads the table afterwards. */
  async write(): Promise<void> {
    for (const [key, refusal] of this.unwritten) {
      await closeSender(this.db, refusal);
      this.written.push(key);
    }
  }

  async read(): Promise<void> {
    const rows = await closedRows(this.db).execute();
    this.known = new Map(
      rows.map((row) => [keyOf(row.account_id, row.channel, row.sender), toClosedSender(row)]),
    );
    for (const key of this.written.splice(0)) this.unwritten.delete(key);
  }
}

/** A receipt of what was handed over before the sender was reopened says nothing about the time since. */
export async function closeSender(db: Kysely<MessagingTables>, refusal: SenderRefusal): Promise<void> {
  const { accountId, handedOverAt } = refusal;
  const { channel, sender, code, message } = closedSenderOf(refusal);
  await db.transaction().execute(async (tx) => {
    await makeRoom(tx, { accountId, channel, sender });
    const { numAffectedRows = 0n } = await sql`
      insert into account_senders as a (account_id, channel, sender, code, message)
      select ${accountId}, ${channel}, ${sender}, ${code}, ${message}
      where (select count(*) from account_senders) < ${LIMITS.closedSenders}::int
      on conflict (account_id, channel, sender) do update
        set code = excluded.code, message = excluded.message, closed_at = clock_timestamp(), reopened_at = null
        where a.reopened_at < coalesce(${handedOverAt ?? null}::timestamptz, 'infinity')
    `.execute(tx);
    // A sender that was closed already is nothing new to any process.
    if (numAffectedRows > 0n) await raiseRevision(tx);
  });
}

/**
 * Where no sender is registered, a workspace may make up as many as it likes, and each that the carrier refuses is a row. At
 * the account's bound the row that was least needed gives way: one that was reopened, else the oldest. A sender that is opened so is
 * refused once more, and closed again.
 */
async function makeRoom(
  tx: Transaction<MessagingTables>,
  { accountId, channel, sender }: { accountId: string; channel: Channel; sender: string },
): Promise<void> {
  await sql`
    delete from account_senders where ctid = any(array(
      select ctid from account_senders where account_id = ${accountId}
      order by reopened_at is null, coalesce(reopened_at, closed_at)
      limit (select greatest(0, count(*) - ${LIMITS.closedSendersOfAccount - 1}::int)
        from account_senders where account_id = ${accountId})))
      and not exists (select from account_senders
        where account_id = ${accountId} and channel = ${channel} and sender = ${sender})`.execute(tx);
}

export async function closedSendersOf(
  db: Kysely<MessagingTables>,
  accountIds: readonly string[],
): Promise<Map<string, ClosedSender[]>> {
  const found = new Map<string, ClosedSender[]>(accountIds.map((id) => [id, []]));
  if (accountIds.length === 0) return found;
  const rows = await closedRows(db)
    .where('account_id', 'in', accountIds)
    .orderBy('channel')
    .orderBy('sender')
    .execute();
  for (const row of rows) found.get(row.account_id)?.push(toClosedSender(row));
  return found;
}

/** One sender, those of a channel, or all of the account. One that is open already stays so. */
export async function reopenSenders(
  db: Kysely<MessagingTables>,
  accountId: string,
  { channel, sender }: { channel?: Channel | undefined; sender?: string | undefined },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await raiseRevision(tx);
    const rows = await closedRows(tx).where('account_id', '=', accountId).execute();
    const meant = rows.filter(
      (row) =>
        (channel === undefined || row.channel === channel) &&
        (sender === undefined || row.sender === routeSender(row.channel, sender)),
    );
    for (const row of meant) {
      await tx
        .updateTable('account_senders')
        .set({ reopened_at: sql<Date>`clock_timestamp()` })
        .where('account_id', '=', accountId)
        .where('channel', '=', row.channel)
        .where('sender', '=', row.sender)
        .execute();
    }
  });
}

const closedRows = (db: Kysely<MessagingTables>) =>
  db.selectFrom('account_senders').selectAll().where('reopened_at', 'is', null);

const closedSenderOf = ({ channel, from, code, message }: SenderRefusal) => ({
  channel,
  sender: routeSender(channel, from),
  code: storable(code),
  message: storable(message.replace(NUMBER, '…')),
});

/** Carriers name the recipient too. */
const NUMBER = /\+?\d[\d\s().-]{5,}\d/g;

const toClosedSender = (row: {
  channel: Channel;
  sender: string;
  code: string;
  message: string;
  closed_at: Date;
}): ClosedSender => ({
  ...{ channel: row.channel, sender: row.sender, code: row.code, message: row.message },
  since: row.closed_at.toISOString(),
});

const keyOf = (accountId: string, channel: Channel, from: string) =>
  `${accountId} ${channel} ${routeSender(channel, from)}`;

/** A receipt of a message that the carrier took and then refused for its sender. */
export interface RefusedByReceipt {
  id?: string | undefined;
  providerId?: string | undefined;
  code: string;
}

/**
 * The senders of these messages, at the accounts that carried them, and when each was handed over. A kind whose receipts name no
 * account stands for all of its accounts; messages of other providers are passed over.
 */
export async function refusedSenders(
  db: Kysely<MessagingTables>,
  provider: string,
  receipts: readonly RefusedByReceipt[],
): Promise<SenderRefusal[]> {
  if (receipts.length === 0) return [];
  const { rows } = await sql<RefusedRow>`
    select m.channel, m.from_address as "from", r.code, m.history, m.provider, m.attempt
    from unnest(
      ${receipts.map(({ id }) => id ?? null)}::text[],
      ${receipts.map(({ providerId }) => providerId ?? null)}::text[],
      ${receipts.map(({ code }) => code)}::text[]
    ) as r(id, provider_id, code)
    join lateral (
      select r.id as id union
      select message_id from ${carriersMessages(sql`${provider}`, sql`r.provider_id`)} k
    ) found on true
    join messages m on m.id = found.id and m.provider is not null
  `.execute(db);
  return rows
    .filter((row) => isOfKind(row.provider, provider))
    .map(({ channel, from, code, ...row }) => ({
      ...{ accountId: accountIdOf(row.provider, channel), channel, from, code },
      message: 'Refused in a receipt, after the message was taken',
      handedOverAt:
        eventsOf(row).findLast(({ type }) => type === 'sent' || type === 'unknown')?.at ??
        new Date().toISOString(),
    }));
}

interface RefusedRow {
  channel: Channel;
  from: string;
  code: string;
  history: readonly StoredEvent[];
  provider: string;
  attempt: number;
}
