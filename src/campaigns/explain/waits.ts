import { type Kysely, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import { fallbackAfterMs, nextTurn, standingOf } from '../../domain/fallback';
import { LIMITS } from '../../domain/limits';
import { capsOf, roomAt } from '../../domain/policy';
import type { RecipientState } from '../../domain/recipient';
import { addressKey } from '../../domain/suppression';
import { isAllowed } from '../../domain/time-zones/hours';
import { placeOf } from '../../domain/time-zones/phone-zones';
import { hourRules, openHours, startFor, zonesOf } from '../../domain/time-zones/recipient-hours';
import type { Wait } from '../../domain/wait-reasons';
import { derivedState } from '../ledger/derived-state';
import type { CampaignTables } from '../model/tables';
import { placedAt } from '../runs/fallback-turns';
import type { RecipientFacts } from './recipient-facts';

/**
 * What keeps one recipient waiting before it is offered to the service, each reason found by the rule by which a page
 * waits: so what is said is what then happens, unless the campaign, the policy or other messages change it.
 */

/** The latest end that is known, or `from`. */
export function laterOf(waits: readonly Wait[], from: number): number {
  return Math.max(from, ...waits.flatMap(({ at }) => (at ? [at.getTime()] : [])));
}

/**
 * Why a recipient that no page has taken waits: for an hour in its own time zone, or for the time that it was
 * frozen with.
 */
export function scheduleWait(facts: RecipientFacts, now: number): Wait[] {
  const { dueAt } = facts.stored;
  const waits = localHourWait(facts, now);
  const dueMs = dueAt.getTime();
  if (dueMs <= laterOf(waits, now)) return waits;
  const [hours] = hoursWait(facts, laterOf(waits, now));
  return [...waits, { why: hours?.why ?? waits[0]?.why ?? 'schedule', at: dueAt }];
}

/** The campaign's hour by the recipient's own clock, if it comes after `from`. */
export function localHourWait(facts: RecipientFacts, from: number): Wait[] {
  const start =
    startFor(placeOf({ place: facts.stored.place, address: facts.view.address }), facts.run.options) ?? from;
  return start > from ? [{ why: 'schedule', at: new Date(start) }] : [];
}

/** Quiet hours and call windows, at the moment `from`. */
export function hoursWait(facts: RecipientFacts, from: number): Wait[] {
  const { view, run } = facts;
  const hours = openHours(run.options, view.channel);
  if (!hours.hasRules) return [];
  const place = placeOf({ place: facts.stored.place, address: facts.view.address });
  const next = hours.nextFor(place, from);
  if (next <= from) return [];
  const zones = zonesOf(place, run.options);
  const last = hourRules(run.options, view.channel).filter(
    (rule) => !isAllowed([rule], zones, next - MINUTE_MS),
  );
  const isWindow = last.length > 0 && last.every(({ kind }) => kind === 'open');
  return [{ why: isWindow ? 'window' : 'quiet_hours', at: new Date(next) }];
}

const MINUTE_MS = 60_000;

/** The workspace's caps. A message that has its place among those of its address already does not wait for one. */
export async function capWait(
  db: Kysely<CampaignTables>,
  { view, run }: RecipientFacts,
  from: number,
): Promise<Wait[]> {
  const caps = capsOf(run.options.policy, view.channel, run.options.class);
  if (caps.length === 0 || view.address === null) return [];
  const row = await db
    .selectFrom('contact_uses')
    .select(['uids', 'channels', 'used_at'])
    .where('workspace_id', '=', run.workspaceId)
    .where('address', '=', addressKey(view.address))
    .executeTakeFirst();
  if (!row || row.uids.includes(view.uid)) return [];
  const uses = row.used_at.map((at, i) => ({ channel: row.channels[i] ?? '', at: new Date(at) }));
  const room = roomAt(caps, uses, from);
  return room > from ? [{ why: 'cap', at: new Date(room) }] : [];
}

interface Queue {
  rate: number | null;
  next_at: Date | null;
  /** In the same shard, not offered yet. */
  ahead: number;
  offered: boolean;
  /** Shards of the run that have recipients whom no page has taken. */
  open_shards: number;
  live_calls: number;
}

/** A difference that a support person cannot see is no wait. */
const NOTICED_MS = 1_000;

/**
 * The campaign's pace, its bound on calls, and otherwise the recipients before this one. The permits of one shard are
 * taken in its order; where several shards share the pace, whose permit comes when is not known. A recipient that comes
 * at a later hour finds those gone who are due before it, and no queue whose length says anything now.
 */
export async function paceWait(
  db: Kysely<CampaignTables>,
  { key, view, run }: RecipientFacts,
  { from, now }: { from: number; now: number },
): Promise<Wait[]> {
  const queue = await readQueue(db, key);
  if (queue.offered) return [{ why: 'outbox' }];
  const { ahead } = queue;
  const callsMax = run.options.delivery?.maxConcurrentCalls ?? LIMITS.liveCallsDefault;
  const isLater = from - now > NOTICED_MS;
  if (view.channel === 'voice' && queue.live_calls >= callsMax && !isLater) return [{ why: 'pace', ahead }];
  if (queue.rate === null || queue.next_at === null) {
    return ahead > 0 && !isLater ? [{ why: 'outbox', ahead }] : [];
  }
  const begins = Math.max(now, queue.next_at.getTime());
  const before = isLater ? await readAhead(db, key) : [{ count: ahead, dueMs: now }];
  const at = Math.max(from, afterThose(before, { begins, rate: queue.rate }));
  if (at - from <= NOTICED_MS) return [];
  return [{ why: 'pace', ahead, at: queue.open_shards > 1 ? undefined : new Date(at) }];
}

interface Ahead {
  count: number;
  dueMs: number;
}

/** When the last of those before a recipient has its permit, if none takes one before it is due. */
function afterThose(before: readonly Ahead[], { begins, rate }: { begins: number; rate: number }): number {
  return before.reduce((at, { count, dueMs }) => Math.max(at, dueMs) + (count / rate) * 1_000, begins);
}

/** Recipients of the same shard whom no page has taken, in the order in which they are due. */
async function readAhead(
  db: Kysely<CampaignTables>,
  { runId, channel, shard, seq }: RecipientFacts['key'],
): Promise<Ahead[]> {
  const { rows } = await sql<Ahead>`
    select count(*)::int as count, extract(epoch from r.due_at)::float8 * 1000 as "dueMs"
    from shards s join recipients r on r.run_id = s.run_id and r.channel = s.channel
      and r.seq >= s.next_seq and r.seq < ${seq}
    where s.run_id = ${runId} and s.channel = ${channel} and s.shard = ${shard}
    group by r.due_at order by r.due_at`.execute(db);
  return rows;
}

async function readQueue(db: Kysely<CampaignTables>, key: RecipientFacts['key']): Promise<Queue> {
  const { runId, channel, shard, seq } = key;
  const { rows } = await sql<Queue>`
    select p.rate, p.next_at, s.next_seq <= ${seq} as untaken,
      greatest(0, ${seq} - s.next_seq) + coalesce((
        select sum(least(${seq}, g.to_seq) - least(${seq}, g.from_seq + g.offered)) from pages g
        where g.run_id = s.run_id and g.channel = s.channel and g.shard = s.shard and g.seqs is null), 0)::int as ahead,
      exists (
        select from pages g where g.run_id = s.run_id and g.channel = s.channel and g.shard = s.shard
          and g.seqs is null and ${seq} >= g.from_seq + g.resolved and ${seq} < g.from_seq + g.offered
      ) as offered,
      (select count(*) from shards o where o.run_id = s.run_id and o.next_seq < o.to_seq)::int as open_shards,
      (select count(*) from calls c where c.run_id = s.run_id and c.live)::int as live_calls
    from shards s left join run_paces p on p.run_id = s.run_id
    where s.run_id = ${runId} and s.channel = ${channel} and s.shard = ${shard}`.execute(db);
  const [row] = rows;
  return row ?? { rate: null, next_at: null, ahead: 0, offered: false, open_shards: 0, live_calls: 0 };
}

/** Its workflow has begun, and no call is in the air (fallback-turns.ts). */
const isBeforeCall = (channel: Channel, state: RecipientState, placed: Date | null): boolean =>
  channel === 'voice' && state === 'sending' && placed === null;

/** A later channel of a campaign that goes from channel to channel; when it begins is known once the one before is sent. */
export async function fallbackWait(
  db: Kysely<CampaignTables>,
  { key, view, run, stored }: RecipientFacts,
  tellsMore: boolean,
): Promise<Wait> {
  const { rows } = await sql<{ channel: Channel; state: RecipientState; placed: Date | null; updated: Date }>`
    select r.channel, ${derivedState} as state, ${placedAt('r')} as placed, r.updated_at as updated
    from recipients r
    cross join lateral (
      select next_seq from shards where run_id = r.run_id and channel = r.channel and shard = r.shard limit 1
    ) s
    cross join lateral (select phase, control from runs where id = r.run_id limit 1) runs
    where r.run_id = ${key.runId} and r.contact_id = ${view.contactId} and r.turn < ${stored.turn ?? 0}::int
    order by r.turn`.execute(db);
  const earlier = rows.map(({ channel, state, placed, updated }) => ({
    standing: standingOf(channel, isBeforeCall(channel, state, placed) ? 'pending' : state, tellsMore),
    sinceMs: (placed ?? updated).getTime(),
  }));
  const channel = rows.at(-1)?.channel;
  const afterMs = fallbackAfterMs(run.options);
  const latest = earlier.at(-1);
  if (latest?.standing !== 'counting') return { why: 'fallback', channel };
  const at = new Date(latest.sinceMs + afterMs);
  return nextTurn(earlier, afterMs, at.getTime() - 1) === 'wait'
    ? { why: 'fallback', channel, at }
    : { why: 'fallback', channel };
}
