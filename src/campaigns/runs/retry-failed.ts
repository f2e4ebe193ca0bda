import { type Kysely, sql, type Transaction } from 'kysely';
import { isLive, RETRYING } from '../../domain/campaign';
import type { Channel } from '../../domain/channel';
import { EARLIER_CHANNEL } from '../../domain/fallback';
import { LIMITS } from '../../domain/limits';
import type { RETRIED } from '../../domain/recipient';
import { requireApproval } from '../approval/approval-rule';
import { endingOf, illegal } from '../campaign-actions';
import { type CampaignRecord, lockCampaign, readCampaign } from '../campaign-record';
import { moveRecipients } from '../ledger/move-recipients';
import type { CallNote } from '../ports';
import { retryTransaction } from '../retry-transaction';
import { hasSchedule } from '../schedules/recurring';
import type { CampaignTables } from '../tables';
import { reopenRun } from './run-rows';

export type RetriedState = (typeof RETRIED)[number];

export interface Retried {
  /** Recipients that are sent to again, per channel of the campaign. */
  retried: Partial<Record<Channel, number>>;
  /** A run that goes on, and may be asleep. */
  tell?: { runId: string; launch: number } | undefined;
  /** Set when the run had ended and goes on. */
  launch?: { runId: string; launch: number } | undefined;
}

/**
 * Sends again to the current run's recipients in these states, and to nobody else. Each gets a new attempt,
 * and so a new uid; what is still told of the former ones counts only when it is good. Every recipient is looked at
 * once, a window at a time: one that fails anew while this goes on is not taken a second time. Whoever was
 * put back waits in the ledger, so repeated after a crash it does the rest; by its note it leaves out who has failed
 * since it was called first. Where channels go in turns, so
 * do retries: a contact's first retried channel begins, and the later ones wait for their turn once more.
 */
export async function retryFailed(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaignId: string,
  states: readonly RetriedState[],
  note?: CallNote,
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
        if (!run || run.id !== campaign.run?.id) return { count: 0 };
        await requireApproval(tx, workspaceId, current, 'retry');
        const count = await putBack(tx, run.id, { ...window, since }, states);
        return { count, launch: count && !isLive(run.phase) ? await reopenRun(tx, run) : undefined };
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
 * Of a recurring campaign that waits, it is the newest occurrence that is sent to again; the next one is left out if
 * this is still going on then, as after any other that takes too long.
 */
function requireRetrying(campaign: CampaignRecord): CampaignRecord {
  if (RETRYING.includes(campaign.phase) && !endingOf(campaign)) return campaign;
  const { run } = campaign;
  const waits = campaign.phase === 'scheduled' && hasSchedule(campaign);
  if (waits && run && RETRYING.includes(run.phase) && (run.control === 'run' || !isLive(run.phase)))
    return campaign;
  throw illegal(campaign, 'retry-failed');
}

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
 * A call's attempt is written when it is dialled (calls.ts): until then `call_from` above it says that the
 * recipient wants a new workflow.
 */
async function putBack(
  tx: Transaction<CampaignTables>,
  runId: string,
  { channel, from, to, since }: { channel: Channel; from: number; to: number; since: string | undefined },
  states: readonly RetriedState[],
): Promise<number> {
  const { waiting = 0 } = await moveRecipients(tx, {
    scope: { runId },
    rule: 'retry',
    where: sql`r.channel = ${channel} and r.seq >= ${from} and r.seq < ${to} and r.state = any(${states}::text[])
      ${since === undefined ? sql`` : sql`and r.updated_at <= ${since}::timestamptz`}
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
      // What an explanation tells; the latest times, because it may be asked for again and again.
      put_back: sql`(array_prepend(now(), r.put_back))[1:${sql.lit(LIMITS.putBackTimes)}]`,
    },
  });
  return waiting;
}

/** The same contact's other channels. */
const others = sql`recipients e where e.run_id = r.run_id and e.contact_id = r.contact_id and e.channel <> r.channel`;

/** Or about to be: nobody is sent to on one channel while another one is at it. */
const isReached = sql`(e.state in ('delivered', 'accepted', 'sending', 'pending')
  or (e.state = 'waiting' and e.retry_at is not null and e.turn > r.turn))`;
