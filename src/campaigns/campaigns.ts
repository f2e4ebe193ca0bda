import { type Kysely, sql, type Transaction } from 'kysely';
import type { CampaignBody, CampaignListQuery } from '../contracts/campaigns';
import { type Action, isLive, type Stage } from '../domain/campaign';
import { DomainError } from '../domain/errors';
import type { Finding } from '../domain/finding';
import { recurrenceOf } from '../domain/recurrence';
import type { Log } from '../log';
import { newId } from '../storage/new-id';
import { type Consequence, changeCampaign, futureStart } from './campaign-actions';
import { checkReferences, requireLists } from './campaign-checks';
import { copyCampaign } from './campaign-copy';
import { describeCampaign } from './campaign-detail';
import { listCampaigns } from './campaign-list';
import {
  type CampaignContent,
  type CampaignRecord,
  columnsOf,
  findCampaign,
  lockCampaign,
  readCampaign,
  summaryOf,
} from './campaign-record';
import { creationWarnings } from './campaign-warnings';
import { changeDelivery, type DeliveryChange } from './delivery-change';
import { createDryRuns } from './dry-run';
import { keepSchedule } from './keep-schedules';
import { readPolicy } from './policy';
import type {
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
} from './recipients';
import { beginSchedule, endSchedule, hasSchedule } from './recurring';
import { type RetriedState, retryFailed } from './retry-failed';
import { findRun, listRuns } from './run-list';
import { insertRun, liveRunsOf, withdrawRun } from './run-rows';
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
        const { id, stage } = await readCampaign(db, workspaceId, body.campaignId);
        if (stage === 'started' || stage === 'canceled') throw alreadyStarted(id);
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

    async act(workspaceId: string, campaignId: string, action: Action) {
      if (action === 'start') {
        const campaign = await readCampaign(db, workspaceId, campaignId);
        if (campaign.stage === 'draft') await checkReferences(db, templates, workspaceId, campaign);
      }
      const consequence = await changeCampaign(db, workspaceId, campaignId, action);
      await launch(workspaceId, campaignId, consequence);
      if (consequence.controlChanged) {
        if (action !== 'resume') await holdNow(workspaceId, campaignId);
        await Promise.all(consequence.controlChanged.map((run) => launcher.controlChanged(run)));
      }
      return summaryOf(await readCampaign(db, workspaceId, campaignId));
    },

    async retryFailed(workspaceId: string, campaignId: string, states: readonly RetriedState[]) {
      const { retried, tell, launch: launched } = await retryFailed(db, workspaceId, campaignId, states);
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
      return summaryOf(await readCampaign(db, workspaceId, id));
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

type Saved = { id: string } & Consequence;

async function insertCampaign(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  { id, start, userId }: { id: string; start: boolean; userId: string | undefined },
  content: CampaignContent,
): Promise<Saved> {
  return db.transaction().execute(async (tx) => {
    await requireLists(tx, workspaceId, content.contactListIds);
    const inserted = await tx
      .insertInto('campaigns')
      .values({
        id,
        workspace_id: workspaceId,
        ...columnsOf(content),
        stage: 'draft',
        created_by: userId ?? null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    // Another attempt at the same call was quicker, and starts it.
    if (!inserted || !start) return { id };
    return { id, ...(await begin(tx, { id, workspaceId }, content)) };
  });
}

/** At its hour, or now; or, a recurring one, at its hours. */
async function begin(
  tx: Transaction<CampaignTables>,
  campaign: { id: string; workspaceId: string },
  { options }: CampaignContent,
  held = false,
): Promise<Consequence> {
  const recurrence = recurrenceOf(options);
  if (recurrence) return beginSchedule(tx, campaign, recurrence, { held });
  const startAt = futureStart(options);
  const runId = await insertRun(tx, campaign, stageFor(startAt));
  return { launch: { runId, launch: 1, startAt } };
}

/** A draft stays one unless it is told to start, and what was scheduled stays so unless it is told not to; a schedule
 * that is held stays held. While an occurrence goes on, what it sends cannot be replaced under it. */
async function replaceCampaign(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  { id, start }: { id: string; start: boolean | undefined },
  content: CampaignContent,
): Promise<Saved> {
  return db.transaction().execute(async (tx) => {
    const campaign = await lockCampaign(tx, workspaceId, id);
    const { stage } = campaign;
    const run = campaign.run && isLive(campaign.run.phase) ? campaign.run : undefined;
    const recurred = hasSchedule(campaign);
    const goesOn = recurred && (await liveRunsOf(tx, id)).length > 0;
    if (stage === 'started' || stage === 'canceled' || goesOn) throw alreadyStarted(id);
    await requireLists(tx, workspaceId, content.contactListIds);
    if (run) await withdrawRun(tx, run.id);
    await tx
      .updateTable('campaigns')
      .set({ ...columnsOf(content), stage: 'draft', current_run: null, updated_at: sql<Date>`now()` })
      .where('id', '=', id)
      .execute();
    if (recurred) await endSchedule(tx, id);
    if (!(start ?? stage !== 'draft')) return { id, schedule: recurred };
    const begun = await begin(tx, { id, workspaceId }, content, stage === 'held' && start !== true);
    return { id, ...begun, schedule: recurred || begun.schedule === true };
  });
}

/** The attempt that created it may have died before it launched the run; a launch repeated is harmless. */
function launchAgain({ run, options }: CampaignRecord): Consequence {
  if (options.schedule?.cron !== undefined) return { schedule: true };
  if (!run || !isLive(run.phase)) return {};
  return { launch: { runId: run.id, launch: run.launches, startAt: futureStart(options) } };
}

const alreadyStarted = (id: string) =>
  new DomainError('campaign_started', `Campaign ${id} has started and can no longer be edited`);

const stageFor = (startAt: Date | undefined): Stage => (startAt ? 'scheduled' : 'started');

function contentOf(body: CampaignBody): CampaignContent {
  const { campaignId: _, name, settings, channel, contactListId, start: __, ...options } = body;
  return { name, channels: channel, settings, contactListIds: contactListId, options };
}
