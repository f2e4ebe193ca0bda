import { type Kysely, type RawBuilder, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { messageUid, recipientId } from '../../domain/ids';
import { LIMITS } from '../../domain/limits';
import { type RecipientState, SETTLED } from '../../domain/recipient';
import { LATER_STAGE } from '../../domain/release';
import { type CallRecord, callsOf } from '../calls/call-records';
import { attemptsMade, derivedState, storedAs } from '../ledger/derived-state';
import type { CampaignTables } from '../model/tables';
import { readCounts } from '../runs/ledger-counts';
import { rareRecipients } from './rare-recipients';
import { ALL_RECIPIENTS, type RecipientSource, searchedRecipients } from './recipient-search';
import { type Span, spansHolding } from './recipient-spans';

/** A recipient as the API shows it (api.md 7). */
export interface RecipientView {
  id: string;
  contactId: string;
  channel: Channel;
  /** Null once the person was erased. */
  address: string | null;
  state: RecipientState;
  outcome: string | null;
  code: string | null;
  attempts: number;
  uid: string;
  /** When they are sent to, or tried again while they wait for that. */
  dueAt: Date;
  updatedAt: Date;
  /** On the voice channel, if the caller asked for them. */
  calls?: CallRecord[];
}

/** Where a listing stopped. Recipients are listed by channel, then by seq. */
export interface RecipientPosition {
  channel: Channel;
  seq: number;
}

/** A filter of recipients: they must match all given members. */
export interface RecipientFilter {
  channel?: Channel | undefined;
  state?: RecipientState | undefined;
  code?: string | undefined;
  /** An external id, an email address or a phone number, or how one begins. */
  search?: string | undefined;
  /** The caller may not know addresses, so that a search compares external ids alone. */
  hidesAddresses?: boolean | undefined;
}

/**
 * Pages through all of a run's recipients, each page after the last key of the one before. Memory stays flat,
 * and a late page costs no more than an early one. A page is read only when it is asked for. Each recipient
 * appears once, in their state when their page is read.
 */
export async function* recipientPages(
  db: Kysely<CampaignTables>,
  runId: string | undefined,
  filter: RecipientFilter,
): AsyncGenerator<RecipientView[]> {
  if (runId === undefined) return;
  let after: RecipientPosition | undefined;
  do {
    const page = await listRecipients(db, runId, { ...filter, after, limit: LIMITS.longPageSizeMax });
    if (page.recipients.length > 0) yield page.recipients;
    after = page.next;
  } while (after);
}

/**
 * One page of a run's recipients in due order. A rare state is found by an index, and the shards that hold none of the
 * wanted state are passed over. What remains is read in its order, up to `lookAt` recipients. A page may therefore hold
 * fewer than `limit`, or none, although more follow; `next` says whether any do.
 */
export async function listRecipients(
  db: Kysely<CampaignTables>,
  runId: string,
  options: RecipientFilter & { after?: RecipientPosition | undefined; limit: number; lookAt?: number },
): Promise<{ recipients: RecipientView[]; next: RecipientPosition | undefined }> {
  const { channel, state, code, limit, lookAt = LIMITS.recipientsLookedAt } = options;
  const known =
    state && SETTLED.includes(state) ? await countIn(db, runId, state, channel) : Number.POSITIVE_INFINITY;
  const most = Math.min(limit + 1, known);
  if (most === 0) return { recipients: [], next: undefined };
  const source = await sourceOf(db, runId, options);
  const rows: ListedRow[] = [];
  let cut: RecipientPosition | undefined;
  if (source.few) {
    rows.push(...(await readFew(db, runId, { source, ...options, most })));
  } else {
    // By the index of codes only recipients with that code are read.
    let left = code === undefined || code === LATER_STAGE ? lookAt : Number.POSITIVE_INFINITY;
    for (const span of await spansHolding(db, runId, options)) {
      const to = Math.min(span.to, span.from + left);
      rows.push(
        ...(await readSpan(db, runId, {
          source,
          ...options,
          span: { ...span, to },
          most: most - rows.length,
        })),
      );
      left -= to - span.from;
      if (rows.length === most) break;
      if (to < span.to || left === 0) {
        cut = { channel: span.channel, seq: to - 1 };
        break;
      }
    }
  }
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last ? { channel: last.channel, seq: last.seq } : cut;
  return { recipients: page.map((row) => viewOf(runId, row)), next: more };
}

async function sourceOf(
  db: Kysely<CampaignTables>,
  runId: string,
  options: RecipientFilter,
): Promise<RecipientSource> {
  const { search, code, state, channel } = options;
  if (search !== undefined) return searchedRecipients(db, runId, options);
  const rare = state && code === undefined ? await rareRecipients(db, runId, { state, channel }) : undefined;
  return rare ?? ALL_RECIPIENTS;
}

interface Reading extends RecipientFilter {
  source: RecipientSource;
  most: number;
}

/** Rows that an index has found: they are few, and are sorted. */
function readFew(
  db: Kysely<CampaignTables>,
  runId: string,
  { after, ...reading }: Reading & { after?: RecipientPosition | undefined },
): Promise<ListedRow[]> {
  const { channel } = reading;
  return read(db, runId, {
    ...reading,
    within: sql`${channel ? sql`r.channel = ${channel}` : sql`true`}
      and ${after ? sql`(r.channel, r.seq) > (${after.channel}, ${after.seq})` : sql`true`}`,
  });
}

/** In the order of the primary key, or of the index by code, so that reading stops at the last row that is wanted. */
function readSpan(
  db: Kysely<CampaignTables>,
  runId: string,
  { span, ...reading }: Reading & { span: Span },
): Promise<ListedRow[]> {
  const within = sql`r.channel = ${span.channel} and r.seq >= ${span.from} and r.seq < ${span.to}`;
  return read(db, runId, { ...reading, within });
}

/**
 * Recipients with derived states (ledger.ts). Each `limit 1` keeps the planner from a hash join with the shard and the
 * run. That join reads and sorts the whole rest of the run for every page: eight times slower at 100,000 recipients in a
 * table that was never analyzed.
 */
async function read(
  db: Kysely<CampaignTables>,
  runId: string,
  { source, code, state, most, within }: Reading & { within: RawBuilder<unknown> },
): Promise<ListedRow[]> {
  const { rows } = await sql<ListedRow>`
    select * from (
      select r.channel, r.seq, r.contact_id, r.address, r.outcome, r.code, r.attempt, r.due_at, r.retry_at, r.updated_at,
        ${attemptsMade} as attempts,
        ${derivedState} as derived
      from ${source.rows} r
      cross join lateral (
        select next_seq from shards
        where run_id = r.run_id and channel = r.channel and shard = r.shard limit 1
      ) s
      cross join lateral (select phase, control from runs where id = r.run_id limit 1) runs
      where r.run_id = ${runId} and ${source.matches} and ${hasCode(code)} and ${within}
        and ${state ? sql`r.state = any(${storedAs(state)}::text[])` : sql`true`}
    ) listed
    where ${state ? sql`derived = ${state}` : sql`true`}
    order by channel, seq limit ${most}`.execute(db);
  return rows;
}

/** The second condition lets the planner use the index by code, which leaves stages to come out. */
function hasCode(code: string | undefined): RawBuilder<unknown> {
  if (code === undefined) return sql`true`;
  return code === LATER_STAGE
    ? sql`r.code = ${code}`
    : sql`r.code = ${code} and r.code <> ${sql.lit(LATER_STAGE)}`;
}

/** A row of a listing, with its derived state. */
export interface ListedRow {
  channel: Channel;
  seq: number;
  contact_id: string;
  address: string | null;
  derived: RecipientState;
  outcome: string | null;
  code: string | null;
  attempt: number;
  attempts: number;
  due_at: Date;
  /** The next try; null where none has a time. */
  retry_at: Date | null;
  updated_at: Date;
}

export function viewOf(runId: string, row: ListedRow): RecipientView {
  const { channel, seq } = row;
  return {
    id: recipientId({ runId, channel, seq }),
    contactId: row.contact_id,
    channel,
    address: row.address,
    state: row.derived,
    outcome: row.outcome,
    code: row.code,
    attempts: row.attempts,
    uid: messageUid({ runId, channel, seq }, attemptOf(row)),
    dueAt: row.derived === 'waiting' ? (row.retry_at ?? row.due_at) : row.due_at,
    updatedAt: row.updated_at,
  };
}

/** The last message of those who have ended: the next one may have been planned, and was never offered. */
function attemptOf({ channel, derived, attempt, attempts }: ListedRow): number {
  if (channel === 'voice') return Math.max(1, attempt);
  return SETTLED.includes(derived) && attempts > 0 ? Math.min(attempt, attempts - 1) : attempt;
}

/**
 * Counts the recipients in a state, so that a search for it stops after the last one or never begins. An index
 * by state would serve too, but every change of a state would have to write it.
 */
async function countIn(
  db: Kysely<CampaignTables>,
  runId: string,
  state: RecipientState,
  channel: Channel | undefined,
): Promise<number> {
  const counts = await readCounts(db, runId);
  let sum = 0;
  for (const one of channel ? [channel] : CHANNELS) sum += counts[one]?.[state] ?? 0;
  return sum;
}

/** Adds the calls of recipients on the voice channel. */
export async function withCalls(
  db: Kysely<CampaignTables>,
  runId: string,
  recipients: readonly RecipientView[],
): Promise<RecipientView[]> {
  const seqOf = ({ id }: RecipientView) => Number(id.slice(id.lastIndexOf('.') + 1));
  const called = recipients.filter(({ channel }) => channel === 'voice');
  if (called.length === 0) return [...recipients];
  const calls = await callsOf(db, runId, called.map(seqOf));
  return recipients.map((one) =>
    one.channel === 'voice' ? { ...one, calls: calls.get(seqOf(one)) ?? [] } : one,
  );
}
