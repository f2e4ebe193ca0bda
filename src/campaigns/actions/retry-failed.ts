import { type Kysely, sql, type Transaction } from 'kysely';
import { type Control, isLive, RETRYING } from '../../domain/campaign';
import type { Channel } from '../../domain/channel';
import { EARLIER_CHANNEL } from '../../domain/fallback';
import { LIMITS } from '../../domain/limits';
import type { RETRIABLE } from '../../domain/recipient';
import { requireApproval } from '../approval/approval-rule';
import { moveRecipients } from '../ledger/move-recipients';
import { type CampaignRecord, lockCampaign, readCampaign } from '../model/campaign-record';
import type { IdempotencyMark } from '../model/dependencies';
import { retryTransaction } from '../model/retry-transaction';
import type { CampaignTables } from '../model/tables';
import { frozenShards } from '../runs/run-end';
import { reopenRun } from '../runs/run-rows';
import { hasSchedule } from '../schedules/recurring';
import { endingOf, illegal, unarchive } from './campaign-actions';
import { requireLists } from './campaign-checks';

export type RetriedState = (typeof RETRIABLE)[number];

/** Which recipients are sent to again: those in one of the states and, if codes are given, with one of the codes. */
export interface RetriedWhich {
  states: readonly RetriedState[];
  codes?: readonly string[] | undefined;
}

export interface Retried {
  /** Number of recipients that are sent to again, per channel of the campaign. */
  retried: Partial<Record<Channel, number>>;
  /** A run that continues, and may be asleep. */
  tell?: { runId: string; launch: number } | undefined;
  /** Set when the run had ended and is started again. */
  launch?: { runId: string; launch: number } | undefined;
}

/**
 * Sends again to some of the current run's recipients. Each gets a new attempt, and so a new uid;
 * events about an earlier attempt then count only when they are good. Every recipient is read once, a window at
 * a time, so that one who fails anew meanwhile is not taken twice.
 *
 * Recipients who were put back wait in the ledger, so that a repeated call after a crash does the rest. The
 * note gives the time of the first call: recipients who have failed since then are left out. In a run that goes
 * from channel to channel, a contact's first retried channel begins, and the later ones wait again.
 */
export async function retryFailed(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignId: string,
  which: RetriedWhich,
  note?: IdempotencyMark,
): Promise<Retried> {
  const campaign = await readCampaign(db, workspaceId, campaignId);
  requireRetrying(campaign);
  const since = note && (await note.execute(db)).rows[0]?.since;
  const answer: Retried = { retried: Object.fromEntries(campaign.channels.map((channel) => [channel, 0])) };
  if (!campaign.run) return answer;
  const order = ({ channel }: { channel: Channel }) => campaign.channels.indexOf(channel);
  const frozen = await frozenChannels(db, campaign.run.id);
  for (const { channel, to } of frozen.sort((one, other) => order(one) - order(other))) {
    for (let from = 0; from < to; from += LIMITS.retryFailedWindow) {
      const window = { channel, from, to: from + LIMITS.retryFailedWindow };
      const { count, launch } = await retryTransaction(db, async (tx) => {
        const current = requireRetrying(await lockCampaign(tx, workspaceId, campaignId));
        const { run } = current;
        // Rows that retention has begun to delete are no recipients any more: the run would lose them while it sends.
        if (!run || run.id !== campaign.run?.id || run.recipients_deleted_at) return { count: 0 };
        await requireApproval(tx, workspaceId, current, 'retry');
        const count = await putBack(tx, run.id, { ...window, since }, which);
        if (count) await unarchive(tx, current);
        if (count === 0 || isLive(run.phase)) return { count };
        // As when it is resumed: it goes on freezing its audience, which would end where the lists are gone.
        if (!(await frozenShards(tx, run.id))) await requireLists(tx, workspaceId, current.contactListIds);
        return { count, launch: await reopenRun(tx, run, current.stage === 'held' ? 'pause' : 'run') };
      });
      answer.retried[channel] = (answer.retried[channel] ?? 0) + count;
      if (launch) answer.launch = launch;
    }
  }
  const { run } = campaign;
  if (isLive(run.phase) && (campaign.stage !== 'scheduled' || hasSchedule(campaign)))
    answer.tell = { runId: run.id, launch: run.launches };
  return answer;
}

/**
 * A recurring campaign that waits for its next occurrence, or is paused, sends its newest one again. If that still runs
 * when the next one is due, the next one is left out, as after any occurrence that takes too long.
 */
function requireRetrying(campaign: CampaignRecord): CampaignRecord {
  const { run, phase, stage } = campaign;
  if (!hasSchedule(campaign) || (phase !== 'scheduled' && stage !== 'held')) {
    if (RETRYING.includes(phase) && !endingOf(campaign)) return campaign;
  } else if (run && RETRYING.includes(run.phase) && !(isLive(run.phase) && isEnding(run.control))) {
    return campaign;
  }
  throw illegal(campaign, 'retry-failed');
}

const isEnding = (control: Control): boolean => control === 'fail' || control === 'cancel';

async function frozenChannels(
  db: Kysely<CampaignTables>,
  runId: string,
): Promise<{ channel: Channel; to: number }[]> {
  return db
    .selectFrom('shards')
    .select((eb) => ['channel', eb.fn.max('to_seq').as('to')])
    .where('run_id', '=', runId)
    .groupBy('channel')
    .orderBy('channel')
    .execute();
}

/**
 * A call's attempt is written when it is dialled (calls.ts). Until then, `call_from` above it says that the
 * recipient needs a new workflow.
 */
async function putBack(
  tx: Transaction<CampaignTables>,
  runId: string,
  { channel, from, to, since }: { channel: Channel; from: number; to: number; since: string | undefined },
  { states, codes }: RetriedWhich,
): Promise<number> {
  const { waiting = 0 } = await moveRecipients(tx, {
    scope: { runId },
    rule: 'retry',
    where: sql`r.channel = ${channel} and r.seq >= ${from} and r.seq < ${to} and r.state = any(${states}::text[])
      ${codes === undefined ? sql`` : sql`and r.code = any(${codes}::text[])`}
      ${since === undefined ? sql`` : sql`and r.updated_at <= ${since}::timestamptz`}
      -- Nothing can be sent to a person who was erased.
      and r.address is not null
      and (r.turn is null or not exists (select from ${others} and ${isReached}))`,
    state: 'waiting',
    columns: sql`
      r.turn > 0 and exists (select from ${others} and e.turn < r.turn and e.state = 'waiting') as held`,
    set: {
      retry_at: sql`case when result.held then null else now() end`,
      outcome: sql`null`,
      code: sql`case when result.held then ${EARLIER_CHANNEL} end`,
      attempt: sql`r.attempt + case when r.channel = 'voice' then 0 else 1 end`,
      doubts: sql`case when r.state = 'unknown' and r.channel <> 'voice' then array_append(r.doubts, r.attempt) else r.doubts end`,
      call_from: sql`case when r.channel = 'voice' then r.attempt + 1 end`,
      // For explanations. Only the latest times are kept, because a retry may be asked for again and again.
      put_back: sql`(array_prepend(now(), r.put_back))[1:${sql.lit(LIMITS.putBackTimes)}]`,
    },
  });
  return waiting;
}

/** SQL: the same contact's other channels. */
const others = sql`recipients e where e.run_id = r.run_id and e.contact_id = r.contact_id and e.channel <> r.channel`;

/** SQL: another channel has reached the contact or is about to, so that this one must not be sent. */
const isReached = sql`(e.state in ('delivered', 'accepted', 'sending', 'pending')
  or (e.state = 'waiting' and e.retry_at is not null and e.turn > r.turn))`;
