import { type Kysely, sql, type Transaction } from 'kysely';
import type { Control } from '../../domain/campaign';
import type { Channel } from '../../domain/channel';
import { databaseNow } from '../../domain/database-clock';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { LATER_STAGE } from '../../domain/release';
import { addEntered } from '../ledger/timeline';
import { retryStatement, retryTransaction } from '../model/retry-transaction';
import type { CampaignTables } from '../model/tables';
import { wantedControl } from '../stops/wanted-control';
import { isWanted } from './fallback-wanted';
import { readControl } from './runs';
import { countTaken } from './sending-rate';
import { type RecipientResult, writeResults } from './write-results';

/**
 * The ledger: what became of every recipient of a run. Its promise is that a process may be killed
 * between any two statements and no recipient is lost, none is sent to twice, and every one in doubt is
 * known by name.
 *
 * A shard's recipients are numbered densely (`seq`) in the order they are due, and are taken on from the
 * front, a page at a time. Most rows are written twice only: when they are frozen, and when the event
 * feed says what became of them. In between their state is derived:
 *
 *   stored pending, seq ≥ shard.next_seq              → pending     no page has taken it
 *   stored pending, seq in an open page               → sending     a send activity has it
 *   stored pending, seq < next_seq, no open page      → accepted    the service took it, nothing else said
 *   stored waiting, seq in an open list page          → sending     its retry is under way
 *   stored waiting without retry_at                   → waiting     its turn (fallback-turns.ts) or its stage
 *                                                                   (release/step-release.ts) has not come
 *   anything else                                     → as stored
 *
 * A page is one row, written before anything is sent. Its positions fall into three parts:
 *
 *   0 … resolved        recorded
 *   resolved … offered  may have reached the service; all that a crash can leave in doubt
 *   offered … size      not sent
 *
 * `offered` moves up before a chunk is sent. `resolved` moves up in the transaction that writes the chunk's
 * results. An attempt that takes a page over raises its `fence`, and every write names the fence it was given.
 * An outdated attempt that still runs can therefore record nothing. A closed page is deleted.
 *
 * The event feed may report what became of a message before its page is recorded, and may give the recipient
 * another attempt at once (recipient-transitions.ts). Therefore a page sends only to recipients whose row is as
 * the page took it, and a result names its attempt.
 */
export interface ShardKey {
  runId: string;
  channel: Channel;
  shard: number;
}

export interface OpenPage extends ShardKey {
  page: number;
  fence: number;
  fromSeq: number;
  /** Number of recipients in the page. */
  size: number;
  /** Set for a page of retries, which is a list; otherwise position p is `fromSeq + p`. */
  seqs: number[] | undefined;
  resolved: number;
  offered: number;
}

export type PageClaim =
  | { kind: 'page'; page: OpenPage }
  /** No recipient is due before `until`. Without it, none will become due unless another page worker fails. */
  | { kind: 'idle'; until: Date | undefined }
  | { kind: 'stopped'; control: Exclude<Control, 'run'> };

/**
 * Opens the page worker's next page, or takes over the page that its predecessor left open; `offered > resolved` then
 * says what is in doubt. A page worker has at most one live activity, and none of a superseded `launch`. No page is
 * opened before `notBefore`; a page that is open continues. With a `size` of 0 no page is opened at all.
 */
export async function takePage(
  db: Kysely<CampaignTables>,
  key: ShardKey & { lane: number; launch?: number | undefined },
  size: number,
  notBefore?: Date,
): Promise<PageClaim> {
  return db.transaction().execute(async (tx) => {
    const control = await readControl(tx, key.runId, key.launch);
    if (control !== 'run') return { kind: 'stopped', control };
    const left = await tx
      .updateTable('pages')
      .set((eb) => ({ fence: eb('fence', '+', 1) }))
      .where('run_id', '=', key.runId)
      .where('channel', '=', key.channel)
      .where('shard', '=', key.shard)
      .where('lane', '=', key.lane)
      .returningAll()
      .executeTakeFirst();
    if (left) return { kind: 'page', page: openPage(left) };
    if (size < 1) return { kind: 'idle', until: undefined };
    return openNextPage(tx, key, size, notBefore);
  });
}

async function openNextPage(
  tx: Transaction<CampaignTables>,
  key: ShardKey & { lane: number },
  size: number,
  notBefore: Date | undefined,
): Promise<PageClaim> {
  // The shard's row lock makes page workers open pages one after the other.
  const shard = await tx
    .selectFrom('shards')
    .selectAll()
    .where('run_id', '=', key.runId)
    .where('channel', '=', key.channel)
    .where('shard', '=', key.shard)
    .forUpdate()
    .executeTakeFirst();
  if (!shard)
    throw new DomainError('run_not_found', `Run ${key.runId} has no shard ${key.channel}/${key.shard}`);
  const retries = await dueRetries(tx, key, size);
  const until = retries.length ? undefined : await nextDue(tx, key, shard.next_seq, shard.to_seq);
  const end = retries.length
    ? shard.next_seq
    : await dueEnd(tx, key, shard.next_seq, shard.next_seq + shareOf(size, shard.to_seq - shard.next_seq));
  if (!retries.length && end === shard.next_seq) return { kind: 'idle', until };
  if (notBefore && notBefore.getTime() > databaseNow()) return { kind: 'idle', until: notBefore };
  const page = await tx
    .insertInto('pages')
    .values({
      run_id: key.runId,
      channel: key.channel,
      shard: key.shard,
      page: shard.next_page,
      lane: key.lane,
      fence: 1,
      from_seq: shard.next_seq,
      to_seq: end,
      seqs: retries.length ? retries : null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await tx
    .updateTable('shards')
    .set({ next_seq: end, next_page: shard.next_page + 1 })
    .where('run_id', '=', key.runId)
    .where('channel', '=', key.channel)
    .where('shard', '=', key.shard)
    .execute();
  return { kind: 'page', page: openPage(page) };
}

const WORTH_A_PAGE = 2 * LIMITS.chunkRecipients;

/**
 * How many of the remaining recipients the next page takes. The last ones, which would fit into one page, are
 * shared between the page workers. One page worker then sends while the other page worker's chunk is recorded. Small pages are not
 * shared, because each costs the server more events than it saves.
 */
function shareOf(size: number, left: number): number {
  const shared = left <= size && left >= LIMITS.pageWorkersPerShard * WORTH_A_PAGE;
  return Math.min(left, shared ? Math.ceil(left / LIMITS.pageWorkersPerShard) : size);
}

async function dueRetries(tx: Transaction<CampaignTables>, key: ShardKey, size: number): Promise<number[]> {
  const { rows } = await sql<{ seq: number }>`
    select seq from recipients
    where run_id = ${key.runId} and channel = ${key.channel} and shard = ${key.shard}
      and state = 'waiting' and waits and retry_at <= now() and ${isOurs(key)}
      and seq <> all (${claimedRetries(key)})
    order by retry_at limit ${size}`.execute(tx);
  return rows.map((row) => row.seq);
}

/**
 * A call that waits for its redial belongs to its workflow; a recipient who needs a new workflow belongs to a
 * page.
 */
const isOurs = (key: ShardKey) =>
  sql`${key.channel === 'voice' ? sql`call_from > attempt` : sql`true`} and ${isWanted('recipients')}`;

const claimedRetries = (key: ShardKey) => sql`coalesce((
  select array_agg(claimed) from pages, unnest(seqs) claimed
  where run_id = ${key.runId} and channel = ${key.channel} and shard = ${key.shard}), '{}')`;

/** Where the due part of [from, bound) ends. Rows are in due order, so that the last row usually decides. */
async function dueEnd(
  tx: Transaction<CampaignTables>,
  key: ShardKey,
  from: number,
  bound: number,
): Promise<number> {
  if (from >= bound) return from;
  const { rows } = await sql<{ due: boolean }>`
    select due_at <= now() as due from recipients
    where run_id = ${key.runId} and channel = ${key.channel} and seq = ${bound - 1}`.execute(tx);
  if (rows[0]?.due) return bound;
  const found = await sql<{ end: number | null }>`
    select max(seq) + 1 as end from recipients
    where run_id = ${key.runId} and channel = ${key.channel} and seq >= ${from} and seq < ${bound}
      and due_at <= now()`.execute(tx);
  return found.rows[0]?.end ?? from;
}

/** Ignores recipients of later stages: their stage may begin in a month, and starts the shard again. */
async function nextDue(
  tx: Transaction<CampaignTables>,
  key: ShardKey,
  nextSeq: number,
  toSeq: number,
): Promise<Date | undefined> {
  const { rows } = await sql<{ until: Date | null }>`
    select least(
      (select due_at from recipients
       where run_id = ${key.runId} and channel = ${key.channel} and seq = ${nextSeq} and ${nextSeq} < ${toSeq}::int),
      (select min(coalesce(retry_at, now() + ${LIMITS.turnWaitMs} * interval '1 millisecond')) from recipients
       where run_id = ${key.runId} and channel = ${key.channel} and shard = ${key.shard} and state = 'waiting'
         and waits and (retry_at is not null or code is distinct from ${LATER_STAGE}) and ${isOurs(key)}
         and seq <> all (${claimedRetries(key)}))
    ) as until`.execute(tx);
  return rows[0]?.until ?? undefined;
}

export interface PageRecipient {
  seq: number;
  contactId: string;
  /** Null once the person was erased: nothing may be sent to them. */
  address: string | null;
  params: Record<string, string | number>;
  attempt: number;
  attempts: number;
  dueAt: Date;
  /** Code of the previous attempt, for a retry. */
  code: string | undefined;
  /** The recipient's time zones, if the campaign needs them. */
  place: string | null;
}

/**
 * Writes ahead that the next `count` recipients are about to be sent, and reads them. Fails with `page_fenced`
 * when another attempt owns the page by now. Leaves out recipients who need nothing more of this page, because
 * the event feed has reported their outcome since.
 */
export async function offerChunk(
  db: Kysely<CampaignTables>,
  page: OpenPage,
  count: number,
): Promise<PageRecipient[]> {
  const end = Math.min(page.resolved + count, page.size);
  if (end > page.offered) {
    await fencedUpdate(db, page, sql`offered = ${end}`);
    page.offered = end;
  }
  const wanted = page.seqs
    ? sql`seq = any(${page.seqs.slice(page.resolved, end)}::int[]) and state = 'waiting' and retry_at <= now()
        and ${isWanted('recipients')}`
    : sql`seq >= ${page.fromSeq + page.resolved} and seq < ${page.fromSeq + end} and state = 'pending'`;
  const { rows } = await sql<{
    seq: number;
    contact_id: string;
    address: string | null;
    params: Record<string, string | number>;
    attempt: number;
    attempts: number;
    due_at: Date;
    code: string | null;
    place: string | null;
  }>`select seq, contact_id, address, params, attempt, attempts, due_at, code, place from recipients
     where run_id = ${page.runId} and channel = ${page.channel} and ${wanted} order by seq`.execute(db);
  return rows.map((row) => ({
    seq: row.seq,
    contactId: row.contact_id,
    address: row.address,
    params: row.params,
    attempt: row.attempt,
    attempts: row.attempts,
    dueAt: row.due_at,
    code: row.code ?? undefined,
    place: row.place,
  }));
}

/**
 * Records everything offered so far, and closes the page at its end, in one transaction. `also` runs in the
 * same transaction. After a deadlock, the whole of it is repeated. If the service accepted every message it is
 * one statement, because each statement of a transaction is a round trip. Returns the run's present control.
 * Fails with `page_fenced` when another attempt owns the page.
 */
export async function recordChunk(
  db: Kysely<CampaignTables>,
  page: OpenPage,
  results: readonly RecipientResult[],
  also?: (tx: Transaction<CampaignTables>) => Promise<void>,
): Promise<Control> {
  const rows = page.seqs ? results : results.filter((result) => result.state !== 'accepted');
  const accepted = results.length - rows.length;
  const control =
    rows.length || also
      ? await retryTransaction(db, async (tx) => {
          const wanted = await resolvePage(tx, page, accepted);
          if (rows.length) await writeResults(tx, page, rows);
          await also?.(tx);
          return wanted;
        })
      : await retryStatement(() => resolvePage(db, page, accepted));
  page.resolved = page.offered;
  return control;
}

/** `accepted`: how many recipients the service has taken whose rows stay as they are. */
async function resolvePage(db: Kysely<CampaignTables>, page: OpenPage, accepted: number): Promise<Control> {
  // A call that its workflow has taken on is counted when the workflow places it.
  const taken = page.channel === 'voice' ? 0 : accepted;
  const change =
    page.offered < page.size ? sql`update pages set resolved = ${page.offered}` : sql`delete from pages`;
  const { rows } = await sql<{ control: Control }>`
    with page as (${change} where ${pageIs(page)} returning run_id),
    counted as (${countTaken(page, page.offered - page.resolved)}),
    entered as (${addEntered(page, 'accepted', sql`case when exists (select from page) then ${taken}::int else 0 end`)})
    select ${wantedControl()} as control from page join runs on runs.id = page.run_id`.execute(db);
  if (!rows[0]) throw fenced(page);
  return rows[0].control;
}

/** Takes back an offer that certainly reached no recipient: the service was down or asked us to wait. */
export async function withdrawOffer(db: Kysely<CampaignTables>, page: OpenPage): Promise<void> {
  await fencedUpdate(db, page, sql`offered = resolved`);
  page.offered = page.resolved;
}

const pageIs = (page: OpenPage) => sql`
  run_id = ${page.runId} and channel = ${page.channel} and shard = ${page.shard}
  and page = ${page.page} and fence = ${page.fence}`;

async function fencedUpdate(
  db: Kysely<CampaignTables>,
  page: OpenPage,
  set: ReturnType<typeof sql>,
): Promise<void> {
  const { numAffectedRows } = await sql`update pages set ${set} where ${pageIs(page)}`.execute(db);
  if (numAffectedRows !== 1n) throw fenced(page);
}

function fenced(page: OpenPage): DomainError {
  return new DomainError(
    'page_fenced',
    `Page ${page.runId}/${page.channel}/${page.shard}/${page.page} was taken over; this attempt stops`,
  );
}

function openPage(row: {
  run_id: string;
  channel: Channel;
  shard: number;
  page: number;
  fence: number;
  from_seq: number;
  to_seq: number;
  seqs: number[] | null;
  resolved: number;
  offered: number;
}): OpenPage {
  return {
    runId: row.run_id,
    channel: row.channel,
    shard: row.shard,
    page: row.page,
    fence: row.fence,
    fromSeq: row.from_seq,
    size: row.seqs?.length ?? row.to_seq - row.from_seq,
    seqs: row.seqs ?? undefined,
    resolved: row.resolved,
    offered: row.offered,
  };
}
