import { type Kysely, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { addressWord, suppressionSentence } from '../../domain/explanation';
import { REACHED, SKIP_REASONS, type SkipReason } from '../../domain/recipient';
import type { CampaignTables, SkipEvidence } from '../model/tables';

/** A contact that did not become a recipient, and why, in a sentence that can be read out. */
export interface SkippedContact {
  contactId: string;
  channel: Channel;
  /** The one that was judged; null where it had none, and where an earlier release did not keep it. */
  address: string | null;
  reason: SkipReason;
  evidence: string;
}

/** Where a listing stopped: contacts are listed by channel, then by reason, then by id. */
export interface SkippedPosition {
  channel: Channel;
  reason: SkipReason;
  contactId: string;
}

export interface SkippedFilter {
  channel?: Channel | undefined;
  reason?: SkipReason | undefined;
}

interface Row {
  contactId: string;
  channel: Channel;
  address: string | null;
  reason: SkipReason;
  evidence: SkipEvidence | null;
  /** Id of the recipient that has the address. */
  keeper: string | null;
  /** An excluded campaign that has reached the contact. */
  excluded: string | null;
}

/**
 * A page of a run's contacts that were left out. Each pair of a channel and a reason is a range of the index, so that
 * a rare reason among a million others is found at once.
 */
export async function listSkipped(
  db: Kysely<CampaignTables>,
  { workspaceId, runId }: { workspaceId: string; runId: string },
  { after, limit, ...filter }: SkippedFilter & { after?: SkippedPosition | undefined; limit: number },
): Promise<{ skipped: SkippedContact[]; next: SkippedPosition | undefined }> {
  const pairs = pairsFrom(filter, after);
  const { rows } = await sql<Row>`
    select k.contact_id as "contactId", k.channel, k.address, k.reason, k.evidence, ${keeper} as keeper,
      ${excluded(workspaceId)} as excluded
    from (
      select found.*, pair.place from unnest(
        ${pairs.map(({ channel }) => channel)}::text[], ${pairs.map(({ reason }) => reason)}::text[],
        ${pairs.map(({ from }) => from)}::text[]) with ordinality as pair(channel, reason, after_id, place)
      cross join lateral (
        select * from skipped_contacts
        where run_id = ${runId} and channel = pair.channel and reason = pair.reason and contact_id > pair.after_id
        order by contact_id limit ${limit + 1}::int
      ) found
      order by pair.place, found.contact_id limit ${limit + 1}::int
    ) k
    order by k.place, k.contact_id`.execute(db);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    skipped: page.map(present),
    next: rows.length > limit && last ? positionOf(last) : undefined,
  };
}

const positionOf = ({ channel, reason, contactId }: Row): SkippedPosition => ({ channel, reason, contactId });

/** The channels and reasons that a page may come to, in the order of the list. */
function pairsFrom({ channel, reason }: SkippedFilter, after: SkippedPosition | undefined) {
  const pairs = (channel ? [channel] : CHANNELS).flatMap((one) =>
    (reason ? [reason] : SKIP_REASONS).map((why) => ({ channel: one, reason: why, from: '' })),
  );
  if (!after) return pairs;
  const rank = (one: { channel: Channel; reason: SkipReason }) =>
    CHANNELS.indexOf(one.channel) * SKIP_REASONS.length + SKIP_REASONS.indexOf(one.reason);
  return pairs
    .filter((pair) => rank(pair) >= rank(after))
    .map((pair) => (rank(pair) === rank(after) ? { ...pair, from: after.contactId } : pair));
}

/** One contact on one channel, by the contact’s index; undefined when the run has not left it out. */
export async function readSkipped(
  db: Kysely<CampaignTables>,
  { workspaceId, runId }: { workspaceId: string; runId: string },
  { contactId, channel }: { contactId: string; channel: Channel },
): Promise<SkippedContact | undefined> {
  const { rows } = await sql<Row>`
    select k.contact_id as "contactId", k.channel, k.address, k.reason, k.evidence, ${keeper} as keeper,
      ${excluded(workspaceId)} as excluded
    from skipped_contacts k
    where k.contact_id = ${contactId} and k.run_id || '' = ${runId} and k.channel || '' = ${channel}`.execute(
    db,
  );
  return rows[0] && present(rows[0]);
}

/** All of them, a page at a time. */
export async function* skippedPages(
  db: Kysely<CampaignTables>,
  run: { workspaceId: string; runId: string } | undefined,
  filter: SkippedFilter & { pageSize: number },
): AsyncGenerator<SkippedContact[]> {
  const { pageSize, ...which } = filter;
  let after: SkippedPosition | undefined;
  if (!run) return;
  do {
    const page = await listSkipped(db, run, { ...which, after, limit: pageSize });
    if (page.skipped.length > 0) yield page.skipped;
    after = page.next;
  } while (after);
}

/** The address belongs to a recipient of the same run, which `recipients_by_mailbox` finds. */
const keeper = sql`case k.reason when 'duplicate_address' then (
  select r.contact_id from recipients r
  where hashtextextended(r.run_id || '.' || r.channel || '.' || lower(r.address collate "C"), 0)
      = hashtextextended(k.run_id || '.' || k.channel || '.' || lower(k.address collate "C"), 0)
    and r.run_id || '' = k.run_id and r.channel || '' = k.channel and lower(r.address collate "C") = lower(k.address collate "C")
  limit 1) end`;

/** The name of a campaign that the run's one excludes and that has the contact among those it reached. */
const excluded = (workspaceId: string) => sql`case k.reason when 'excluded' then (
  select other.name
  from runs own join campaigns c on c.id = own.campaign_id
  join recipients r on r.contact_id = k.contact_id and r.channel = k.channel
  join runs on runs.id = r.run_id and runs.workspace_id = ${workspaceId} and runs.started_at <= coalesce(own.finished_at, now())
  join campaigns other on other.id = runs.campaign_id
  where own.id = k.run_id and c.options #> '{exclude,campaignIds}' ? runs.campaign_id
    and (r.state = any(${[...REACHED]}::text[]) or r.state in ('pending', 'suppressed') or r.outcome = 'opted_out')
  order by runs.number desc limit 1) end`;

function present({ contactId, channel, address, reason, ...row }: Row): SkippedContact {
  return { contactId, channel, address, reason, evidence: EVIDENCE[reason](channel, row) };
}

type Known = Pick<Row, 'evidence' | 'keeper' | 'excluded'>;

const EVIDENCE: Record<SkipReason, (channel: Channel, known: Known) => string> = {
  no_address: (channel) => `The contact had no ${addressWord(channel)} when the audience was frozen.`,
  invalid_address: (channel) =>
    `The ${addressWord(channel)} of the contact was not a valid one when the audience was frozen.`,
  duplicate_address: (channel, { keeper: contactId }) =>
    `${contactId === null ? 'Another contact' : `Contact ${contactId}`} of the same audience has the same ${addressWord(channel)}, and each is sent to once.`,
  suppressed: (channel, { evidence }) => suppressionSentence(channel, evidence?.suppression),
  excluded: (_channel, { excluded: name }) =>
    `${name === null ? 'A campaign' : `The campaign “${name}”`}, which this campaign excludes, had reached the contact or its address before.`,
  missing_params: (_channel, { evidence }) =>
    evidence?.missing
      ? `The template needs values that neither the contact nor the campaign has: ${evidence.missing.join(', ')}.`
      : 'The template needs values that neither the contact nor the campaign has.',
};
