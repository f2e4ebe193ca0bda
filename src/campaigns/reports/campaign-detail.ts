import type { Kysely } from 'kysely';
import type { Approval } from '../../domain/approval';
import { statusOf } from '../../domain/campaign';
import { CHANNELS, type Channel } from '../../domain/channel';
import { RECIPIENT_STATES } from '../../domain/recipient';
import { wallMeant } from '../../domain/time-zones/recipient-hours';
import { type CampaignOptions, readCampaign } from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';
import { readReleaseView, reasonOf } from '../release/release-view';
import { type ChannelCounts, readCounts } from '../runs/ledger-counts';
import { beganAt } from '../runs/run-rows';
import { readSpeed, STANDING } from '../runs/sending-rate';
import { hasSchedule, nextRun } from '../schedules/recurring';
import { readStop } from '../stops/stops';

/** Everything about a campaign (api.md 7). Costs the same for a million recipients as for one. */
export async function describeCampaign(db: Kysely<CampaignTables>, workspaceId: string, campaignId: string) {
  const campaign = await readCampaign(db, workspaceId, campaignId);
  const { run, phase, options } = campaign;
  const recurs = hasSchedule(campaign);
  const counts = run ? await readCounts(db, run.id) : {};
  const release = await readReleaseView(db, campaign);
  return {
    id: campaign.id,
    name: campaign.name,
    channel: campaign.channels,
    status: statusOf(phase),
    phase,
    createdAt: campaign.createdAt,
    updatedAt: campaign.updatedAt,
    tags: campaign.tags,
    archived: campaign.archivedAt !== null,
    createdBy: campaign.createdBy,
    approval: approvalShown(campaign.approval),
    settings: campaign.settings,
    contactListId: campaign.contactListIds,
    inline: campaign.ownMembers,
    ...options,
    ...(options.schedule && { schedule: inUtc(options.schedule) }),
    ...(release && { release }),
    counts: Object.fromEntries(
      shown(campaign.channels).map((channel) => [channel, counts[channel] ?? NOBODY]),
    ),
    skipped: run?.skipped ?? {},
    runId: run?.id ?? null,
    workflowId: run?.workflow_id ?? null,
    // A single campaign's run that waits for its time has not started. For a schedule, this is the newest
    // occurrence's start.
    startedAt: run && (campaign.stage !== 'scheduled' || recurs) ? beganAt(run) : null,
    finishedAt: run?.finished_at ?? null,
    recipientsDeletedAt: run?.recipients_deleted_at ?? null,
    reason: reasonOf(run, phase),
    stopped: await readStop(db, workspaceId),
    ...(await nextRun(db, campaign)),
    ...(run
      ? await readSpeed(db, run, recurs && phase === 'scheduled' ? run.phase : phase, counts)
      : STANDING),
  };
}

const approvalShown = (approval: Approval | null) =>
  approval && { by: approval.by, at: approval.at, contacts: approval.contacts };

/**
 * Times are stored as they were written, because their offsets may mean something. Answers show them in UTC, like
 * all times. An hour on the wall without a zone is the one that is written, so that an answer shows that hour: an edit
 * with what was read would else move it by the offset.
 */
export function inUtc({ startAt, endAt, ...schedule }: NonNullable<CampaignOptions['schedule']>) {
  const { timezone, recipientLocal, cron } = schedule;
  const isWritten = recipientLocal === true && timezone === undefined;
  const utcOf = (hour: string, isOnTheWall: boolean) =>
    new Date(isOnTheWall ? wallMeant(hour, timezone) : hour).toISOString();
  return {
    ...schedule,
    ...(startAt !== undefined && { startAt: utcOf(startAt, isWritten) }),
    // Without `cron` it is an instant, the end of sending.
    ...(endAt !== undefined && { endAt: utcOf(endAt, isWritten && cron !== undefined) }),
  };
}

const shown = (channels: Channel[]) => CHANNELS.filter((channel) => channels.includes(channel));

/** For a channel whose audience is not frozen yet. */
const NOBODY = Object.fromEntries(['total', ...RECIPIENT_STATES].map((state) => [state, 0])) as ChannelCounts;
