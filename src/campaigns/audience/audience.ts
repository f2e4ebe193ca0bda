import type { Kysely } from 'kysely';
import { LIMITS } from '../../domain/limits';
import { SKIP_REASONS, type Skipped } from '../../domain/recipient';
import { asksForPlaces } from '../../domain/time-zones/recipient-hours';
import { holdUnapproved } from '../approval/hold-unapproved';
import type { CampaignTables } from '../model/tables';
import type { Audience } from './audience-sql';
import { type FrozenPiece, freezePiece } from './freeze-piece';
import {
  closeShard,
  type FreezeProgress,
  markExcluded,
  recordSkipped,
  saveProgress,
  takeFreeze,
} from './freeze-progress';

export interface AudienceInput extends Audience {
  runId: string;
  /** The channel's number in a run that goes from channel to channel. Its earlier channels are frozen already. */
  turn?: number | undefined;
  /** The recipients wait for their stage (release/step-release.ts). */
  isStaged?: boolean | undefined;
  /** Version of the workspace's policy that the hours come from. */
  policyVersion?: number | undefined;
}

export interface FreezeOptions {
  /**
   * Asked before each piece. `go on` continues; `stop` leaves the freeze for a later attempt; `end` finishes
   * it with the contacts frozen so far.
   */
  wanted?: (() => Promise<'go on' | 'stop' | 'end'>) | undefined;
  /** Pieces run inside it, so that many runs take turns. */
  inTurn?: (<T>(work: () => Promise<T>) => Promise<T>) | undefined;
  /** Contacts that one transaction freezes or skips. */
  pieceContacts?: number | undefined;
}

/**
 * Freezes a run's audience on one channel: contacts of the lists, each once, each address once, that may and
 * can be sent to (audience-sql.ts). It walks the contacts in the order of their ids, piece by piece. Each piece
 * is one transaction, together with the row that records the progress. If the process is killed, a later
 * attempt continues with that piece; two attempts at once cannot both commit it. No lock outlives a piece, and
 * the run's row is locked only while a piece commits.
 *
 * An address belongs to the first contact in that order who can be sent to, in whichever piece. A shard may be
 * sent once it is filled. Its recipients are numbered in the order they are due.
 *
 * Freezes until another shard is filled, or to the end, and returns whether it has reached the end.
 */
export async function freezeShard(
  db: Kysely<CampaignTables>,
  input: AudienceInput,
  options: FreezeOptions = {},
): Promise<boolean> {
  const { wanted = async () => 'go on' as const, inTurn = (work) => work() } = options;
  let progress = await takeFreeze(db, input);
  if (!progress) return true;
  const { shard } = progress;
  while (!progress.isFinished && progress.shard === shard) {
    const wish = await wanted();
    if (wish === 'stop') return false;
    const from: FreezeProgress = progress;
    progress = await inTurn(() =>
      wish === 'end' ? endHere(db, input, from) : freezeOn(db, input, from, options),
    );
  }
  return progress.isFinished;
}

/** Freezes the whole audience. Returns the number of shards, even when it was frozen before. */
export async function freezeAudience(
  db: Kysely<CampaignTables>,
  input: AudienceInput,
  options?: FreezeOptions,
): Promise<number> {
  while (!(await freezeShard(db, input, options)));
  const { count } = await db
    .selectFrom('shards')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('run_id', '=', input.runId)
    .where('channel', '=', input.channel)
    .executeTakeFirstOrThrow();
  return count;
}

async function freezeOn(
  db: Kysely<CampaignTables>,
  input: AudienceInput,
  from: FreezeProgress,
  { pieceContacts = LIMITS.audiencePieceContacts }: FreezeOptions,
): Promise<FreezeProgress> {
  return db.transaction().execute(async (tx) => {
    if (!from.exclusionsMarked) return markExcluded(tx, input, from);
    const byHours = asksForPlaces(input.hours ?? {}, input.channel);
    const shardEnd = shardEnds(from.contacts, byHours).find((end) => end > from.walked);
    // One more than the last shard has, so that the last piece is recognized as the last.
    const left = (shardEnd ?? Number.POSITIVE_INFINITY) - from.walked + (shardEnd === from.contacts ? 1 : 0);
    const piece = await freezePiece(tx, input, {
      afterId: from.afterId,
      // A shard with recipients due at different hours is one piece, because its recipients are numbered in due
      // order.
      contacts: byHours && Number.isFinite(left) ? left : Math.min(pieceContacts, left),
      isExact: byHours,
      fromSeq: from.nextSeq,
      shard: from.shard,
    });
    const filled = advanced(from, piece, input);
    await holdUnapproved(tx, input.runId, async () => filled.walked);
    const isFull = byHours || filled.walked >= (shardEnd ?? Number.POSITIVE_INFINITY);
    // A shard without recipients has nothing to send; the first one exists all the same, because a run has at
    // least one.
    const stands = filled.nextSeq > filled.shardFrom && (isFull || filled.isFinished);
    if (!stands && !(filled.isFinished && filled.shard === 0)) {
      if (filled.isFinished) await recordSkipped(tx, input, filled);
      await saveProgress(tx, input, filled);
      return filled;
    }
    const next = { ...filled, shard: filled.shard + 1, shardFrom: filled.nextSeq };
    await saveProgress(tx, input, next);
    await closeShard(tx, input, filled);
    return next;
  });
}

function advanced(
  from: FreezeProgress,
  piece: FrozenPiece,
  { policyVersion = 0 }: AudienceInput,
): FreezeProgress {
  const skipped: Partial<Skipped> = {};
  for (const reason of SKIP_REASONS) {
    const contacts = (from.skipped[reason] ?? 0) + (piece.skipped[reason] ?? 0);
    if (contacts > 0) skipped[reason] = contacts;
  }
  return {
    ...from,
    afterId: piece.lastId ?? from.afterId,
    walked: from.walked + piece.contacts,
    nextSeq: from.nextSeq + piece.recipients,
    skipped,
    policyVersion: Math.min(from.policyVersion ?? policyVersion, policyVersion),
    isFinished: piece.isLast,
  };
}

/** Ends the freeze early. Contacts that it has not reached are neither recipients nor skipped. */
async function endHere(
  db: Kysely<CampaignTables>,
  input: AudienceInput,
  from: FreezeProgress,
): Promise<FreezeProgress> {
  return db.transaction().execute(async (tx) => {
    const ended = { ...from, isFinished: true };
    await saveProgress(tx, input, ended);
    if (from.nextSeq > from.shardFrom || from.shard === 0) await closeShard(tx, input, from);
    // Contacts that were left out since the last shard are counted with it, or else here.
    else await recordSkipped(tx, input, from);
    return ended;
  });
}

/**
 * Where an audience is cut into shards, in numbers of contacts. Contacts are counted, because the number of
 * recipients is known only when all of them have been looked at. The first shards are small, because a shard
 * is sent as soon as it is filled, and each is at most three times as large as the one before, because it is filled
 * while that one is sent: with 2,500 and 17,500 the carrier was given nothing for a quarter of a second. The rest is
 * divided evenly.
 */
export function shardEnds(contacts: number, byHours: boolean): number[] {
  const most = byHours ? LIMITS.shardsPerChannelByHours : LIMITS.shardsPerChannel;
  const shards = Math.min(
    most,
    Math.max(growingShards(contacts), Math.ceil(contacts / LIMITS.recipientsPerShard)),
  );
  const ends: number[] = [];
  let end = 0;
  for (let growing = LIMITS.firstShardContacts; ends.length < shards; growing *= 2) {
    const even = Math.ceil((contacts - end) / (shards - ends.length));
    const isLast = ends.length === shards - 1;
    end += isLast ? even : Math.min(growing, even);
    ends.push(end);
  }
  return ends;
}

/** The fewest shards of which each is twice as large as the one before, and the last at most three times. */
function growingShards(contacts: number): number {
  if (contacts <= 2 * LIMITS.firstShardContacts) return 1;
  let shards = 2;
  let before = LIMITS.firstShardContacts;
  for (let size = before; contacts > before + 3 * size; shards++) {
    size *= 2;
    before += size;
  }
  return shards;
}
