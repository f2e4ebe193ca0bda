import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { CampaignBody, CampaignListQuery } from '../contracts/campaigns';
import type { Action } from '../domain/campaign';
import type { Finding } from '../domain/finding';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import { newId } from '../storage/new-id';
import { creationWarnings } from './audience/campaign-warnings';
import { createDryRuns } from './audience/dry-run';
import { type Consequence, changeCampaign, launchAgain } from './campaign-actions';
import { checkReferences } from './campaign-checks';
import { copyCampaign } from './campaign-copy';
import { describeCampaign } from './campaign-detail';
import { listCampaigns } from './campaign-list';
import { type CampaignRecord, findCampaign, readCampaign, summaryOf } from './campaign-record';
import { changeDelivery, type DeliveryChange } from './delivery-change';
import { readPolicy } from './policy/policy';
import type {
  CallNote,
  CampaignHolds,
  CampaignSchedules,
  NoticeRule,
  RunLauncher,
  SenderRate,
  SuppressionRule,
  TemplateLookup,
} from './ports';
import {
  listRecipients,
  type RecipientFilter,
  type RecipientPosition,
  type RecipientView,
  recipientPages,
  withCalls,
} from './runs/recipients';
import { type RetriedState, retryFailed } from './runs/retry-failed';
import { findRun, listRuns } from './runs/run-list';
import type { RunAddress } from './runs/run-rows';
import { alreadyStarted, contentOf, insertCampaign, replaceCampaign } from './save-campaign';
import { keepSchedule } from './schedules/keep-schedules';
import type { CampaignTables } from './tables';

export interface CampaignsDeps {
  db: Kysely<CampaignTables>;
  templates: TemplateLookup;
  launcher: RunLauncher;
  /** Without it, the look once a minute makes them (keep-schedules.ts). */
  schedules?: CampaignSchedules | undefined;
  /** Without it, a pause holds at the service when the run has been told. */
  holds?: CampaignHolds | undefined;
  /** Without it, nobody is suppressed. */
  suppression?: SuppressionRule | undefined;
  /** Without it, nobody has been told. */
  isToldHowToOptOut?: NoticeRule | undefined;
  /** Without it, senders are not limited. */
  senderRate?: SenderRate | undefined;
  /** What hour it is, for warnings and forecasts. */
  now?: (() => number) | undefined;
  log: Log;
}

export type Campaigns = ReturnType<typeof createCampaigns>;

/** Campaigns as the API offers them (api.md 7). */
export function createCampaigns(deps: CampaignsDeps) {
  const { db, templates, launcher, schedules, holds, suppression, senderRate, log, now = Date.now } = deps;
  const dryRun = createDryRuns({
    ...{ db, suppression, senderRate, now },
    isToldHowToOptOut: deps.isToldHowToOptOut,
  });

  /**
   * The run is in the database, and a run without a workflow is launched within a minute (relaunch.ts).
   * To fail the request instead would only make its sender create the campaign twice.
   */
  async function launch(workspaceId: string, campaignId: string, consequence: Consequence): Promise<void> {
    if (consequence.schedule) await followSchedule(campaignId);
    if (!consequence.launch) return;
    const { runId } = consequence.launch;
    try {
      await launcher.launch({ workspaceId, campaignId, startAt: undefined, ...consequence.launch });
    } catch (error) {
      log.warn({ err: error, runId }, 'a run could not be launched; it will be tried again');
    }
  }

  /** What is not followed now is within a minute, and what is due in the meantime is taken all the same. */
  async function followSchedule(campaignId: string): Promise<void> {
    try {
      if (schedules) await keepSchedule(db, schedules, campaignId);
    } catch (error) {
      log.warn({ err: error, campaignId }, 'a schedule could not be kept; it will be tried again');
    }
  }

  /** A resume that came meanwhile has let go what is held here, or will, and must find it so. */
  async function holdNow(workspaceId: string, campaignId: string): Promise<void> {
    try {
      await holds?.hold(workspaceId, campaignId);
      const { run } = await readCampaign(db, workspaceId, campaignId);
      if (run?.control === 'run') await holds?.release(workspaceId, campaignId);
    } catch (error) {
      log.warn({ err: error, campaignId }, 'messages could not be held at once; the run will try');
    }
  }

  /**
   * Pages read the run's row, and the service holds what it has: a workflow that is busy need not be waited for. One
   * that cannot be told fails the call if that is known in time, and is told once more if not.
   */
  async function tellRuns(runs: readonly RunAddress[], answerBy: Promise<void>): Promise<void> {
    const telling = Promise.all(runs.map((run) => launcher.controlChanged(run)));
    let isAnswered = false;
    void telling.catch(async (error: unknown) => {
      if (!isAnswered) return;
      log.warn({ err: error }, 'a run could not be told what its owner wants; telling it once more');
      await Promise.all(runs.map((run) => launcher.controlChanged(run))).catch((again: unknown) =>
        log.warn({ err: again }, 'a run could not be told what its owner wants; it looks by itself'),
      );
    });
    await Promise.race([telling, answerBy]);
    isAnswered = true;
  }

  async function warningsAgain(workspaceId: string, campaign: CampaignRecord): Promise<Finding[]> {
    const { sms } = campaign.settings;
    const text = sms && (await templates.find(workspaceId, 'sms', sms.templateId, sms.version))?.text;
    const policy = await readPolicy(db, workspaceId);
    return creationWarnings(db, workspaceId, campaign, { smsText: text, now: now(), policy });
  }

  return {
    /**
     * Creates a campaign, or with `campaignId` replaces one that has not started. One that exists by the id
     * given for a new one was created by an earlier attempt at the same call, and nothing is created again.
     */
    async save(
      workspaceId: string,
      body: CampaignBody,
      { userId, newCampaignId = newId('cmp') }: { userId?: string | undefined; newCampaignId?: string } = {},
    ) {
      const earlier = body.campaignId ? undefined : await findCampaign(db, workspaceId, newCampaignId);
      if (earlier) {
        await launch(workspaceId, earlier.id, launchAgain(earlier));
        return { ...summaryOf(earlier), warnings: await warningsAgain(workspaceId, earlier) };
      }
      const content = contentOf(body);
      // Templates are looked up over HTTP, and so before the transaction.
      const policy = await readPolicy(db, workspaceId);
      const found = await checkReferences(db, templates, workspaceId, content, policy);
      const warnings = await creationWarnings(db, workspaceId, content, {
        smsText: found.sms?.text,
        now: now(),
        policy,
      });
      const saved = body.campaignId
        ? await replaceCampaign(db, workspaceId, { id: body.campaignId, start: body.start }, content)
        : await insertCampaign(
            db,
            workspaceId,
            { id: newCampaignId, start: body.start ?? true, userId },
            content,
          );
      await launch(workspaceId, saved.id, saved);
      return { ...summaryOf(await readCampaign(db, workspaceId, saved.id)), warnings };
    },

    /** Refuses what `save` would refuse, and makes nothing. */
    async dryRun(workspaceId: string, body: CampaignBody) {
      if (body.campaignId) {
        const campaign = await readCampaign(db, workspaceId, body.campaignId);
        const { stage } = campaign;
        if (stage === 'started' || stage === 'canceled') throw alreadyStarted(campaign);
      }
      const content = contentOf(body);
      const policy = await readPolicy(db, workspaceId);
      const found = await checkReferences(db, templates, workspaceId, content, policy);
      return dryRun(workspaceId, content, found, policy);
    },

    list: (workspaceId: string, query: CampaignListQuery) => listCampaigns(db, workspaceId, query),

    read: (workspaceId: string, campaignId: string) => describeCampaign(db, workspaceId, campaignId),

    runs: (workspaceId: string, campaignId: string, page: Parameters<typeof listRuns>[3]) =>
      listRuns(db, workspaceId, campaignId, page),

    /** With a note, once however often the call is repeated. */
    async act(workspaceId: string, campaignId: string, action: Action, note?: CallNote) {
      if (action === 'start') {
        const campaign = await readCampaign(db, workspaceId, campaignId);
        if (campaign.stage === 'draft') await checkReferences(db, templates, workspaceId, campaign);
      }
      const consequence = await changeCampaign(db, workspaceId, campaignId, action, note);
      await launch(workspaceId, campaignId, consequence);
      if (consequence.controlChanged) {
        const answerBy = delay(LIMITS.controlAnswerMs);
        // A service that is slow to hold goes on doing so behind the answer.
        if (action !== 'resume') await Promise.race([holdNow(workspaceId, campaignId), answerBy]);
        await tellRuns(consequence.controlChanged, answerBy);
      }
      return summaryOf(await readCampaign(db, workspaceId, campaignId));
    },

    /** With a note, to those who had failed when the call was made first. */
    async retryFailed(
      workspaceId: string,
      campaignId: string,
      states: readonly RetriedState[],
      note?: CallNote,
    ) {
      const found = await retryFailed(db, workspaceId, campaignId, states, note);
      const { retried, tell, launch: launched } = found;
      await launch(workspaceId, campaignId, launched ? { launch: launched } : {});
      if (tell && !launched) await launcher.controlChanged(tell);
      return { ...summaryOf(await readCampaign(db, workspaceId, campaignId)), retried };
    },

    async changeDelivery(workspaceId: string, campaignId: string, change: DeliveryChange) {
      const { tell } = await changeDelivery(db, workspaceId, campaignId, change);
      // What is slow at the old pace may sleep for a minute; told or not, it holds by then.
      await Promise.all(tell.map((run) => launcher.controlChanged(run))).catch((error: unknown) =>
        log.warn({ err: error, campaignId }, 'a run could not be told of its new pace'),
      );
      const campaign = await readCampaign(db, workspaceId, campaignId);
      return { ...summaryOf(campaign), delivery: campaign.options.delivery ?? {} };
    },

    /** A new draft with the same settings, by the id given for it. */
    async duplicate(
      workspaceId: string,
      campaignId: string,
      { userId, newCampaignId: id }: { userId: string | undefined; newCampaignId: string },
    ) {
      await copyCampaign(db, workspaceId, { campaignId, id, userId });
      return { ...summaryOf(await readCampaign(db, workspaceId, id)), warnings: [] };
    },

    /** Of one run, the current one unless said; a campaign without one has no recipients yet. */
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

    /** All of one run as it is now: one that takes its place meanwhile is not mixed in. */
    async recipientPages(
      workspaceId: string,
      campaignId: string,
      { runId, ...filter }: RecipientFilter & { runId?: string | undefined },
    ): Promise<AsyncIterable<RecipientView[]>> {
      return recipientPages(db, await findRun(db, workspaceId, campaignId, runId), filter);
    },
  };
}
