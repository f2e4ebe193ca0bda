import { type Kysely, type RawBuilder, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { LIMITS } from '../../domain/limits';
import { addressKey } from '../../domain/suppression';
import type { CampaignTables } from '../model/tables';
import type { RecipientRef } from './recipient-facts';

/**
 * The person to explain: by the contact's id, or by an address that the contact has, or had when the audience
 * was frozen.
 */
export interface PersonQuery {
  workspaceId: string;
  campaignId: string;
  contact?: string | undefined;
  to?: string | undefined;
  channel?: Channel | undefined;
  runId?: string | undefined;
}

/** The person in one run on one channel. `isTaken`: it was acted on since the freeze. */
export type Part = { number: number; isTaken: boolean; actedAt: Date } & (
  | ({ kind: 'recipient' } & RecipientRef)
  | { kind: 'skipped'; runId: string; channel: Channel; contactId: string; hadAddress: boolean }
);

/**
 * A person's parts in the campaign, the newest run first, in it recipients before contacts that were left out, and the
 * channel that was last acted on before others; a channel that the person had no address for comes last. Each is found by an index: of contacts by their addresses, of recipients
 * and of those left out by their contact, and by the address that was judged, in the newest runs.
 */
export async function findPerson(db: Kysely<CampaignTables>, query: PersonQuery): Promise<Part[]> {
  const { contact, to } = query;
  const contactIds = contact === undefined ? await contactsAt(db, query) : [contact];
  const ways: Way[] = [ofContacts(contactIds), ...(to === undefined ? [] : [atMailboxes(query, to)])];
  const found: Part[] = [];
  for (const way of ways)
    found.push(...(await recipientsOf(db, query, way)), ...(await skippedOf(db, query, way)));
  const parts = [...new Map(found.map((part) => [keyOf(part), part])).values()];
  return parts.sort(
    (one, other) =>
      other.number - one.number ||
      Number(one.kind === 'skipped') - Number(other.kind === 'skipped') ||
      Number(other.isTaken) - Number(one.isTaken) ||
      Number(hadNoAddress(one)) - Number(hadNoAddress(other)) ||
      other.actedAt.getTime() - one.actedAt.getTime() ||
      CHANNELS.indexOf(one.channel) - CHANNELS.indexOf(other.channel),
  );
}

const hadNoAddress = (part: Part) => part.kind === 'skipped' && !part.hadAddress;

const keyOf = (part: Part) =>
  part.kind === 'recipient'
    ? `r ${part.runId} ${part.channel} ${part.seq}`
    : `k ${part.runId} ${part.channel} ${part.contactId}`;

/** Contacts that have the address now. */
async function contactsAt(
  db: Kysely<CampaignTables>,
  { workspaceId, to = '' }: PersonQuery,
): Promise<string[]> {
  const key = addressKey(to);
  const { rows } = await sql<{ id: string }>`
    select id from contacts where workspace_id = ${workspaceId} and identity = any(${[`e:${key}`, `p:${key}`]}::text[])
    union
    select id from contacts
    where workspace_id = ${workspaceId} and lower(email collate "C") = ${key} and left(identity, 2) <> 'e:'
    union
    select id from contacts where workspace_id = ${workspaceId} and phone collate "C" = ${key} and phone is not null
      and left(identity, 2) <> 'p:'
    limit ${LIMITS.explainedOthers}`.execute(db);
  return rows.map(({ id }) => id);
}

const ofCampaign = ({ campaignId, runId }: PersonQuery) => sql`
  runs.campaign_id = ${campaignId}
  and ${runId === undefined ? sql`true` : sql`runs.id = ${runId}`}`;

/** SQL: the person's rows of a table, found by one index, whatever the planner knows of the others. */
type Way = (table: 'recipients' | 'skipped_contacts') => RawBuilder<unknown>;

/** The offset keeps the planner from reading all of a run beside the contact's index. */
const ofContacts =
  (contactIds: readonly string[]): Way =>
  (table) =>
    sql`(
    select * from ${sql.table(table)} where contact_id = any(${contactIds}::text[]) offset 0)`;

/**
 * By the hash of the mailbox, for each run and channel. The run is compared as an expression that no index has, because
 * the run's own index would lead through all of it, and the limit keeps the planner from a join.
 */
function atMailboxes(query: PersonQuery, to: string): Way {
  const key = addressKey(to);
  const channels = query.channel ? [query.channel] : [...CHANNELS];
  return (table) => sql`(
    select found.* from (
      select id from runs where runs.workspace_id = ${query.workspaceId} and ${ofCampaign(query)}
      order by number desc limit ${LIMITS.explainedRuns}
    ) run cross join unnest(${channels}::text[]) as c(channel) cross join lateral (
      select * from ${sql.table(table)} t
      where hashtextextended(t.run_id || '.' || t.channel || '.' || lower(t.address collate "C"), 0)
          = hashtextextended(run.id || '.' || c.channel || '.' || ${key}::text, 0)
        and t.run_id || '' = run.id and t.channel || '' = c.channel and lower(t.address collate "C") = ${key}
        and t.address is not null
      limit ${LIMITS.explainedOthers}
    ) found)`;
}

async function recipientsOf(db: Kysely<CampaignTables>, query: PersonQuery, way: Way): Promise<Part[]> {
  const { rows } = await sql<RecipientRef & { number: number; isTaken: boolean; actedAt: Date }>`
    select r.run_id as "runId", r.channel, r.seq, runs.number, r.updated_at as "actedAt", (
        select r.seq < s.next_seq from shards s
        where s.run_id = r.run_id and s.channel = r.channel and s.shard = r.shard
      ) is true and not (r.state = 'waiting' and r.retry_at is null) as "isTaken"
    from ${way('recipients')} r join runs on runs.id = r.run_id
    where runs.workspace_id = ${query.workspaceId} and ${ofCampaign(query)}
      and ${query.channel ? sql`r.channel = ${query.channel}` : sql`true`}
    order by runs.number desc limit ${LIMITS.explainedOthers + 1}`.execute(db);
  return rows.map((row) => ({ kind: 'recipient', ...row }));
}

async function skippedOf(db: Kysely<CampaignTables>, query: PersonQuery, way: Way): Promise<Part[]> {
  const { rows } = await sql<{
    runId: string;
    channel: Channel;
    contactId: string;
    hadAddress: boolean;
    number: number;
    actedAt: Date;
  }>`
    select k.run_id as "runId", k.channel, k.contact_id as "contactId", runs.number, runs.started_at as "actedAt",
      k.reason <> 'no_address' as "hadAddress"
    from ${way('skipped_contacts')} k join runs on runs.id = k.run_id
    where runs.workspace_id = ${query.workspaceId} and ${ofCampaign(query)}
      and ${query.channel ? sql`k.channel = ${query.channel}` : sql`true`}
    order by runs.number desc limit ${LIMITS.explainedOthers + 1}`.execute(db);
  return rows.map((row) => ({ kind: 'skipped', isTaken: false, ...row }));
}
