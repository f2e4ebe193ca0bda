import { type Kysely, sql, type Transaction } from 'kysely';
import { DomainError } from '../../domain/errors';
import { EARLIER_CHANNEL } from '../../domain/fallback';
import { type Skipped, type SkipReason, skippedOf } from '../../domain/recipient';
import { LATER_STAGE } from '../../domain/release';
import { countContacts } from '../approval/approval-rule';
import { holdUnapproved } from '../approval/hold-unapproved';
import { slotOf } from '../ledger/code-counts';
import type { CampaignTables } from '../model/tables';
import type { AudienceInput } from './audience';
import { excludedContacts } from './audience-sql';

/** How far the freezing of one channel's audience has come (`audience_freezes`, migration 0018). */
export interface FreezeProgress {
  contacts: number;
  exclusionsMarked: boolean;
  afterId: string;
  walked: number;
  nextSeq: number;
  shard: number;
  shardFrom: number;
  skipped: Partial<Skipped>;
  policyVersion: number | null;
  /** Fence of the attempt that freezes now. */
  fence: number;
  isFinished: boolean;
}

/**
 * Begins to freeze a run's audience on one channel, or takes the freeze over from an earlier attempt, which can
 * then commit nothing more. Returns undefined when an earlier release has frozen it, because that left no row.
 */
export async function takeFreeze(
  db: Kysely<CampaignTables>,
  { runId, channel, contactListIds, excludedCampaigns }: AudienceInput,
): Promise<FreezeProgress | undefined> {
  const taken = await takeOver(db, { runId, channel });
  if (taken) return taken;
  await db.transaction().execute(async (tx) => {
    // An earlier release freezes in one transaction under this lock.
    await sql`select id from runs where id = ${runId} for share`.execute(tx);
    const { numAffectedRows = 0n } = await sql`
      insert into audience_freezes (run_id, channel, contacts, exclusions_marked)
      select ${runId}, ${channel}, (
          select count(*) from contact_list_members
          where list_id = any(${contactListIds}::text[]) and added_at <= now()),
        ${!excludedCampaigns?.length}
      where not exists (select from shards where run_id = ${runId} and channel = ${channel})
      on conflict do nothing`.execute(tx);
    if (numAffectedRows > 0n) await holdUnapproved(tx, runId, () => countContacts(tx, contactListIds));
  });
  return takeOver(db, { runId, channel });
}

type Key = Pick<AudienceInput, 'runId' | 'channel'>;

/** Raises the fence. It also raises the fence of a finished freeze, which has no effect. */
async function takeOver(
  db: Kysely<CampaignTables>,
  { runId, channel }: Key,
): Promise<FreezeProgress | undefined> {
  const row = await db
    .updateTable('audience_freezes')
    .set((eb) => ({ fence: eb('fence', '+', 1) }))
    .where('run_id', '=', runId)
    .where('channel', '=', channel)
    .returningAll()
    .executeTakeFirst();
  return (
    row && {
      contacts: row.contacts,
      exclusionsMarked: row.exclusions_marked,
      afterId: row.after_id,
      walked: row.walked,
      nextSeq: row.next_seq,
      shard: row.shard,
      shardFrom: row.shard_from,
      skipped: row.skipped,
      policyVersion: row.policy_version,
      fence: row.fence,
      isFinished: row.finished_at !== null,
    }
  );
}

/**
 * Writes how far the freeze has come, as the last step of a piece's transaction. Fails with `page_fenced` when
 * another attempt has taken the freeze over, so that nothing of the piece is kept.
 */
export async function saveProgress(
  tx: Transaction<CampaignTables>,
  { runId, channel }: Key,
  progress: FreezeProgress,
): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('audience_freezes')
    .set({
      exclusions_marked: progress.exclusionsMarked,
      after_id: progress.afterId,
      walked: progress.walked,
      next_seq: progress.nextSeq,
      shard: progress.shard,
      shard_from: progress.shardFrom,
      skipped: JSON.stringify(progress.skipped),
      policy_version: progress.policyVersion,
      ...(progress.isFinished ? { finished_at: sql<Date>`now()` } : {}),
    })
    .where('run_id', '=', runId)
    .where('channel', '=', channel)
    .where('fence', '=', progress.fence)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 1n) return;
  throw new DomainError(
    'page_fenced',
    `The ${channel} audience of run ${runId} was taken over; this attempt stops`,
  );
}

/**
 * Makes a filled shard ready for sending. It also writes the skipped counts and the oldest policy version of
 * any recipient to the run; the run's row is locked for the moment of the commit.
 */
export async function closeShard(
  tx: Transaction<CampaignTables>,
  { runId, channel, turn = 0, isStaged = false }: Key & Pick<AudienceInput, 'turn' | 'isStaged'>,
  { shard, shardFrom: from, nextSeq: to, skipped, policyVersion }: FreezeProgress,
): Promise<void> {
  // Pages of first sends start at `next_seq`. Put it at the end when recipients wait for their stage or for an
  // earlier channel, so that no such page takes them.
  const isTaken = turn > 0 || isStaged;
  await tx
    .insertInto('shards')
    .values({
      run_id: runId,
      channel,
      shard,
      from_seq: from,
      to_seq: to,
      next_seq: isTaken ? to : from,
    })
    .execute();
  if (isTaken && to > from) {
    await tx
      .insertInto('shard_counts')
      .values({ run_id: runId, channel, shard, state: 'waiting', count: to - from })
      .execute();
    await sql`
      insert into recipient_codes (run_id, channel, state, code, slot, count)
      values (${runId}, ${channel}, 'waiting', ${isStaged ? LATER_STAGE : EARLIER_CHANNEL}, ${slotOf(sql`${shard}::int`)}, ${to - from})
      on conflict (run_id, channel, state, code, slot) do update set count = recipient_codes.count + excluded.count`.execute(
      tx,
    );
  }
  await recordSkipped(tx, { runId, channel }, { skipped, policyVersion });
}

export async function recordSkipped(
  tx: Transaction<CampaignTables>,
  { runId, channel }: Key,
  { skipped, policyVersion }: Pick<FreezeProgress, 'skipped' | 'policyVersion'>,
): Promise<void> {
  const counted = skippedOf(
    Object.entries(skipped).map(([reason, contacts]) => ({ reason: reason as SkipReason, contacts })),
  );
  await sql`
    update runs set skipped = skipped || jsonb_build_object(${channel}::text, ${JSON.stringify(counted)}::jsonb),
      policy_version = least(policy_version, ${policyVersion}::int)
    where id = ${runId}`.execute(tx);
}

/**
 * Marks the contacts whom other campaigns have reached, in one pass before the first piece. Contacts whom those
 * campaigns reach during the freeze are not excluded. The pass reads for seconds where audiences are large, and
 * blocks no other work.
 */
export async function markExcluded(
  tx: Transaction<CampaignTables>,
  input: AudienceInput,
  progress: FreezeProgress,
): Promise<FreezeProgress> {
  const { runId, channel } = input;
  const { numAffectedRows = 0n } = await sql`
    insert into skipped_contacts (run_id, channel, contact_id, reason)
    select ${runId}, ${channel}, id, 'excluded' from (${excludedContacts(input, runId)}) excluded`.execute(
    tx,
  );
  const marked = { ...progress, exclusionsMarked: true, skipped: { excluded: Number(numAffectedRows) } };
  await saveProgress(tx, input, marked);
  return marked;
}
