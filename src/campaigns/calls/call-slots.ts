import { type Kysely, sql, type Transaction } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';

/**
 * A campaign's limit of concurrent calls, `delivery.maxConcurrentCalls`. Each call that is written ahead holds
 * a slot (`calls.live`) until its end is reported or decided. A process that dies gives nothing back, because
 * its successor finds the call's row.
 *
 * Opening a call locks one row of its run before the slots are counted. First calls, redials, shards and
 * processes therefore share one limit without messages between them.
 */
interface Places {
  limit: number;
  live: number;
  /** Milliseconds since the latest live call was written; 0 without live calls. */
  quietMs: number;
}

/**
 * Returns how long to wait before asking again, when no slot is free. Returns undefined when one was free a
 * moment ago.
 */
export async function slotWait(db: Kysely<CampaignTables>, runId: string): Promise<number | undefined> {
  const places = await readPlaces(db, runId);
  return places.live < places.limit ? undefined : askAgain(db, runId, places);
}

/** As `slotWait`, and a free slot stays free until the transaction ends. */
export async function lockSlot(tx: Transaction<CampaignTables>, runId: string): Promise<number | undefined> {
  // The lock makes the count below see what the previous holder has written.
  await sql`
    insert into call_places (run_id) values (${runId}) on conflict (run_id) do nothing`.execute(tx);
  await sql`select from call_places where run_id = ${runId} for update`.execute(tx);
  return slotWait(tx, runId);
}

async function readPlaces(db: Kysely<CampaignTables>, runId: string): Promise<Places> {
  const { rows } = await sql<Places>`
    select ${liveLimit(runId)} as "limit", count(*)::int as live,
      coalesce(greatest(0, extract(epoch from clock_timestamp() - max(placed_at)) * 1000), 0)::float8 as "quietMs"
    from calls where run_id = ${runId} and live
      and coalesce(heard_at, placed_at) > now() - make_interval(hours => ${LIMITS.callSilenceHours}::int)`.execute(
    db,
  );
  return rows[0] as Places;
}

const liveLimit = (runId: string) => sql`coalesce((
  select (c.options #>> '{delivery,maxConcurrentCalls}')::int
  from runs r join campaigns c on c.id = r.campaign_id where r.id = ${runId}), ${LIMITS.liveCallsDefault}::int)`;

/**
 * Returns when to ask again. Callers get times one after the other, so that a run is asked at a rate that fits
 * its limit, however many wake at once.
 */
async function askAgain(
  db: Kysely<CampaignTables>,
  runId: string,
  { limit, quietMs }: Places,
): Promise<number> {
  const perSecond = Math.min(
    LIMITS.placeAsksPerSecondMax,
    Math.max(LIMITS.placeAsksPerSecondMin, limit * LIMITS.placeAsksPerPlace),
  );
  const turn = sql`${1 / perSecond}::float8 * interval '1 second'`;
  const longest = sql`${LIMITS.placeWaitMs}::int * interval '1 millisecond'`;
  const { rows } = await sql<{ waitMs: number }>`
    insert into call_places as p (run_id, ask_at) values (${runId}, clock_timestamp() + ${turn})
    on conflict (run_id) do update set ask_at =
      least(greatest(p.ask_at, clock_timestamp()) + ${turn}, clock_timestamp() + ${longest})
    returning (extract(epoch from p.ask_at - clock_timestamp()) * 1000)::float8 as "waitMs"`.execute(db);
  const quiet = Math.min(LIMITS.placeQuietWaitMs, quietMs * LIMITS.placeQuietShare);
  const wait = Math.max(1_000 / LIMITS.placeAsksPerSecondMin, rows[0]?.waitMs ?? 0, quiet);
  // Spread the waits, because callers beyond the longest wait would otherwise all return at the same moment.
  return Math.round(wait * (0.75 + Math.random() / 2));
}

/**
 * How many first calls a page may begin: the limit, less the calls that are live or about to be, less the due
 * redials. Without the last part, first calls would take every slot and no redial would find one.
 */
export async function slotsForFirstCalls(
  db: Kysely<CampaignTables>,
  { runId, shard }: { runId: string; shard: number },
  sending: number,
): Promise<number> {
  const { rows } = await sql<{ limit: number; redials: number }>`
    select ${liveLimit(runId)} as "limit", (select count(*)::int from (
      select from recipients
      where run_id = ${runId} and channel = 'voice' and shard = ${shard} and state = 'waiting' and waits
        and retry_at between now() - make_interval(mins => ${LIMITS.placeKeptMinutes}::int) and now()
        and coalesce(call_from, 1) <= attempt
      limit ${LIMITS.liveCallsMax}
    ) due) as redials`.execute(db);
  const { limit = 0, redials = 0 } = rows[0] ?? {};
  return limit - sending - redials;
}
