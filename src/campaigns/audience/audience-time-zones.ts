import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import { databaseNow } from '../../domain/database-clock';
import { deliveryRule } from '../../domain/delivery-rule';
import { PHONE_PREFIX_MAX, phoneZones } from '../../domain/time-zones/phone-zones';
import {
  asksForPlaces,
  campaignZone,
  type HourOptions,
  openHours,
  startFor,
} from '../../domain/time-zones/recipient-hours';
import { isIanaZone } from '../../domain/time-zones/wall-time';
import { contactById } from '../contacts/contact-by-id';
import type { CampaignTables } from '../model/tables';

/**
 * The time zones of an audience's contacts, and when they are due there (domain/time-zones/recipient-hours.ts).
 * Zones are few, however many contacts there are. So the times are computed here per zone and looked up in SQL,
 * in one jsonb object. A join is avoided, because the planner would have to guess its order for rows without
 * statistics.
 */
export interface PlacePlan {
  /**
   * An expression `places` of one row. Its `map` has every zone as a key, with the time it is due unless it is
   * due now.
   */
  expression: RawBuilder<unknown>;
  /** The zone of a row of `contacts c`. */
  placeOf: RawBuilder<string>;
  /** When a row with a column `place` is due. */
  dueAt: RawBuilder<Date>;
}

/** Seconds since 1970; null means at once. */
type DueSeconds = Record<string, number | null>;

/** Null for a zone whose hour has come: all recipients who may be reached now are due at the same time. */
const NOW = null;

/** Zone of contacts about whom nothing is known, where no default zone may be assumed. */
export const UNKNOWN_PLACE = '';

export async function planPlaces(
  db: Kysely<CampaignTables>,
  audience: { workspaceId: string; contactListIds: string[] },
  { otherwise, due }: { otherwise: string; due: (place: string) => number | null },
  members?: RawBuilder<unknown>,
): Promise<PlacePlan> {
  const places: DueSeconds = { [otherwise]: due(otherwise) };
  // Numbers with the same zones stand side by side, so that one computation serves the next.
  for (const prefix of phoneZones().keys()) places[`+${prefix}`] = due(`+${prefix}`);
  for (const zone of await statedZones(db, audience, members)) places[zone] = due(zone);
  return {
    expression: sql`places as materialized (select ${JSON.stringify(places)}::jsonb as map)`,
    placeOf: placeSql(otherwise),
    dueAt: sql`coalesce(to_timestamp(((select map from places) ->> place)::float8), now())`,
  };
}

/**
 * When a campaign with such hours reaches each zone: null where that is now. A zone whose hour comes after the campaign's
 * end is due just after that end: its recipients expire then, and the run does not stay open until their hour.
 */
export function dueSeconds(
  options: HourOptions,
  channel: Channel,
  now: number,
): (place: string) => number | null {
  const hours = openHours(options, channel);
  const { endsAtMs = Number.POSITIVE_INFINITY } = deliveryRule(options);
  return (place) => {
    const open = hours.nextFor(place, Math.max(now, startFor(place, options) ?? now));
    const due = Math.min(open, endsAtMs + 1);
    return due > now ? Math.ceil(due / 1_000) : NOW;
  };
}

/**
 * The zones for a piece of a run's audience; undefined when the campaign does not depend on them. `members` are
 * common table expressions that end in the piece's `member`.
 */
export async function placesOfRun(
  db: Kysely<CampaignTables>,
  audience: {
    workspaceId: string;
    contactListIds: string[];
    channel: Channel;
    hours?: HourOptions | undefined;
  },
  members: RawBuilder<unknown>,
): Promise<PlacePlan | undefined> {
  const { hours = {}, channel } = audience;
  if (!asksForPlaces(hours, channel)) return undefined;
  return planPlaces(
    db,
    audience,
    { otherwise: campaignZone(hours), due: dueSeconds(hours, channel, databaseNow()) },
    members,
  );
}

/** The zones that contacts of the lists name. A name that this JavaScript engine does not know counts as none. */
async function statedZones(
  db: Kysely<CampaignTables>,
  { workspaceId, contactListIds }: { workspaceId: string; contactListIds: string[] },
  members: RawBuilder<unknown> = sql`member as (
      select contact_id from contact_list_members where list_id = any(${contactListIds}::text[])
    )`,
): Promise<string[]> {
  const { rows } = await sql<{ timezone: string }>`
    with ${members}
    select distinct c.timezone from member m cross join lateral ${contactById(sql`m.contact_id`)} c
    where c.workspace_id = ${workspaceId} and c.timezone is not null`.execute(db);
  return rows.map(({ timezone }) => timezone).filter(isIanaZone);
}

/** SQL: the stated zone, or else the longest known prefix of the phone number, including the plus. */
function placeSql(otherwise: string): RawBuilder<string> {
  const keys: RawBuilder<unknown>[] = [sql`c.timezone`];
  for (let length = PHONE_PREFIX_MAX; length > 0; length--) {
    keys.push(sql`left(c.phone, ${sql.lit(length + 1)})`);
  }
  const cases = keys.map((key) => sql`when (select map from places) ? ${key} then ${key}`);
  return sql`case ${sql.join(cases, sql` `)} else ${otherwise} end`;
}
