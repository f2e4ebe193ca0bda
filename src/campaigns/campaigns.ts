import type { Readable } from 'node:stream';
import type { Kysely, Transaction } from 'kysely';
import type { CampaignBody, CampaignListQuery } from '../contracts/campaigns';
import type { Action } from '../domain/campaign';
import type { RecipientOutcome } from '../domain/recipient';
import type { Finding } from '../domain/validation-issue';
import type { Log } from '../log';
import { newId } from '../storage/new-id';
import { createApprovals } from './actions/approvals';
import { changeCampaign, launchAgain } from './actions/campaign-actions';
import {
  checkFound,
  checkReferences,
  lookUpTemplates,
  requireAudience,
  requireSecureLinks,
  requireSenders,
} from './actions/campaign-checks';
import { copyCampaign } from './actions/campaign-copy';
import { createCarryOut } from './actions/carry-out';
import { amendCampaign, type CampaignChange } from './actions/change-campaign';
import { alreadyStarted } from './actions/editable';
import { letGo } from './actions/let-go';
import { appendRecipients, requireAppendable, storeOwnAudience } from './actions/own-audience';
import { type RetriedWhich, retryFailed } from './actions/retry-failed';
import { contentOf, insertCampaign, replaceCampaign } from './actions/save-campaign';
import { approvalWarning, excessOf } from './approval/approval-rule';
import { creationWarnings } from './audience/campaign-warnings';
import { createDryRuns } from './audience/dry-run';
import type { ImportRow } from './contacts/contact-import';
import { readCsvRows } from './contacts/csv-rows';
import type { InlineRecipients } from './contacts/inline-recipients';
import { readNdjsonRows } from './contacts/ndjson-rows';
import { listSkipped, type SkippedContact, skippedPages } from './explain/skipped';
import {
  type CampaignContent,
  type CampaignRecord,
  findCampaign,
  findRun,
  lockCampaign,
  readCampaign,
  summaryOf,
} from './model/campaign-record';
import type {
  CallNote,
  CampaignHolds,
  CampaignSchedules,
  NoticeRule,
  RunLauncher,
  SenderRate,
  SenderRule,
  SuppressionRule,
  TemplateLookup,
} from './model/ports';
import type { CampaignTables } from './model/tables';
import { createContactRoom, requireRoom } from './model/workspace-room';
import { readPolicy } from './policy/policy';
import { readReleaseView } from './release/release-view';
import { describeCampaign } from './reports/campaign-detail';
import { listCampaigns } from './reports/campaign-list';
import { readOutcomes } from './reports/recipient-outcomes';
import {
  listRecipients,
  type RecipientFilter,
  type RecipientPosition,
  type RecipientView,
  recipientPages,
  withCalls,
} from './reports/recipients';
import { listRuns } from './reports/run-list';
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
  /** Without it, no recipient counts as told how to opt out. */
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

interface SaveCall {
  userId?: string | undefined;
  newCampaignId?: string;
  /** The campaign's own audience. Without it, an edit keeps the present one. */
  recipients?: InlineRecipients | undefined;
  /** With a note, an edit is applied once, however often the call is repeated. */
  note?: CallNote | undefined;
  /** Called for an edit that leaves a campaign to start by itself; throws if the caller may start none. */
  requireStart?: (() => void) | undefined;
}

export type Campaigns = ReturnType<typeof createCampaigns>;

/** Campaigns as the API offers them (api.md 7). */
export function createCampaigns(deps: CampaignsDeps) {
  const { db, templates, launcher, suppression, senderRate, senderRule, log, now = Date.now } = deps;
  const { dryRun, limited } = createDryRuns({
    ...{ suppression, senderRate, now },
    isToldHowToOptOut: deps.isToldHowToOptOut,
  });

  const { launch, carryOut } = createCarryOut(deps);
  const room = createContactRoom(db);

  async function warningsAgain(workspaceId: string, campaign: CampaignRecord): Promise<Finding[]> {
    const { sms } = campaign.settings;
    const text = sms && (await templates.find(workspaceId, 'sms', sms.templateId, sms.version))?.text;
    const policy = await readPolicy(db, workspaceId);
    const warnings = await creationWarnings(db, workspaceId, campaign, { smsText: text, now: now(), policy });
    const excess = await excessOf(db, campaign, policy);
    return excess ? [...warnings, approvalWarning(excess)] : warnings;
  }

  /** A dry run of what would need an approval says so. */
  const dryRunWarned: typeof dryRun = async (on, workspaceId, content, found, policy) => {
    const told = await dryRun(on, workspaceId, content, found, policy);
    const excess = await excessOf(on, content, policy);
    return excess ? { ...told, warnings: [...told.warnings, approvalWarning(excess)] } : told;
  };

  return {
    ...createApprovals({
      db,
      templates,
      senderRule,
      carryOut,
      dryRun,
      limited,
      insecureLinks: deps.insecureLinks,
    }),

    /**
     * Creates a campaign, or with `campaignId` replaces one that has not started. If the id given for a new
     * campaign exists, an earlier attempt at the same call created it, and it is not created again.
     */
    async save(
      workspaceId: string,
      body: CampaignBody,
      { userId, newCampaignId = newId('cmp'), recipients, note, requireStart }: SaveCall = {},
    ) {
      const earlier = body.campaignId ? undefined : await findCampaign(db, workspaceId, newCampaignId);
      if (earlier) {
        await launch(workspaceId, earlier.id, launchAgain(earlier));
        return { ...summaryOf(earlier), warnings: await warningsAgain(workspaceId, earlier) };
      }
      if (recipients) room.require(workspaceId);
      if (!body.campaignId) await requireRoom(db, workspaceId, 'campaigns');
      const policy = await readPolicy(db, workspaceId);
      // Look up templates before the transaction, because that takes HTTP requests.
      const templatesFound = await lookUpTemplates(templates, workspaceId, contentOf(body));
      const { saved, warnings } = await db.transaction().execute(async (tx) => {
        const own = recipients && (await storeOwnAudience(tx, workspaceId, recipients.rows));
        const campaign = body.campaignId ? await lockCampaign(tx, workspaceId, body.campaignId) : undefined;
        const ownListId = own ? (own.listId ?? undefined) : campaign?.ownListId;
        const content: CampaignContent = { ...contentOf(body), ownListId };
        if (campaign && body.start === undefined && campaign.stage !== 'draft') requireStart?.();
        const found = await checkFound(tx, workspaceId, content, templatesFound, { policy, senderRule });
        const smsText = found.sms?.text;
        const warnings = await creationWarnings(tx, workspaceId, content, { smsText, now: now(), policy });
        warnings.push(...templatesFound.warnings);
        const excess = await excessOf(tx, content, policy);
        if (excess) warnings.push(approvalWarning(excess));
        const edit = { start: body.start, needsApproval: excess !== undefined, own, note };
        const start = (body.start ?? true) && !excess;
        if (start) requireSecureLinks(content, deps.insecureLinks);
        const saved = campaign
          ? await replaceCampaign(tx, workspaceId, campaign, edit, content)
          : await insertCampaign(
              tx,
              workspaceId,
              { id: newCampaignId, start, userId, own: own ?? NO_OWN_AUDIENCE },
              content,
            );
        return { saved, warnings };
      });
      await launch(workspaceId, saved.id, saved);
      return { ...summaryOf(await readCampaign(db, workspaceId, saved.id)), warnings };
    },

    /** Refuses what `save` would refuse, and stores nothing. */
    async dryRun(workspaceId: string, body: CampaignBody, recipients?: InlineRecipients) {
      const campaign = body.campaignId ? await readCampaign(db, workspaceId, body.campaignId) : undefined;
      const { stage } = campaign ?? {};
      if (campaign && (stage === 'started' || stage === 'canceled')) throw alreadyStarted(campaign);
      const policy = await readPolicy(db, workspaceId);
      const content: CampaignContent = { ...contentOf(body), ownListId: campaign?.ownListId };
      const templatesFound = await lookUpTemplates(templates, workspaceId, content);
      const warned = async (...run: Parameters<typeof dryRun>) => {
        const told = await dryRunWarned(...run);
        return { ...told, warnings: [...told.warnings, ...templatesFound.warnings] };
      };
      if (!recipients) {
        const found = await checkFound(db, workspaceId, content, templatesFound, { policy, senderRule });
        return limited(() => warned(db, workspaceId, content, found, policy));
      }
      return limited(() =>
        withoutTrace(db, async (tx) => {
          const { listId } = await storeOwnAudience(tx, workspaceId, recipients.rows);
          const tried = { ...content, ownListId: listId ?? undefined };
          const found = await checkFound(tx, workspaceId, tried, templatesFound, { policy, senderRule });
          return warned(tx, workspaceId, tried, found, policy);
        }),
      );
    },

    /** Fails for a campaign that takes no more recipients, before any of an upload is read. */
    async requireAppendable(campaign: { workspaceId: string; campaignId: string }) {
      room.require(campaign.workspaceId);
      await requireAppendable(db, campaign);
    },

    appendRows: (target: AppendTarget, rows: Iterable<ImportRow>) => appendRecipients(db, target, rows),

    appendStream: (target: AppendTarget, source: Readable, type: 'csv' | 'ndjson') =>
      appendRecipients(db, target, type === 'csv' ? readCsvRows(source) : readNdjsonRows(source)),

    list: (workspaceId: string, query: CampaignListQuery) => listCampaigns(db, workspaceId, query),

    read: (workspaceId: string, campaignId: string) => describeCampaign(db, workspaceId, campaignId),

    /** Why the workspace sends nothing, if it is stopped. */
    currentStop: (workspaceId: string) => readStop(db, workspaceId),

    runs: (workspaceId: string, campaignId: string, page: Parameters<typeof listRuns>[3]) =>
      listRuns(db, workspaceId, campaignId, page),

    /** With a note, the action is applied once, however often the call is repeated. */
    async act(workspaceId: string, campaignId: string, action: Action, note?: CallNote) {
      if (action === 'start') {
        const campaign = await readCampaign(db, workspaceId, campaignId);
        if (campaign.stage === 'draft') requireAudience(campaignId, campaign, campaign.ownMembers);
        if (campaign.stage === 'draft')
          await checkReferences(db, templates, workspaceId, campaign, { senderRule });
        if (campaign.stage === 'scheduled') requireSenders(workspaceId, campaign, { senderRule });
        requireSecureLinks(campaign, deps.insecureLinks);
      }
      const consequence = await changeCampaign(db, workspaceId, campaignId, action, note);
      await carryOut(workspaceId, campaignId, consequence, { holds: action !== 'resume' });
      return summaryOf(await readCampaign(db, workspaceId, campaignId));
    },

    /** With a note, only to recipients who had failed when the call was made first. */
    async retryFailed(workspaceId: string, campaignId: string, which: RetriedWhich, note?: CallNote) {
      const found = await retryFailed(db, workspaceId, campaignId, which, note);
      const { retried, tell, launch: launched } = found;
      await launch(workspaceId, campaignId, launched ? { launch: launched } : {});
      if (tell && !launched) await launcher.controlChanged(tell);
      const count = Object.values(retried).reduce((sum, ofChannel) => sum + ofChannel, 0);
      return { ...summaryOf(await readCampaign(db, workspaceId, campaignId)), count, retried };
    },

    /** Releases the next stages of a release. With a note, once, however often the call is repeated. */
    async release(workspaceId: string, campaignId: string, stages: number | 'all', note?: CallNote) {
      await letGo(db, workspaceId, campaignId, { stages, note });
      const campaign = await readCampaign(db, workspaceId, campaignId);
      return { ...summaryOf(campaign), release: await readReleaseView(db, campaign) };
    },

    async amend(workspaceId: string, campaignId: string, change: CampaignChange) {
      const { tell } = await amendCampaign(db, workspaceId, campaignId, change);
      // A page worker may still sleep up to a minute at the old rate. The new rate applies after that, even if
      // the signal is lost.
      await Promise.all(tell.map((run) => launcher.controlChanged(run))).catch((error: unknown) =>
        log.warn(
          { err: error, campaignId },
          'could not signal a run about its new rate; it will use it within a minute',
        ),
      );
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
      const runId = await findRun(db, workspaceId, campaignId, chosen);
      if (!runId) return { recipients: [], next: undefined };
      const { recipients, next } = await listRecipients(db, runId, options);
      return { recipients: await withCalls(db, runId, recipients), next };
    },

    /** Of one run, the current one unless said: how many recipients are in each state for each reason. */
    async outcomes(
      workspaceId: string,
      campaignId: string,
      { runId: chosen }: { runId?: string | undefined },
    ): Promise<RecipientOutcome[]> {
      return readOutcomes(db, await findRun(db, workspaceId, campaignId, chosen));
    },

    /** Of one run, the current one unless said: how many recipients entered each state when. */
    async timeline(
      workspaceId: string,
      campaignId: string,
      { runId: chosen, points }: { runId?: string | undefined; points: number },
    ): Promise<RunTimeline> {
      return readTimeline(db, await findRun(db, workspaceId, campaignId, chosen), points);
    },

    /** Of one run, the current one unless said: contacts that did not become recipients. */
    async skipped(
      workspaceId: string,
      campaignId: string,
      { runId: chosen, ...options }: Parameters<typeof listSkipped>[2] & { runId?: string | undefined },
    ): ReturnType<typeof listSkipped> {
      const runId = await findRun(db, workspaceId, campaignId, chosen);
      if (!runId) return { skipped: [], next: undefined };
      return listSkipped(db, { workspaceId, runId }, options);
    },

    async skippedPages(
      workspaceId: string,
      campaignId: string,
      { runId: chosen, ...filter }: Parameters<typeof skippedPages>[2] & { runId?: string | undefined },
    ): Promise<AsyncIterable<SkippedContact[]>> {
      const runId = await findRun(db, workspaceId, campaignId, chosen);
      return skippedPages(db, runId === undefined ? undefined : { workspaceId, runId }, filter);
    },

    /** All recipients of one run as it is now. A run that replaces it meanwhile is not mixed in. */
    async recipientPages(
      workspaceId: string,
      campaignId: string,
      { runId, ...filter }: RecipientFilter & { runId?: string | undefined },
    ): Promise<AsyncIterable<RecipientView[]>> {
      return recipientPages(db, await findRun(db, workspaceId, campaignId, runId), filter);
    },
  };
}

const NO_OWN_AUDIENCE = { listId: null, members: 0 };

/** Works on rows of one transaction, which is always rolled back. */
async function withoutTrace<T>(
  db: Kysely<CampaignTables>,
  work: (tx: Transaction<CampaignTables>) => Promise<T>,
): Promise<T> {
  const tx = await db.startTransaction().execute();
  try {
    return await work(tx);
  } finally {
    await tx.rollback().execute();
  }
}
