import { type Kysely, sql, type Transaction } from 'kysely';
import type { Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { SKIP_REASONS, type Skipped } from '../domain/recipient';
import { filledParams } from './fill-params';
import type { CampaignTables } from './tables';

export interface AudienceInput {
  runId: string;
  workspaceId: string;
  channel: Channel;
  contactListIds: string[];
  /** The template's placeholders; each recipient keeps the values of these and no others. */
  placeholders: string[];
  /** Values for contacts that have none of their own. */
  campaignParams: Record<string, string | number>;
}

/**
 * Freezes a run's audience on one channel: contacts of the lists, each once, each address once, with an
 * address and a value for every placeholder; numbered in the order they are due and cut into shards.
 * One transaction: killed in the middle, it has not happened; run again after it has, it changes
 * nothing. Answers the number of shards.
 */
export async function freezeAudience(db: Kysely<CampaignTables>, input: AudienceInput): Promise<number> {
  return db.transaction().execute(async (tx) => {
    // Two attempts at once (the first one given up but alive) take turns here.
    await sql`select id from runs where id = ${input.runId} for update`.execute(tx);
    const frozen = await countShards(tx, input);
    if (frozen > 0) return frozen;
    const skipped = await insertRecipients(tx, input);
    await recordSkipped(tx, input, skipped);
    return cutIntoShards(tx, input);
  });
}

async function countShards(tx: Transaction<CampaignTables>, input: AudienceInput): Promise<number> {
  const { count } = await tx
    .selectFrom('shards')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('run_id', '=', input.runId)
    .where('channel', '=', input.channel)
    .executeTakeFirstOrThrow();
  return count;
}

/**
 * Set-based. A contact that cannot be reached is counted under the first reason that applies; of the
 * contacts that share an address the oldest keeps it.
 */
async function insertRecipients(tx: Transaction<CampaignTables>, input: AudienceInput): Promise<Skipped> {
  const address = input.channel === 'email' ? sql.ref('c.email') : sql.ref('c.phone');
  const valid =
    input.channel === 'email' ? sql`address like '%_@_%'` : sql`address ~ '^\\+[1-9][0-9]{6,14}$'`;
  const { rows } = await sql<{ reason: string; contacts: number }>`
    with member as materialized (
      select distinct contact_id from contact_list_members where list_id = any(${input.contactListIds}::text[])
    ), candidate as (
      select c.id, ${address} as address, ${filledParams(input.placeholders, input.campaignParams)} as params
      from member m join contacts c on c.id = m.contact_id where c.workspace_id = ${input.workspaceId}
    ), judged as (
      select id, address, params, case
        when address is null then 'no_address'
        when not ${valid} then 'invalid_address'
        when (select count(*) from jsonb_object_keys(params)) < ${input.placeholders.length} then 'missing_params'
      end as reason
      from candidate
    ), ranked as materialized (
      select id, address, params,
        coalesce(reason, case when row_number() over (partition by address, reason order by id) > 1 then 'duplicate_address' end) as reason
      from judged
    ), numbered as (
      select *, row_number() over (order by id) - 1 as seq, count(*) over () as total from ranked where reason is null
    ), inserted as (
      insert into recipients (run_id, channel, seq, shard, contact_id, address, params, due_at)
      select ${input.runId}, ${input.channel}, seq, seq / ${sliceSql}, id, address, params, now() from numbered
    )
    select reason, count(*)::int as contacts from ranked where reason is not null group by reason`.execute(
    tx,
  );
  const skipped = Object.fromEntries(SKIP_REASONS.map((reason) => [reason, 0])) as Skipped;
  for (const row of rows) skipped[row.reason as keyof Skipped] = row.contacts;
  return skipped;
}

async function recordSkipped(
  tx: Transaction<CampaignTables>,
  input: AudienceInput,
  skipped: Skipped,
): Promise<void> {
  await sql`
    update runs set skipped = skipped || jsonb_build_object(${input.channel}::text, ${JSON.stringify(skipped)}::jsonb)
    where id = ${input.runId}`.execute(tx);
}

/** A slice is what one shard holds: the same arithmetic here and, as SQL, in the insert. */
function cut(total: number): { shards: number; slice: number } {
  const shards = Math.max(1, Math.min(LIMITS.shardsPerChannel, Math.ceil(total / LIMITS.recipientsPerShard)));
  return { shards, slice: Math.ceil(total / shards) };
}

const sliceSql = sql.raw(
  `ceil(total::numeric / least(${LIMITS.shardsPerChannel}, ceil(total::numeric / ${LIMITS.recipientsPerShard})))::int`,
);

async function cutIntoShards(tx: Transaction<CampaignTables>, input: AudienceInput): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select coalesce(max(seq) + 1, 0) as total from recipients
    where run_id = ${input.runId} and channel = ${input.channel}`.execute(tx);
  const total = rows[0]?.total ?? 0;
  const { shards, slice } = cut(total);
  for (let shard = 0; shard < shards; shard++) {
    const from = Math.min(total, shard * slice);
    await tx
      .insertInto('shards')
      .values({
        run_id: input.runId,
        channel: input.channel,
        shard,
        from_seq: from,
        to_seq: Math.min(total, from + slice),
        next_seq: from,
      })
      .execute();
  }
  return shards;
}
