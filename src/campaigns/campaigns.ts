import type { Readable } from 'node:stream';
import type { Kysely } from 'kysely';
import type { CampaignListQuery } from '../contracts/campaigns';
import type { Action } from '../domain/campaign';
import { LIMITS } from '../domain/limits';
import type { RecipientOutcome } from '../domain/recipient';
import type { Log } from '../log';
import { createApprovals } from './actions/approvals';
import { changeCampaign } from './actions/campaign-actions';
import {
  checkReferences,
  requireAudience,
  requireSecureLinks,
  requireSenders,
} from './actions/campaign-checks';
import { copyCampaign } from './actions/campaign-copy';
import { createCarryOut } from './actions/carry-out';
import { amendCampaign, type CampaignChange } from './actions/change-campaign';
import { letGo } from './actions/let-go';
import { appendRecipients, requireAppendable } from './actions/own-audience';
import { type RetriedWhich, retryFailed } from './actions/retry-failed';
import { createSubmissions } from './actions/submit-campaign';
import { createDryRuns } from './audience/dry-run';
import type { ImportRow } from './contacts/contact-import';
import { readCsvRows, readNdjsonRows } from './contacts/uploaded-rows';
import { listSkipped, type SkippedContact, skippedPages } from './explain/skipped';
import { atMost } from './model/at-most';
import { findRun, findRunWithRecipients, readCampaign, summaryOf } from './model/campaign-record';
import type {
  CampaignHolds,
  CampaignSchedules,
  IdempotencyMark,
  NoticeRule,
  RunLauncher,
  SenderRate,
  SenderRule,
  SuppressionRule,
  TemplateLookup,
} from './model/dependencies';
import type { CampaignTables } from './model/tables';
import { createContactRoom } from './model/workspace-room';
import { readPolicy } from './policy/policy';
import { readReleaseView } from './release/release-view';
import { describeCampaign } from './reports/campaign-detail';
import { listCampaigns, listRuns } from './reports/campaign-list';
import { readOutcomes } from './reports/recipient-outcomes';
import {
  listRecipients,
  type RecipientFilter,
  type RecipientPosition,
  type RecipientView,
  recipientPages,
  withCalls,
} from './reports/recipients';
import { type RunTimeline, readTimeline } from './reports/run-timeline';
import { readStop } from './stops/stops';

export interface CampaignsDeps {
  db: Kysely<CampaignTables>;
  templates: TemplateLookup;
  launcher: RunLauncher;
  /** Without it, the reconciler creates them within a minute (schedule-reconciler.ts). */
  schedules?: CampaignSchedules | undefined;
  /** Without it, a pause holds messages at the service only when the run has been signalled. */
  holds?: CampaignHolds | undefined;
  /** Without it, no address is suppressed. */
  suppression?: SuppressionRule | undefined;
  /** Without it, every recipient counts as not yet informed how to opt out. */
  isToldHowToOptOut?: NoticeRule | undefined;
  /** Without it, senders have no limit. */
  senderRate?: SenderRate | undefined;
  /** Why marketing mail may not start, if it may not. */
  insecureLinks?: string | undefined;
  /** Without it, no sender belongs to any workspace. */
  senderRule?: SenderRule | undefined;
  /** The current time, for warnings and forecasts. */
  now?: (() => number) | undefined;
  log: Log;
}

type AppendTarget = Parameters<typeof appendRecipients>[1];

type Launching = Pick<ReturnType<typeof createCarryOut>, 'launch' | 'carryOut'>;

export type Campaigns = ReturnType<typeof createCampaigns>;

/** Campaigns as the API offers them (api.md 7). */
export function createCampaigns(deps: CampaignsDeps) {
  const { db, templates, suppression, senderRate, senderRule, now = Date.now } = deps;
  const { insecureLinks, isToldHowToOptOut } = deps;
  const { dryRun, limited } = createDryRuns({ suppression, senderRate, now, isToldHowToOptOut });
  const { launch, carryOut } = createCarryOut(deps);
  const room = createContactRoom(db);
  const { save, tryOut, unknownReferences } = createSubmissions({
    ...{ db, templates, senderRule, insecureLinks, launch, room, now, dryRun, limited },
  });
  return {
    ...createApprovals({ db, templates, senderRule, carryOut, dryRun, limited, insecureLinks }),
    save,
    unknownReferences,
    dryRun: tryOut,
    ...appending(db, room),
    ...steering(deps, { launch, carryOut }),
    ...reading(db),
    ...readingOfRuns(db),
  };
}

/** More recipients for a campaign that has begun or waits. */
function appending(db: Kysely<CampaignTables>, room: ReturnType<typeof createContactRoom>) {
  return {
    /** Fails for a campaign that takes no more recipients, before any of an upload is read. */
    async requireAppendable(campaign: { workspaceId: string; campaignId: string }) {
      room.require(campaign.workspaceId);
      await requireAppendable(db, campaign);
    },

    appendRows: (target: AppendTarget, rows: Iterable<ImportRow>) => appendRecipients(db, target, rows),

    appendStream: (target: AppendTarget, source: Readable, type: 'csv' | 'ndjson') =>
      appendRecipients(db, target, type === 'csv' ? readCsvRows(source) : readNdjsonRows(source)),
  };
}

/** Calls that change an existing campaign. */
function steering(deps: CampaignsDeps, { launch, carryOut }: Launching) {
  const { db, templates, launcher, senderRule, insecureLinks, log } = deps;
  return {
    /** With a note, the action is applied once, however often the call is repeated. */
    async act(workspaceId: string, campaignId: string, action: Action, note?: IdempotencyMark) {
      if (action === 'start') {
        const campaign = await readCampaign(db, workspaceId, campaignId);
        const senders = { policy: await readPolicy(db, workspaceId), senderRule };
        if (campaign.stage === 'draft') requireAudience(campaignId, campaign, campaign.ownMembers);
        if (campaign.stage === 'draft') await checkReferences(db, templates, workspaceId, campaign, senders);
        if (campaign.stage === 'scheduled') requireSenders(workspaceId, campaign, senders);
        requireSecureLinks(campaign, insecureLinks);
      }
      const consequence = await changeCampaign(db, workspaceId, campaignId, action, note);
      await carryOut(workspaceId, campaignId, consequence, { holds: action !== 'resume' });
      return summaryOf(await readCampaign(db, workspaceId, campaignId));
    },

    /** With a note, only to recipients who had failed when the call was made first. */
    async retryFailed(workspaceId: string, campaignId: string, which: RetriedWhich, note?: IdempotencyMark) {
      const found = await retryFailed(db, workspaceId, campaignId, which, note);
      const { retried, tell, launch: launched } = found;
      await launch(workspaceId, campaignId, launched ? { launch: launched } : {});
      if (tell && !launched) await launcher.controlChanged(tell);
      const count = Object.values(retried).reduce((sum, ofChannel) => sum + ofChannel, 0);
      return { ...summaryOf(await readCampaign(db, workspaceId, campaignId)), count, retried };
    },

    /** Releases the next stages of a release. With a note, once, however often the call is repeated. */
    async release(workspaceId: string, campaignId: string, stages: number | 'all', note?: IdempotencyMark) {
      await letGo(db, workspaceId, campaignId, { stages, note });
      const campaign = await readCampaign(db, workspaceId, campaignId);
      return { ...summaryOf(campaign), release: await readReleaseView(db, campaign) };
    },

    async amend(workspaceId: string, campaignId: string, change: CampaignChange) {
      const { tell } = await amendCampaign(db, workspaceId, campaignId, change);
      // A page worker may sleep up to half an hour at the old rate. If the signal is lost, the run's next look wakes it within
      // seconds (countChange), so that the answer does not wait for a busy workflow or a silent Temporal.
      const telling = Promise.all(tell.map((run) => launcher.controlChanged(run))).catch((error: unknown) =>
        log.warn(
          { err: error, campaignId },
          'could not signal a run about its new rate; it will use it within seconds',
        ),
      );
      await atMost(LIMITS.controlAnswerMs, telling);
      const campaign = await readCampaign(db, workspaceId, campaignId);
      return { ...summaryOf(campaign), delivery: campaign.options.delivery ?? {} };
    },

    /** A new draft with the same settings, under the id given for it. */
    async duplicate(
      workspaceId: string,
      campaignId: string,
      { userId, newCampaignId: id }: { userId: string | undefined; newCampaignId: string },
    ) {
      await copyCampaign(db, workspaceId, { campaignId, id, userId });
      return { ...summaryOf(await readCampaign(db, workspaceId, id)), warnings: [] };
    },
  };
}

function reading(db: Kysely<CampaignTables>) {
  return {
    list: (workspaceId: string, query: CampaignListQuery) => listCampaigns(db, workspaceId, query),

    read: (workspaceId: string, campaignId: string) => describeCampaign(db, workspaceId, campaignId),

    /** Why the workspace sends nothing, if it is stopped. */
    currentStop: (workspaceId: string) => readStop(db, workspaceId),

    runs: (workspaceId: string, campaignId: string, page: Parameters<typeof listRuns>[3]) =>
      listRuns(db, workspaceId, campaignId, page),
  };
}

/** Reads one run: the given one, or else the current one. */
function readingOfRuns(db: Kysely<CampaignTables>) {
  return {
    /** Recipients of one run, by default the current one. A campaign without a run has none yet. */
    async recipients(
      workspaceId: string,
      campaignId: string,
      {
        runId: chosen,
        ...options
      }: Omit<Parameters<typeof listRecipients>[2], 'after'> & {
        runId?: string | undefined;
        after?: RecipientPosition | undefined;
      },
    ): ReturnType<typeof listRecipients> {
      const runId = await findRunWithRecipients(db, workspaceId, campaignId, chosen);
      if (!runId) return { recipients: [], next: undefined };
      const { recipients, next } = await listRecipients(db, runId, options);
      return { recipients: await withCalls(db, runId, recipients), next };
    },

    /**
     * How many recipients of a run are in each state for each reason. Without `runId`, of the current run.
     */
    async outcomes(
      workspaceId: string,
      campaignId: string,
      { runId: chosen }: { runId?: string | undefined },
    ): Promise<RecipientOutcome[]> {
      return readOutcomes(db, await findRun(db, workspaceId, campaignId, chosen));
    },

    /** How many recipients of a run entered each state when. Without `runId`, of the current run. */
    async timeline(
      workspaceId: string,
      campaignId: string,
      { runId: chosen, points }: { runId?: string | undefined; points: number },
    ): Promise<RunTimeline> {
      return readTimeline(db, await findRun(db, workspaceId, campaignId, chosen), points);
    },

    /** Contacts that did not become recipients of a run. Without `runId`, of the current run. */
    async skipped(
      workspaceId: string,
      campaignId: string,
      { runId: chosen, ...options }: Parameters<typeof listSkipped>[2] & { runId?: string | undefined },
    ): ReturnType<typeof listSkipped> {
      const runId = await findRunWithRecipients(db, workspaceId, campaignId, chosen);
      if (!runId) return { skipped: [], next: undefined };
      return listSkipped(db, { workspaceId, runId }, options);
    },

    async skippedPages(
      workspaceId: string,
      campaignId: string,
      { runId: chosen, ...filter }: Parameters<typeof skippedPages>[2] & { runId?: string | undefined },
    ): Promise<AsyncIterable<SkippedContact[]>> {
      const runId = await findRunWithRecipients(db, workspaceId, campaignId, chosen);
      return skippedPages(db, runId === undefined ? undefined : { workspaceId, runId }, filter);
    },

    /** All recipients of one run as it is now. A run that replaces it meanwhile is not mixed in. */
    async recipientPages(
      workspaceId: string,
      campaignId: string,
      { runId, ...filter }: RecipientFilter & { runId?: string | undefined },
    ): Promise<AsyncIterable<RecipientView[]>> {
      return recipientPages(db, await findRunWithRecipients(db, workspaceId, campaignId, runId), filter);
    },
  };
}
