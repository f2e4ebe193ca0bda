import { type Kysely, sql, type Transaction } from 'kysely';
import { EARLIER_CHANNEL } from '../../domain/fallback';
import { LIMITS } from '../../domain/limits';
import { type Skipped, type SkipReason, skippedOf } from '../../domain/recipient';
import type { CampaignTables } from '../tables';
import { dueSeconds, type PlacePlan, placesOfRun, UNKNOWN_PLACE } from './audience-places';
import { type Audience, rankedContacts } from './audience-sql';

export interface AudienceInput extends Audience {
  runId: string;
  /** The channel's place in the order of a run that goes from channel to channel, whose earlier ones are frozen. */
  turn?: number | undefined;
  /** Of the workspace's policy that the hours are of. */
  policyVersion?: number | undefined;
}

/**
 * Freezes a run's audience on one channel: contacts of the lists, each once, each address once, that may and
 * can be sent to (audience-sql.ts); numbered in the order they are due and cut into shards.
 * One transaction: killed in the middle, it has not happened; run again after it has, it changes
 * nothing. Answers the number of shards.
 */
export async function freezeAudience(db: Kysely<CampaignTables>, input: AudienceInput): Promise<number> {
  return db.transaction().execute(async (tx) => {
    // Two attempts at once (the first one given up but alive) take turns here.
    await sql`select id from runs where id = ${input.runId} for update`.execute(tx);
    const frozen = await countShards(tx, input);
    if (frozen > 0) return frozen;
    const skipped = await insertRecipients(tx, input, await placesOfRun(tx, input));
    await recordFrozen(tx, input, skipped);
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

/** One statement. A contact that is left out is counted under the first reason that applies, and kept with it. */
async function insertRecipients(
  tx: Transaction<CampaignTables>,
  input: AudienceInput,
  places: PlacePlan | undefined,
): Promise<Skipped> {
  const dueOfAll = dueSeconds(input.hours ?? {}, input.channel, Date.now());
  const due = places?.dueAt ?? sql`coalesce(to_timestamp(${dueOfAll(UNKNOWN_PLACE)}::float8), now())`;
  const order = places ? sql`due_at, id` : sql`id`;
  const first = firstState(input);
  const { rows } = await sql<{ reason: SkipReason; contacts: number }>`
    with ${rankedContacts(input, places)}, due as (
      select *, ${due} as due_at from ranked where reason is null
    ), numbered as (
      select *, row_number() over (order by ${order}) - 1 as seq, count(*) over () as total from due
    ), inserted as (
      insert into recipients (run_id, channel, seq, shard, contact_id, address, params, place, due_at${first.columns})
      select ${input.runId}, ${input.channel}, seq, seq / ${sliceSql}, id, address, params, place, due_at${first.values} from numbered
    ), left_out as (
      insert into skipped_contacts (run_id, channel, contact_id, reason)
      select ${input.runId}, ${input.channel}, id, reason from ranked where reason is not null
    )
    select reason, count(*)::int as contacts from ranked where reason is not null group by reason`.execute(
    tx,
  );
  return skippedOf(rows);
}

/** Later channels wait for their turn (turns.ts), also of those who have no earlier one: theirs comes at once. */
function firstState({ channel, turn }: AudienceInput) {
  if (turn === undefined) return { columns: sql``, values: sql`` };
  if (turn === 0) return { columns: sql`, turn`, values: sql`, 0` };
  return {
    columns: sql`, turn, state, code, call_from`,
    values: sql`, ${turn}::int, 'waiting', ${EARLIER_CHANNEL}, ${channel === 'voice' ? 1 : null}::int`,
  };
}

/** Of two channels that were frozen under different policies, the older is the one to be followed up. */
async function recordFrozen(
  tx: Transaction<CampaignTables>,
  input: AudienceInput,
  skipped: Skipped,
): Promise<void> {
  await sql`
    update runs set skipped = skipped || jsonb_build_object(${input.channel}::text, ${JSON.stringify(skipped)}::jsonb),
      policy_version = least(policy_version, ${input.policyVersion ?? 0}::int)
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
  const isTaken = (input.turn ?? 0) > 0;
  for (let shard = 0; shard < shards; shard++) {
    const from = Math.min(total, shard * slice);
    const to = Math.min(total, from + slice);
    await tx
      .insertInto('shards')
      .values({
        run_id: input.runId,
        channel: input.channel,
        shard,
        from_seq: from,
        to_seq: to,
        next_seq: isTaken ? to : from,
      })
      .execute();
    if (!isTaken || to === from) continue;
    await tx
      .insertInto('shard_counts')
      .values({ run_id: input.runId, channel: input.channel, shard, state: 'waiting', count: to - from })
      .execute();
  }
  return shards;
}
