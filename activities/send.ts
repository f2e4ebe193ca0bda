import { Context } from '@temporalio/activity';
import type { Transaction } from 'kysely';
import { lookAgain } from '../src/campaigns/audience/reschedule-waiting';
import type { CampaignTables } from '../src/campaigns/model/tables';
import { type AbortWatch, isWatched } from '../src/campaigns/outcomes/abort-watch';
import {
  type OpenPage,
  offerChunk,
  type PageRecipient,
  recordChunk,
  takePage,
} from '../src/campaigns/runs/ledger';
import { pageAtPace } from '../src/campaigns/runs/rate-limit';
import { loadRun, type RunPlan, readControl } from '../src/campaigns/runs/runs';
import { expireOverdue } from '../src/campaigns/stops/expire-overdue';
import { StopWatch } from '../src/campaigns/stops/stops';
import { FeedAsks } from '../src/campaigns/watch/followed-workspaces';
import type { Control } from '../src/domain/campaign';
import type { Channel } from '../src/domain/channel';
import { databaseNow } from '../src/domain/database-clock';
import { type DeliveryRule, deliveryRule, expiryOf } from '../src/domain/delivery-rule';
import { DomainError, isDomainError } from '../src/domain/errors';
import { messageUid } from '../src/domain/ids';
import { LIMITS } from '../src/domain/limits';
import { nextPageSize } from '../src/domain/page-size';
import { openHours } from '../src/domain/time-zones/recipient-hours';
import type { Capability, Gateway, OutgoingMessage } from '../src/gateway/gateway';
import { pageCaps } from './caps';
import {
  inDoubt,
  pageBackoff,
  resultsOf,
  type SendContext,
  splitErased,
  splitExpired,
} from './classify-results';
import type { ActivityDeps } from './deps';
import { stopIfCancelled } from './heartbeat';
import { partByHours } from './hours';
import { idleUntil } from './idle';
import { PageWorkers } from './page-workers';
import { awaitRateLimit, awaitRoom, type CurrentLot, currentLot } from './send-permission';
import { accountRefused, stoppingRun } from './stop-run';

export interface SendPageInput {
  runId: string;
  /** Number of the run's launch that asks for this. */
  launch?: number | undefined;
  channel: Channel;
  shard: number;
  lane: number;
  /** Most recipients of a newly opened page. */
  size: number;
}

export type SendPageOutcome =
  | { kind: 'sent'; size: number; durationMs: number }
  /** Nothing to do now. With `waitMs` there may be work after it; without it there will be none. */
  | { kind: 'idle'; waitMs?: number; aside?: boolean }
  /** The service takes nothing at the moment; the page stays open. */
  | { kind: 'backoff'; waitMs: number }
  | { kind: 'stopped'; control: Exclude<Control, 'run'> };

/**
 * Sends one page of a shard, by the ledger's protocol (src/campaigns/runs/ledger.ts) around the service's send
 * endpoint. Each recipient gets a result of their own. A reason that concerns all of them stops the page
 * between two chunks, and a refused account stops the run.
 */
export function sendActivities(deps: ActivityDeps, abort: AbortWatch) {
  const { sendPage } = new PageSender(deps, abort);
  return { sendPage };
}

class PageSender {
  private readonly feeds: FeedAsks;
  private readonly stops: StopWatch;
  private readonly workers = new PageWorkers(LIMITS.pageWorkers, LIMITS.pageWorkersPerCampaign);

  constructor(
    private readonly deps: ActivityDeps,
    private readonly abort: AbortWatch,
  ) {
    this.feeds = new FeedAsks(deps.db);
    this.stops = new StopWatch(deps.db);
  }

  readonly sendPage = async (input: SendPageInput): Promise<SendPageOutcome> => {
    const beganAt = performance.now();
    for (let size = input.size; ; ) {
      const run = await loadRun(this.deps.db, input.runId);
      const pace = run.options.delivery?.ratePerSecond;
      const open = openHours(run.options, input.channel).nextForAll(databaseNow());
      await expireOverdue(this.deps.db, input, run, new Date(open));
      const aside = isAside(input, pace);
      const notBefore = aside ? Math.max(open, databaseNow() + ASIDE_MS) : open;
      const taking = await takePage(this.deps.db, input, pageAtPace(pace, size), new Date(notBefore));
      if (taking.kind === 'stopped') return taking;
      if (taking.kind === 'idle')
        return aside && taking.until
          ? { kind: 'idle', waitMs: Math.max(0, taking.until.getTime() - databaseNow()), aside }
          : idleUntil(this.deps.db, input.runId, taking.until);
      const outcome = await stoppingRun(this.deps.db, input, () => this.sendOpenPage(run, taking.page));
      const longest = pace ? LIMITS.sendRoundMs : LIMITS.sendRoundFastMs;
      // Every activity costs the server six events, also one that finds no page.
      if (outcome.kind !== 'sent' || performance.now() - beganAt > longest) return outcome;
      size = nextPageSize({ ...outcome, size: Math.max(size, outcome.size) });
    }
  };

  private async sendOpenPage(run: RunPlan, page: OpenPage): Promise<SendPageOutcome> {
    const lots = currentLot();
    // However the page ends, outbox room that it did not use goes to other pages.
    return this.sendChunks(run, page, lots).finally(lots.end);
  }

  private async sendChunks(run: RunPlan, page: OpenPage, lots: CurrentLot): Promise<SendPageOutcome> {
    const gateway = this.deps.gatewayFor(run.workspaceId);
    const able = await gateway.capabilities();
    if (able.has('events')) await this.feeds.ask(run.workspaceId);
    const context: SendContext = {
      rule: deliveryRule(run.options),
      idempotent: able.has('idempotent'),
      uidOf: (recipient) => uidOf(page, recipient),
    };
    const chunk = able.has('bulk') ? LIMITS.chunkRecipients : LIMITS.singleChunkRecipients;
    const sending: Sending = {
      run,
      page,
      gateway,
      able,
      context,
      lots,
      caps: pageCaps(this.deps.db, run, page, context),
    };
    const { cancellationSignal } = Context.current();
    let workedMs = 0;
    if (page.offered > page.resolved && !context.idempotent) await this.giveUpDoubtful(page, context);
    while (page.resolved < page.size) {
      stopIfCancelled();
      // Messages that an earlier attempt may have sent are asked for once more, even if their time is over by
      // now.
      const doubtful = page.offered - page.resolved;
      const isFirst = page.resolved === 0 && page.page === 0 && page.shard === 0;
      const largest = isFirst && able.has('bulk') ? LIMITS.firstChunkRecipients : chunk;
      const most = doubtful || Math.min(largest, page.size - page.resolved);
      const permission = await awaitRateLimit(this.deps.db, run.runId, { least: doubtful, most });
      if (permission.kind !== 'granted') return permission;
      // Messages in doubt need no room: they are in the outbox already, or are offered again under the same
      // uid.
      const taking = doubtful
        ? { kind: 'lot' as const, lot: undefined }
        : await awaitRoom(this.deps.db, gateway.room, { run, channel: page.channel, most: permission.count });
      if (taking.kind !== 'lot') return taking;
      lots.use(taking.lot);
      const askedAt = performance.now();
      const ended = await this.workers.run(run, cancellationSignal, async () => {
        await this.deps.foreground?.pass();
        const startedAt = performance.now();
        // The operator may have paused the run while other pages had their turns.
        const control =
          startedAt - askedAt > LIMITS.paceLookMs ? await readControl(this.deps.db, run.runId) : 'run';
        if (control !== 'run') return { kind: 'stopped' as const, control };
        const outcome = await this.sendChunk(sending, taking.lot?.count ?? permission.count, doubtful > 0);
        workedMs += performance.now() - startedAt;
        return outcome;
      });
      if (ended) return ended;
    }
    if (isWatched(run.options)) await this.abort.last(run.runId, able.has('events'));
    // Count only the time at the service, because the next page's size follows from the service's speed.
    return { kind: 'sent', size: page.size, durationMs: Math.round(workedMs) };
  }

  /** Returns how the page ends for now, or undefined while it continues. */
  private async sendChunk(
    { run, page, gateway, able, context, lots, caps }: Sending,
    count: number,
    doubtful: boolean,
  ): Promise<SendPageOutcome | undefined> {
    const { offered, erased } = splitErased(await offerChunk(this.deps.db, page, count), doubtful);
    const { inTime, expired } = doubtful
      ? { inTime: offered, expired: [] }
      : splitExpired(offered, context.rule, databaseNow());
    const hours = openHours(run.options, page.channel);
    const open = doubtful ? { ready: inTime, held: [] } : partByHours(inTime, hours, context.rule);
    // A recipient in doubt without a reserved cap slot was never sent to, because slots are reserved before
    // sending.
    const { ready, held } = await caps.part(open.ready);
    const messages = ready.map((recipient) => toMessage(run, page, recipient, context.rule));
    const stop = able.has('bulk') ? undefined : this.stops.attend(run.workspaceId);
    const answers = await gateway
      .send(messages, stop?.signal)
      .finally(() => {
        stop?.end();
        lots.end();
      })
      .catch(async (error: unknown) => {
        // `send` throws only when the token is missing, before any message has left.
        if (isDomainError(error) && !doubtful) await caps.withdraw(ready);
        throw error;
      });
    const wait = pageBackoff(ready, answers, context);
    if (wait) {
      if (!doubtful && !(wait.kind === 'later' && wait.inDoubt)) await caps.withdraw(ready);
      if (wait.kind === 'account') throw accountRefused(wait.code);
      return { kind: 'backoff', waitMs: wait.retryAfterMs };
    }
    const sent = resultsOf(ready, answers, context, databaseNow());
    const results = [...erased, ...expired, ...open.held, ...held, ...sent];
    const release = doubtful ? undefined : caps.release(ready, sent);
    const waiting = [...open.held, ...held].map(({ seq }) => seq);
    const also = async (tx: Transaction<CampaignTables>) => {
      await lookAgain(tx, run, page.channel, waiting);
      await release?.(tx);
    };
    const control = await recordChunk(
      this.deps.db,
      page,
      results,
      waiting.length || release ? also : undefined,
    );
    if (isWatched(run.options)) await this.abort.note(run.runId, able.has('events'));
    for (const answer of answers) if (answer.kind === 'account') throw accountRefused(answer.code);
    return control !== 'run' && page.resolved < page.size ? { kind: 'stopped', control } : undefined;
  }

  /**
   * The former attempt died while these messages were on their way, and the service would send them twice if
   * asked twice. Their outcome is unknown, and the ledger records that.
   */
  private async giveUpDoubtful(page: OpenPage, context: SendContext): Promise<void> {
    const recipients = await offerChunk(this.deps.db, page, page.offered - page.resolved);
    const now = databaseNow();
    await recordChunk(
      this.deps.db,
      page,
      recipients.map((recipient) => ({
        seq: recipient.seq,
        attempt: recipient.attempt,
        ...inDoubt(recipient, context, now),
      })),
    );
  }
}

/** What all chunks of a page share. */
interface Sending {
  run: RunPlan;
  page: OpenPage;
  gateway: Gateway;
  able: ReadonlySet<Capability>;
  context: SendContext;
  lots: CurrentLot;
  caps: ReturnType<typeof pageCaps>;
}

/** A page worker that stands aside is woken when the rate changes, and when the other page worker has ended. */
const ASIDE_MS = 30 * 60_000;

/** One page worker keeps up with a low rate. Two would hold a page and an activity each, and only wait for each other. */
function isAside({ lane }: SendPageInput, pace: number | undefined): boolean {
  return lane > 0 && pace !== undefined && pace < LIMITS.paceSecondPageWorker;
}

function uidOf(page: OpenPage, { seq, attempt }: PageRecipient): string {
  return messageUid({ runId: page.runId, channel: page.channel, seq }, attempt);
}

function toMessage(
  run: RunPlan,
  page: OpenPage,
  recipient: PageRecipient,
  rule: DeliveryRule,
): OutgoingMessage {
  const ends = expiryOf(rule, recipient.dueAt);
  const settings = run.settings[page.channel];
  if (!settings)
    throw new DomainError('invalid_request', `Campaign ${run.campaignId} has no ${page.channel} settings`);
  return {
    uid: uidOf(page, recipient),
    channel: page.channel,
    // Persons who were erased are left out before.
    to: recipient.address ?? '',
    from: settings.from,
    templateId: settings.templateId,
    version: settings.version,
    params: recipient.params,
    campaign: run.campaignId,
    class: run.options.class,
    expiresAt: Number.isFinite(ends) ? new Date(ends).toISOString() : undefined,
  };
}
