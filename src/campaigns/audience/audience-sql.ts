import { type RawBuilder, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import { REACHED } from '../../domain/recipient';
import type { HourOptions } from '../../domain/time-zones/recipient-hours';
import { contactById } from '../contacts/contact-by-id';
import type { SuppressionRule } from '../ports';
import type { ChannelSettings, RunOptions } from '../runs/runs';
import type { PlacePlan } from './audience-places';
import { filledParams, requiredNames } from './fill-params';

/** Who a campaign is for on one channel; the same for a run's freezing and for a dry run. */
export interface Audience {
  workspaceId: string;
  channel: Channel;
  contactListIds: string[];
  /** The template's placeholders; each recipient keeps the values of these and no others. */
  placeholders: string[];
  /** Values for contacts that have none of their own. */
  campaignParams: Record<string, string | number>;
  /** Whom these campaigns have reached on this channel is left out. */
  excludedCampaigns?: string[] | undefined;
  /** Of those, only who had opted out. */
  excludesOptedOut?: boolean | undefined;
  /** SQL: whether an address may not be sent to. Without it, all may. */
  isSuppressed?: ((address: RawBuilder<unknown>) => RawBuilder<boolean>) | undefined;
  /** At which hours they may be reached. */
  hours?: HourOptions | undefined;
}

/** What a campaign says of its audience, whether it is a run's or one that was never created. */
export interface AudienceSource {
  workspaceId: string;
  settings: Partial<Record<Channel, ChannelSettings>>;
  contactListIds: string[];
  options: Pick<RunOptions, 'params' | 'exclude'> & HourOptions;
}

export function audienceOf(
  { workspaceId, settings, contactListIds, options }: AudienceSource,
  channel: Channel,
  placeholders: string[],
  suppression: SuppressionRule | undefined,
): Audience {
  const from = settings[channel]?.from ?? '';
  return {
    workspaceId,
    channel,
    contactListIds,
    placeholders,
    campaignParams: options.params ?? {},
    excludedCampaigns: options.exclude?.campaignIds,
    excludesOptedOut: options.exclude?.suppressionOnly,
    hours: options,
    isSuppressed: suppression && ((address) => suppression(workspaceId, { channel, from, address })),
  };
}

/**
 * Common table expressions that end in `ranked (id, address, params, place, reason)`: every contact of the
 * lists once, with the first reason why it cannot be a recipient, or null for those that are. Of the contacts
 * that share an address, however it is written, the oldest that could be reached keeps it. The place is null
 * when nobody asks for it.
 */
export function rankedContacts(audience: Audience, places: PlacePlan | undefined): RawBuilder<unknown> {
  const { workspaceId, channel, contactListIds, placeholders, campaignParams, isSuppressed } = audience;
  const address = channel === 'email' ? sql.ref('c.email') : sql.ref('c.phone');
  const valid = channel === 'email' ? sql`address like '%_@_%'` : sql`address ~ '^\\+[1-9][0-9]{6,14}$'`;
  const suppressed = isSuppressed ? isSuppressed(sql`candidate.address`) : sql`false`;
  const excluded = exclusion(audience);
  const place = places?.placeOf ?? sql`null::text`;
  return sql`
    ${places ? sql`${places.expression},` : sql``} member as materialized (
      select distinct contact_id from contact_list_members where list_id = any(${contactListIds}::text[])
    ), candidate as (
      select c.id, ${address} as address, ${filledParams(placeholders, campaignParams)} as params,
        ${place} as place
      from member m cross join lateral ${contactById(sql`m.contact_id`)} c where c.workspace_id = ${workspaceId}
    ), ${excluded.expressions} judged as (
      select id, address, params, place, case
        when address is null then 'no_address'
        when not ${valid} then 'invalid_address'
        when ${suppressed} then 'suppressed'
        when ${excluded.applies} then 'excluded'
        when not params ?& ${requiredNames(placeholders)}::text[] then 'missing_params'
      end as reason
      from ${excluded.from}
    ), ranked as materialized (
      select id, address, params, place,
        coalesce(reason, case when row_number() over (partition by ${mailbox(channel)}, reason order by id) > 1 then 'duplicate_address' end) as reason
      from judged
    )`;
}

/**
 * What two addresses that reach the same person have in common. An email address is the same however it is
 * written, as it is for suppression and caps.
 */
const mailbox = (channel: Channel) => (channel === 'email' ? sql`lower(address collate "C")` : sql`address`);

/**
 * By contact, whose address may have changed since, and by address, which another contact may share. Both
 * are marked by sorting, never by a join: of rows that were written a moment ago the planner knows nothing,
 * and joins a million contacts to what it takes for one row by looping through all of it for each. States
 * are derived as in ledger.ts: what a page has taken on is on its way at least.
 */
function exclusion(audience: Audience) {
  const { workspaceId, channel, excludedCampaigns, excludesOptedOut } = audience;
  if (!excludedCampaigns?.length) return { expressions: sql``, from: sql`candidate`, applies: sql`false` };
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

/** Who had opted out before such a campaign was sent was never its recipient. */
function optedOutBefore({ workspaceId, channel, excludedCampaigns = [] }: Audience) {
  return sql`union all
      select k.contact_id, null::text, null::jsonb, null::text, true
      from runs join skipped_contacts k on k.run_id = runs.id and k.channel = ${channel} and k.reason = 'suppressed'
      where runs.workspace_id = ${workspaceId} and runs.campaign_id = any(${excludedCampaigns}::text[])`;
}
