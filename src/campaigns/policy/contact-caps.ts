import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import { databaseNow } from '../../domain/database-clock';
import { LIMITS } from '../../domain/limits';
import { type ContactCap, type ContactUse, capsOf, roomAt } from '../../domain/policy';
import { addressKey } from '../../domain/suppression';
import type { CampaignTables } from '../model/tables';
import { readPolicy } from './policy';

/**
 * Caps on how often a contact is written to or called, whatever the campaign (domain/policy.ts). A message takes
 * its place among those of its address before it is offered to the service, under its uid: who asks again for
 * the same message has the place already. A place of a message that certainly was not sent is given back in the
 * transaction that records it. Killed in between, it stays taken, and the worker that takes the page over asks for it by
 * the same uid.
 *
 * An address is one row, and its update decides on the row as it is once it is locked. So of two campaigns that
 * want the last place at the same moment one gets it, without either holding a lock while it sends.
 */
export interface CapScope {
  workspaceId: string;
  channel: Channel;
  /** The caps that count messages on this channel. Without any, the caller reads nothing. */
  caps: readonly ContactCap[];
}

export interface Place {
  uid: string;
  address: string;
}

/** Takes a place for each message; answers for those that have to wait, by their uid, until when. */
export async function reserveContacts(
  db: Kysely<CampaignTables>,
  scope: CapScope,
  wanted: readonly Place[],
): Promise<Map<string, Date>> {
  const waits = new Map<string, Date>();
  if (!scope.caps.length) return waits;
  for (const round of rounds(wanted)) {
    const taken = await take(db, scope, round);
    const refused = round.filter(({ key }) => !taken.has(key));
    if (!refused.length) continue;
    const uses = await readUses(
      db,
      scope.workspaceId,
      refused.map(({ key }) => key),
    );
    const now = databaseNow();
    for (const { uid, key } of refused) {
      // A place that was given back since is found by the next try, a moment later.
      const until = Math.max(roomAt(scope.caps, uses.get(key) ?? [], now), now + ASK_AGAIN_MS);
      waits.set(uid, new Date(until));
    }
  }
  return waits;
}

const ASK_AGAIN_MS = 1_000;

/** For one message, by the policy that is in force. */
export async function reserveContact(
  db: Kysely<CampaignTables>,
  message: { workspaceId: string; channel: Channel; address: string; uid: string; class: string | undefined },
): Promise<{ kind: 'go' } | { kind: 'later'; until: Date }> {
  const { workspaceId, channel, address, uid } = message;
  const caps = capsOf(await readPolicy(db, workspaceId), channel, message.class);
  const until = (await reserveContacts(db, { workspaceId, channel, caps }, [{ uid, address }])).get(uid);
  return until ? { kind: 'later', until } : { kind: 'go' };
}

/** Gives the places of messages back that certainly were not sent. In a transaction, the last thing to be done. */
export async function releaseContacts(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  places: readonly Place[],
): Promise<void> {
  if (!places.length) return;
  await sql`
    with locked as (
      select address from contact_uses
      where workspace_id = ${workspaceId} and address = any(${places.map(({ address }) => addressKey(address))}::text[])
      order by address for update
    )
    update contact_uses u set (uids, channels, used_at) = (
      select coalesce(array_agg(e.uid order by e.at), '{}'), coalesce(array_agg(e.channel order by e.at), '{}'),
        coalesce(array_agg(e.at order by e.at), '{}')
      from unnest(u.uids, u.channels, u.used_at) as e(uid, channel, at)
      where e.uid <> all(${places.map(({ uid }) => uid)}::text[]))
    from locked where u.workspace_id = ${workspaceId} and u.address = locked.address`.execute(db);
}

/** Deletes what no cap counts any more, in steps; faster than an installation adds to it. */
export async function forgetContactUses(db: Kysely<CampaignTables>): Promise<void> {
  for (let step = 0; step < LIMITS.contactUsesSteps; step++) {
    const { numAffectedRows } = await sql`
      delete from contact_uses where (workspace_id, address) in (
        select workspace_id, address from contact_uses
        where last_at < now() - ${daysAgo(LIMITS.capDays)} limit ${LIMITS.contactUsesForgotten})`.execute(db);
    if (Number(numAffectedRows ?? 0) < LIMITS.contactUsesForgotten) return;
  }
}

interface Wanted extends Place {
  key: string;
}

/** Messages to one address one after the other, since a statement changes a row once. In one order, lest two lock crosswise. */
function rounds(wanted: readonly Place[]): Wanted[][] {
  const result: Wanted[][] = [];
  const met = new Map<string, number>();
  for (const place of wanted) {
    const key = addressKey(place.address);
    const round = met.get(key) ?? 0;
    met.set(key, round + 1);
    if (round === result.length) result.push([]);
    result[round]?.push({ ...place, key });
  }
  for (const round of result) round.sort((one, other) => (one.key < other.key ? -1 : 1));
  return result;
}

async function take(
  db: Kysely<CampaignTables>,
  { workspaceId, channel, caps }: CapScope,
  wanted: readonly Wanted[],
): Promise<Set<string>> {
  const isOwn = sql`excluded.uids[1] = any(u.uids)`;
  const { rows } = await sql<{ address: string }>`
    insert into contact_uses as u (workspace_id, address, uids, channels, used_at, last_at)
    select ${workspaceId}, w.address, array[w.uid], array[${channel}::text], array[now()], now()
    from unnest(${wanted.map(({ key }) => key)}::text[], ${wanted.map(({ uid }) => uid)}::text[])
      with ordinality as w(address, uid, place) order by w.place
    on conflict (workspace_id, address) do update set (uids, channels, used_at, last_at) = (
      select array_agg(e.uid order by e.at), array_agg(e.channel order by e.at), array_agg(e.at order by e.at), max(e.at)
      from (
        select kept.* from unnest(u.uids, u.channels, u.used_at) as kept(uid, channel, at)
        where kept.at > now() - ${daysAgo(LIMITS.capDays)} or kept.uid = excluded.uids[1]
        union all
        select excluded.uids[1], excluded.channels[1], excluded.used_at[1] where not ${isOwn}
      ) e)
    where ${isOwn} or (${roomFor(caps)})
    returning u.address`.execute(db);
  return new Set(rows.map(({ address }) => address));
}

/** SQL: whether every cap has room for one more to an address of `contact_uses u`. */
function roomFor(caps: readonly ContactCap[]): RawBuilder<unknown> {
  const each = caps.map(
    ({ channels, max, days }) => sql`(
      select count(*) from unnest(u.channels, u.used_at) as e(channel, at)
      where e.at > now() - ${daysAgo(days)} and e.channel = any(${channels}::text[])) < ${max}::int`,
  );
  return sql.join(each, sql` and `);
}

/** SQL: whether an address has no room now; for counting, not for deciding. */
export function isOverCap(
  workspaceId: string,
  caps: readonly ContactCap[],
  address: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql`exists (
    select 1 from contact_uses u
    where u.workspace_id = ${workspaceId} and u.address = lower(${address} collate "C") and not (${roomFor(caps)}))`;
}

/** Days of 24 hours: those of the calendar would depend on the connection's zone. */
const daysAgo = (days: number) => sql`make_interval(hours => ${days * 24}::int)`;

async function readUses(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  keys: readonly string[],
): Promise<Map<string, ContactUse[]>> {
  const rows = await db
    .selectFrom('contact_uses')
    .select(['address', 'channels', 'used_at'])
    .where('workspace_id', '=', workspaceId)
    .where('address', '=', sql<string>`any(${keys}::text[])`)
    .execute();
  return new Map(
    rows.map(({ address, channels, used_at }) => [
      address,
      used_at.map((at, i) => ({ channel: channels[i] ?? '', at: new Date(at) })),
    ]),
  );
}
