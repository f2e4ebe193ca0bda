import { type RawBuilder, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import { REACHED } from '../../domain/recipient';
import type { HourOptions } from '../../domain/time-zones/recipient-hours';
import { contactOfMember } from '../contacts/contact-by-id';
import { filledParams, requiredNames } from '../contacts/fill-params';
import type { SuppressionEntry, SuppressionRule } from '../model/dependencies';
import type { ChannelSettings, RunOptions } from '../runs/runs';
import type { PlacePlan } from './audience-time-zones';

/** A campaign's audience on one channel; runs freeze it and dry runs survey it by the same expressions. */
export interface Audience {
  workspaceId: string;
  channel: Channel;
  /** Includes the campaign's own audience. */
  contactListIds: string[];
  /** The campaign's own audience, one of `contactListIds`. */
  ownListId?: string | undefined;
  /** The template's placeholders; each recipient keeps the values of these and no others. */
  placeholders: string[];
  /** Values for contacts that have none of their own. */
  campaignParams: Record<string, string | number>;
  /** Contacts whom these campaigns have reached on this channel are left out. */
  excludedCampaigns?: string[] | undefined;
  /** Excludes only contacts who had opted out, not all contacts whom those campaigns reached. */
  excludesOptedOut?: boolean | undefined;
  /** SQL: whether an address may not be sent to. Without it, every address may. */
  isSuppressed?: ((address: RawBuilder<unknown>) => RawBuilder<boolean>) | undefined;
  /** SQL: the suppression entry of an address that may not be sent to. */
  suppressionOf?: ((address: RawBuilder<unknown>) => RawBuilder<unknown>) | undefined;
  /** The hours at which recipients may be reached. */
  hours?: HourOptions | undefined;
}

/** A campaign's description of its audience, whether it is a run's or one that was never created. */
export interface AudienceSource {
  workspaceId: string;
  settings: Partial<Record<Channel, ChannelSettings>>;
  contactListIds: string[];
  ownListId?: string | undefined;
  options: Pick<RunOptions, 'params' | 'exclude'> & HourOptions;
}

export function audienceOf(
  { workspaceId, settings, contactListIds, ownListId, options }: AudienceSource,
  channel: Channel,
  placeholders: string[],
  suppression: SuppressionRule | undefined,
  entry?: SuppressionEntry | undefined,
): Audience {
  const from = settings[channel]?.from ?? '';
  return {
    workspaceId,
    channel,
    contactListIds,
    ownListId,
    placeholders,
    campaignParams: options.params ?? {},
    excludedCampaigns: options.exclude?.campaignIds,
    excludesOptedOut: options.exclude?.suppressionOnly,
    hours: options,
    isSuppressed: suppression && ((address) => suppression(workspaceId, { channel, from, address })),
    suppressionOf: entry && ((address) => entry(workspaceId, { channel, from, address })),
  };
}

/** A piece of a run's audience: the next contacts that the freeze has not looked at. */
export interface AudiencePiece {
  runId: string;
  /** The last contact of the piece before; '' for the first piece. */
  afterId: string;
  /** Most contacts of the piece. */
  contacts: number;
  /** The piece has exactly `contacts` contacts, if there are so many. */
  isExact: boolean;
}

/**
 * Common table expressions that end in `ranked (id, address, params, place, reason)`. It has every contact of
 * the lists once, with the first reason why they cannot be a recipient, or null for a recipient. Of contacts
 * with the same address, however it is written, the oldest one that could be reached keeps it. `place` is null
 * unless a plan of time zones is given. Parameters are filled once for each contact because of `offset 0`. The planner
 * would else fill them again to look for missing ones.
 *
 * For a piece, the expressions begin with those of `pieceMembers`. Contacts that are marked as excluded already
 * are absent.
 */
export function rankedContacts(
  audience: Audience,
  places: PlacePlan | undefined,
  piece?: AudiencePiece,
): RawBuilder<unknown> {
  const { workspaceId, channel, placeholders, campaignParams, isSuppressed } = audience;
  const address = channel === 'email' ? sql.ref('c.email') : sql.ref('c.phone');
  const valid = channel === 'email' ? sql`address like '%_@_%'` : IS_PHONE_NUMBER;
  const suppressed = isSuppressed ? isSuppressed(sql`candidate.address`) : sql`false`;
  const excluded = piece ? NOBODY : exclusion(audience);
  const place = places?.placeOf ?? sql`null::text`;
  return sql`
    ${places ? sql`${places.expression},` : sql``} ${piece ? pieceMembers(audience, piece) : allMembers(audience)},
    candidate as (
      select c.id, ${address} as address, ${filledParams(placeholders, campaignParams)} as params,
        ${place} as place
      from member m cross join lateral ${contactOfMember(sql`m.contact_id`, audience.ownListId)} c
      where c.workspace_id = ${workspaceId} ${piece ? unmarked(audience, piece) : sql``}
      offset 0
    ), ${excluded.expressions} judged as materialized (
      select id, address, params, place, case
        when address is null then 'no_address'
        when not ${valid} then 'invalid_address'
        when ${suppressed} then 'suppressed'
        when ${excluded.applies} then 'excluded'
        when not params ?& ${requiredNames(placeholders)}::text[] then 'missing_params'
      end as reason
      from ${excluded.from}
    ), ranked as materialized (
      select id, address, params, place, coalesce(reason, case
        when row_number() over (partition by ${mailbox(channel)}, reason order by id) > 1 then 'duplicate_address'
        ${piece ? sql`when ${isTaken(audience, piece)} then 'duplicate_address'` : sql``}
      end) as reason
      from judged
    )`;
}

/** E.164: a plus and 7 to 15 digits, of which the first is not 0. As a regular expression it takes three times as long. */
const IS_PHONE_NUMBER = sql`(length(address) between 8 and 16 and left(address, 2) collate "C" between '+1' and '+9'
          and translate(address, '0123456789', '') = '+')`;

const allMembers = ({ contactListIds }: Audience) => sql`member as materialized (
      select distinct contact_id from contact_list_members where list_id = any(${contactListIds}::text[])
    )`;

/**
 * The next contacts of all lists in the order of their ids, each once. Each list is asked for a part of the
 * piece, so that a hundred lists cost no more than one. Contacts beyond the last one read from an unfinished
 * list are left for the next piece. `listed` has all contacts that were read, `more` the lists that may have
 * more.
 */
export function pieceMembers({ contactListIds, channel }: Audience, piece: AudiencePiece) {
  const lists = contactListIds.length;
  const ofEach = lists > 1 && !piece.isExact ? Math.ceil((2 * piece.contacts) / lists) : piece.contacts;
  return sql`listed as materialized (
      select l.list_id, m.contact_id
      from unnest(${contactListIds}::text[]) as l(list_id) cross join lateral (
        select contact_id from contact_list_members
        where list_id = l.list_id and contact_id > ${piece.afterId}::text and added_at <= ${begunAt(channel, piece.runId)}
        order by contact_id limit ${ofEach}::int
      ) m
    ), more as materialized (
      select max(contact_id) as last_id from listed group by list_id having count(*) = ${ofEach}::int
    ), member as materialized (
      select distinct contact_id from listed
      where contact_id <= coalesce((select min(last_id) from more), contact_id)
      order by contact_id limit ${piece.contacts}::int
    )`;
}

/**
 * In SQL alone, because JavaScript's dates have no microseconds and would leave out the contacts who were added
 * last.
 */
const begunAt = (channel: Channel, runId: string) =>
  sql`(select begun_at from audience_freezes where run_id = ${runId} and channel = ${channel})`;

/**
 * Leaves out contacts whom `excludedContacts` has marked, because they are counted already. They are found by
 * their own index: the index of the run would lead through every contact left out, as in `isTaken`.
 */
function unmarked({ channel, excludedCampaigns }: Audience, { runId }: AudiencePiece) {
  if (!excludedCampaigns?.length) return sql``;
  return sql`and not exists (
        select from skipped_contacts k where k.contact_id = m.contact_id
          and k.run_id || '' = ${runId} and k.channel || '' = ${channel})`;
}

/**
 * Whether a recipient of an earlier piece has the address. The search must use `recipients_by_mailbox`, because
 * the run's own index would lead through all recipients frozen so far. The run is therefore compared as an
 * expression that no index has.
 */
function isTaken({ channel }: Audience, { runId }: AudiencePiece): RawBuilder<boolean> {
  const text = (of: RawBuilder<unknown>) => sql`lower(${of} collate "C")`;
  return sql<boolean>`exists (
          select from recipients r
          where hashtextextended(r.run_id || '.' || r.channel || '.' || ${text(sql`r.address`)}, 0)
              = hashtextextended(${runId}::text || '.' || ${channel}::text || '.' || ${text(sql`judged.address`)}, 0)
            and r.run_id || '' = ${runId} and r.channel || '' = ${channel} and ${text(sql`r.address`)} = ${text(sql`judged.address`)})`;
}

/** The ids of contacts whom the excluded campaigns have reached, if no other reason leaves them out. */
export function excludedContacts(audience: Audience, runId: string): RawBuilder<unknown> {
  return sql`with ${rankedContacts(audience, undefined)}
    select distinct ranked.id from ranked join contact_list_members m on m.contact_id = ranked.id
    where ranked.reason = 'excluded' and m.list_id = any(${audience.contactListIds}::text[])
      and m.added_at <= ${begunAt(audience.channel, runId)}`;
}

/**
 * The key by which two addresses reach the same person. An email address is the same however it is written, as
 * for suppression and caps.
 */
const mailbox = (channel: Channel) => (channel === 'email' ? sql`lower(address collate "C")` : sql`address`);

const NOBODY = { expressions: sql``, from: sql`candidate`, applies: sql`false` };

/**
 * Marks contacts by id, because their address may have changed since, and by address, because another contact
 * may share it. Both are marked by sorting, never by a join. The planner has no statistics for new rows: it
 * expects one row, and loops through a million contacts for each of them. States are derived as in ledger.ts: a
 * recipient in a page counts as reached.
 */
function exclusion(audience: Audience) {
  const { workspaceId, channel, excludedCampaigns, excludesOptedOut } = audience;
  if (!excludedCampaigns?.length) return NOBODY;
  return {
    expressions: sql`reached as (
      select r.contact_id as id, r.address, null::jsonb as params, null::text as place, true as is_reached
      from runs
      join shards s on s.run_id = runs.id and s.channel = ${channel}
      join recipients r on r.run_id = s.run_id and r.channel = s.channel and r.seq >= s.from_seq and r.seq < s.to_seq
      where runs.workspace_id = ${workspaceId} and runs.campaign_id = any(${excludedCampaigns}::text[])
        and ${excludesOptedOut ? sql`(r.state = 'suppressed' or r.outcome = 'opted_out')` : sql`(r.state = any(${[...REACHED]}::text[]) or (r.state = 'pending' and r.seq < s.next_seq))`}
      ${excludesOptedOut ? optedOutBefore(audience) : sql``}
    ), marked as (
      select *, bool_or(is_reached) over (partition by id) as met,
        bool_or(is_reached) over (partition by ${mailbox(channel)}) as used
      from (select *, false as is_reached from candidate union all select * from reached) everybody
    ),`,
    from: sql`(select id, address, params, place, met, used from marked where not is_reached) candidate`,
    applies: sql`(met or used)`,
  };
}

/** A contact who had opted out before such a campaign was sent was never its recipient. */
function optedOutBefore({ workspaceId, channel, excludedCampaigns = [] }: Audience) {
  return sql`union all
      select k.contact_id, null::text, null::jsonb, null::text, true
      from runs join skipped_contacts k on k.run_id = runs.id and k.channel = ${channel} and k.reason = 'suppressed'
      where runs.workspace_id = ${workspaceId} and runs.campaign_id = any(${excludedCampaigns}::text[])`;
}
