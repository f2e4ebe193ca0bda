import type { Kysely } from 'kysely';
import type { Channel } from '../../domain/channel';
import type { SuppressionEntry, SuppressionRule } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { type ShardRef, standingShards } from '../runs/run-end';
import { moveRun, type RunPlan, readControl } from '../runs/runs';
import { type FreezeOptions, freezeShard } from './audience';
import { audienceOf } from './audience-sql';

export interface FreezeStep {
  /** All shards that may be sent by now. */
  shards: ShardRef[];
  /** Nothing more will be frozen: the audience is complete, or the run must not continue. */
  isOver: boolean;
}

/**
 * Freezes until one more shard of the run is filled, and moves the run to `running` with the first one.
 * Channels sent at the same time are frozen side by side, a shard of each in turn. In a run that goes from
 * channel to channel, one channel is frozen completely before the next begins, because the next depends on it.
 *
 * The freeze of a canceled run ends where it is. The freeze of a failed run waits, and continues if the run is
 * resumed.
 */
export async function freezeNextShard(
  db: Kysely<CampaignTables>,
  run: RunPlan,
  input: {
    placeholders: Partial<Record<Channel, string[]>>;
    suppression: SuppressionRule | undefined;
    suppressionEntry?: SuppressionEntry | undefined;
    launch?: number | undefined;
    inTurn: NonNullable<FreezeOptions['inTurn']>;
    /** Called before each piece; may throw to give the step up. */
    onPiece: () => void;
  },
): Promise<FreezeStep> {
  const { placeholders, suppression, suppressionEntry, launch, inTurn, onPiece } = input;
  let control = await readControl(db, run.runId, launch);
  const wanted = async () => {
    onPiece();
    control = await readControl(db, run.runId, launch);
    return WISHES[control];
  };
  const isStaged = run.options.release !== undefined;
  let channel = await nextChannel(db, run);
  while (channel !== undefined) {
    const audience = audienceOf(run, channel, placeholders[channel] ?? [], suppression, suppressionEntry);
    const turn = run.options.strategy === 'fallback' ? run.channels.indexOf(channel) : undefined;
    const { runId, policyVersion } = run;
    await freezeShard(db, { runId, turn, isStaged, policyVersion, ...audience }, { wanted, inTurn });
    channel = await nextChannel(db, run);
    if (control !== 'cancel') break;
  }
  const isOver = channel === undefined || control === 'fail';
  // The first stage's recipients are known only when all are frozen; until then there is nothing to send.
  const shards = isStaged && channel !== undefined ? [] : await standingShards(db, run.runId);
  if (shards.length > 0 && run.phase === 'planning') await moveRun(db, run.runId, 'running');
  return { shards, isOver };
}

/** A paused run continues to freeze, so that it is ready when it is resumed. */
const WISHES = { run: 'go on', pause: 'go on', cancel: 'end', fail: 'stop' } as const;

/** The channel to freeze next; undefined when all are frozen. */
async function nextChannel(
  db: Kysely<CampaignTables>,
  { runId, channels, options }: RunPlan,
): Promise<Channel | undefined> {
  const freezes = await db
    .selectFrom('audience_freezes')
    .select(['channel', 'walked', 'finished_at'])
    .where('run_id', '=', runId)
    .execute();
  const standing = await standingShards(db, runId);
  const open = channels.flatMap((channel) => {
    const freeze = freezes.find((one) => one.channel === channel);
    // An earlier release froze a channel in one transaction, without a progress row.
    const isFrozen = freeze ? freeze.finished_at !== null : standing.some((one) => one.channel === channel);
    return isFrozen ? [] : [{ channel, walked: freeze?.walked ?? 0 }];
  });
  if (options.strategy !== 'fallback') open.sort((one, other) => one.walked - other.walked);
  return open[0]?.channel;
}
