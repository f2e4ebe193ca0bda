import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
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
import type { CampaignTables } from '../tables';

/**
 * Where the contacts of an audience are, and when they are due there (domain/time-zones/recipient-hours.ts).
 * However many contacts there are, their places are few, so that the hours are worked out here for each place
 * and only looked up in SQL: in one jsonb object, never by a join, whose order the planner would have to guess
 * for rows that it knows nothing of.
 */
export interface PlacePlan {
  /** An expression `places`, one row whose `map` has every place as a key, with when it is due if not now. */
  expression: RawBuilder<unknown>;
  /** The place of a row of `contacts c`. */
  placeOf: RawBuilder<string>;
  /** When a row that has a column `place` is due. */
  dueAt: RawBuilder<Date>;
}

/** Seconds since 1970; null is at once. */
type DueSeconds = Record<string, number | null>;

/** Null where a place's hour has come: everybody who may be reached now is due at the same time. */
const NOW = null;

/** Of contacts nothing is known of, where nobody else's zone is to be taken for theirs. */
export const UNKNOWN_PLACE = '';

export async function planPlaces(
  db: Kysely<CampaignTables>,
  audience: { workspaceId: string; contactListIds: string[] },
  { otherwise, due }: { otherwise: string; due: (place: string) => number | null },
  members?: RawBuilder<unknown>,
): Promise<PlacePlan> {
  const places: DueSeconds = { [otherwise]: due(otherwise) };
  // Numbers with the same zones stand side by side, which lets what is worked out for one serve the next.
  for (const prefix of phoneZones().keys()) places[`+${prefix}`] = due(`+${prefix}`);
  for (const zone of await statedZones(db, audience, members)) places[zone] = due(zone);
  return {
    expression: sql`places as materialized (select ${JSON.stringify(places)}::jsonb as map)`,
    placeOf: placeSql(otherwise),
    dueAt: sql`coalesce(to_timestamp(((select map from places) ->> place)::float8), now())`,
  };
}

/** When a campaign that asks is to reach each place: null where that is now. */
export function dueSeconds(
  options: HourOptions,
  channel: Channel,
  now: number,
): (place: string) => number | null {
  const hours = openHours(options, channel);
  return (place) => {
    const due = hours.nextFor(place, Math.max(now, startFor(place, options) ?? now));
    return due > now ? Math.ceil(due / 1_000) : NOW;
  };
}

/**
 * How a piece of a run's audience is to be placed; undefined when it does not matter where anybody is. `members` are
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
    { otherwise: campaignZone(hours), due: dueSeconds(hours, channel, Date.now()) },
    members,
  );
}

/** The zones that contacts of the lists name. A name that this engine does not know is as good as none. */
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

/** The stated zone, else the longest known beginning of the phone number, plus included. */
function placeSql(otherwise: string): RawBuilder<string> {
  const keys: RawBuilder<unknown>[] = [sql`c.timezone`];
  for (let length = PHONE_PREFIX_MAX; length > 0; length--) {
    keys.push(sql`left(c.phone, ${sql.lit(length + 1)})`);
  }
  const cases = keys.map((key) => sql`when (select map from places) ? ${key} then ${key}`);
  return sql`case ${sql.join(cases, sql` `)} else ${otherwise} end`;
}
