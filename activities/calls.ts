import { lookAgain } from '../src/campaigns/audience/reschedule-waiting';
import { endSilentCall } from '../src/campaigns/calls/call-events';
import { callPolicyOf } from '../src/campaigns/calls/call-reconciler';
import { slotsForFirstCalls, slotWait } from '../src/campaigns/calls/call-slots';
import {
  type CallKey,
  callStanding,
  callStarts,
  endRecipient,
  hasRecipient,
  holdCall,
  markCalling,
  openCall,
  readCallEnding,
  recordStep,
  wantCalls,
} from '../src/campaigns/calls/calls';
import { type AbortWatch, isWatched } from '../src/campaigns/outcomes/abort-watch';
import { offerChunk, recordChunk, takePage } from '../src/campaigns/runs/ledger';
import { readCounts } from '../src/campaigns/runs/ledger-counts';
import { pageAtPace, readPace, takePermits } from '../src/campaigns/runs/rate-limit';
import { loadRun, type RunPlan, readControl } from '../src/campaigns/runs/runs';
import { expireOverdue } from '../src/campaigns/stops/expire-overdue';
import { FeedAsks } from '../src/campaigns/watch/followed-workspaces';
import { callOptions } from '../src/domain/call-options';
import type { CallEnding, CallOutcome, CallStep } from '../src/domain/call-policy';
import { type CallTimes, silenceOf } from '../src/domain/call-silence';
import type { Control } from '../src/domain/campaign';
import { databaseNow } from '../src/domain/database-clock';
import { deliveryRule } from '../src/domain/delivery-rule';
import { DomainError, ERRORS, isDomainError } from '../src/domain/errors';
import { messageUid } from '../src/domain/ids';
import { inParallel } from '../src/domain/in-parallel';
import { OUT_OF_HOURS } from '../src/domain/policy';
import { openHours } from '../src/domain/time-zones/recipient-hours';
import type { CancelAnswer, Capability, SendAnswer } from '../src/gateway/gateway';
import { capCall, releaseAbsentCall, releaseCall, takeCallBack } from './caps';
import type { ActivityDeps } from './deps';
import { pause, stopIfCancelled } from './heartbeat';
import { partByHours } from './hours';
import { idleUntil } from './idle';
import { awaitRateLimit } from './send-permission';
import { accountRefused, stoppingRun } from './stop-run';

export interface StartCallsInput {
  runId: string;
  /** Number of the run's launch that asks for this. */
  launch?: number | undefined;
  shard: number;
}

export type StartCallsOutcome =
  | { kind: 'started'; calls: number }
  | { kind: 'idle'; waitMs?: number }
  | { kind: 'stopped'; control: Exclude<Control, 'run'> };

export type PlaceCallOutcome =
  | { kind: 'placed' }
  | { kind: 'later'; waitMs: number }
  | { kind: 'stopped'; control: Exclude<Control, 'run'> }
  /** The recipient has ended; nothing is left to do. */
  | { kind: 'over' };

/** Between two counts of live calls. The interval grows while no call ends, because the calls then take long. */
const LOOK_MS = 200;
const LOOK_MAX_MS = 1_000;
/** The server needs 5 to 10 ms to start a workflow, so more starts at once would only queue there. */
const STARTS_AT_ONCE = 8;
/**
 * A call that must wait for its turn asks no more often than this, because each answer is written to its
 * workflow's history.
 */
const REDIAL_LOOK_MS = 5_000;
/** One activity runs this long before it returns to its workflow. */
const ROUND_MS = 30_000;

export function callActivities(deps: ActivityDeps, abort: AbortWatch) {
  const { startCalls, placeCall, readCall, recordCall, cancelCallRecipient } = new CallPlacer(deps, abort);
  return { startCalls, placeCall, readCall, recordCall, cancelCallRecipient };
}

class CallPlacer {
  private readonly callTimes: CallTimes;
  private readonly feeds: FeedAsks;

  constructor(
    private readonly deps: ActivityDeps,
    private readonly abort: AbortWatch,
  ) {
    this.callTimes = deps.callTimes ?? {};
    this.feeds = new FeedAsks(deps.db);
  }

  /** Starts calls until the run has reached its limit of concurrent calls, and more as calls end. */
  readonly startCalls = async (input: StartCallsInput): Promise<StartCallsOutcome> => {
    const run = await loadRun(this.deps.db, input.runId);
    const hours = openHours(run.options, 'voice');
    await expireOverdue(
      this.deps.db,
      { ...input, channel: 'voice' },
      run,
      new Date(hours.nextForAll(databaseNow())),
    );
    const policy = callPolicyOf(run.options, this.callTimes);
    const until = Date.now() + ROUND_MS;
    let calls = 0;
    let lookMs = LOOK_MS;
    // A predecessor that was killed may have left its page open. The page's recipients count as being called, so
    // that a page as large as the limit leaves no slot; it is finished all the same, or no call would ever end.
    let mayBeOpen = true;
    while (Date.now() < until) {
      stopIfCancelled();
      const counts = await readCounts(this.deps.db, input.runId);
      const free = await slotsForFirstCalls(this.deps.db, input, counts.voice?.sending ?? 0);
      if (free <= 0 && !mayBeOpen) {
        await pause(lookMs);
        lookMs = Math.min(LOOK_MAX_MS, lookMs * 1.5);
        continue;
      }
      if (free > 0) lookMs = LOOK_MS;
      const key = { ...input, channel: 'voice' as const, lane: 0 };
      const { ratePerSecond } = await readPace(this.deps.db, input.runId);
      const open = new Date(hours.nextForAll(databaseNow()));
      const taking = await takePage(this.deps.db, key, free > 0 ? pageAtPace(ratePerSecond, free) : 0, open);
      mayBeOpen = false;
      if (taking.kind === 'stopped') return taking;
      if (taking.kind === 'idle' && free <= 0) continue;
      if (taking.kind === 'idle') {
        if (calls) return { kind: 'started', calls };
        return idleUntil(this.deps.db, input.runId, taking.until);
      }
      const { page } = taking;
      while (page.resolved < page.size) {
        const demand = { least: page.offered - page.resolved, most: page.size - page.resolved };
        const permission = await awaitRateLimit(this.deps.db, run.runId, demand);
        if (permission.kind === 'stopped') return permission;
        if (permission.kind === 'backoff') return { kind: 'idle', waitMs: permission.waitMs };
        const offered = await offerChunk(this.deps.db, page, permission.count);
        const { ready, held } = partByHours(offered, hours, deliveryRule(run.options));
        const starts = await callStarts(
          this.deps.db,
          run.runId,
          ready.map(({ seq }) => seq),
        );
        await inParallel(starts, STARTS_AT_ONCE, ({ seq, from }) =>
          this.deps.signals.startCall({ runId: run.runId, seq, from, policy }),
        );
        await markCalling(this.deps.db, run.runId, starts);
        calls += ready.length;
        const waiting = held.map(({ seq }) => seq);
        await recordChunk(this.deps.db, page, held, async (tx) => {
          await wantCalls(tx, run.runId, waiting);
          await lookAgain(tx, run, 'voice', waiting);
        });
      }
    }
    return { kind: 'started', calls };
  };

  /**
   * Asks the service for one call. The service does not dial a uid twice. When it refuses our account, the
   * run stops, and the call waits until the run is resumed, or has lost its recipients and cannot be.
   */
  readonly placeCall = async (input: CallKey & { from: number }): Promise<PlaceCallOutcome> => {
    const run = await loadRun(this.deps.db, input.runId);
    const stopped = (control: Exclude<Control, 'run'>) =>
      control === 'cancel' ? this.giveUp(input, run) : { kind: 'stopped' as const, control };
    if (run.control === 'fail' && !(await hasRecipient(this.deps.db, input))) return { kind: 'over' };
    if (run.control !== 'run') return stopped(run.control);
    const placed = await stoppingRun(this.deps.db, run, () => this.place(input, run));
    return placed.kind === 'stopped' ? stopped(placed.control) : placed;
  };

  /**
   * Returns how the call ended, if the event feed has reported it. Calls poll this in case the signal was
   * lost, and it ends a call whose end the service never reports, or whose record was deleted.
   */
  readonly readCall = async (input: CallKey): Promise<CallEnding | null> => {
    const ending = await readCallEnding(this.deps.db, input);
    if (ending) return ending;
    const { options } = await loadRun(this.deps.db, input.runId);
    const silence = silenceOf(this.callTimes, options.voice?.ringTimeoutSeconds);
    const isSilent =
      (await endSilentCall(this.deps.db, input, silence)) || !(await hasRecipient(this.deps.db, input));
    return isSilent ? { end: 'unknown' } : null;
  };

  readonly recordCall = async (input: CallKey & { step: CallStep; latest: CallOutcome }): Promise<void> => {
    const { options } = await loadRun(this.deps.db, input.runId);
    const { nextFor } = openHours(options, 'voice');
    await recordStep(this.deps.db, input, input.step, input.latest, deliveryRule(options), nextFor);
    if (isWatched(options)) await this.abort.note(input.runId, true);
  };

  readonly cancelCallRecipient = async (input: { runId: string; seq: number }): Promise<void> => {
    await endRecipient(this.deps.db, input, 'canceled', undefined);
  };

  private async place(input: CallKey & { from: number }, run: RunPlan): Promise<PlaceCallOutcome> {
    const rule = deliveryRule(run.options);
    const now = databaseNow();
    const hours = openHours(run.options, 'voice');
    if (hours.hasRules) {
      const nextFor = (where: string | null) => laterThan(now, hours.nextFor(where, now));
      const until = await holdCall(this.deps.db, input, OUT_OF_HOURS, nextFor, rule);
      if (until === 'over') return { kind: 'over' };
      if (until) return { kind: 'later', waitMs: until.getTime() - now };
    }
    // A redial takes a permit too. The first call of a recipient took its permit before its workflow was
    // started.
    const permitWait = input.attempt === input.from ? undefined : await this.redialWait(input);
    if (permitWait !== undefined) return { kind: 'later', waitMs: permitWait };
    // Ask before anything is written, because without a token no call can have been placed.
    const gateway = this.deps.gatewayFor(run.workspaceId);
    const able = await gateway.capabilities();
    const idempotent = able.has('idempotent');
    if (able.has('events')) await this.feeds.ask(run.workspaceId);
    const opening = await openCall(this.deps.db, input, rule);
    if (opening.kind !== 'open') return opening;
    const capped = await capCall(this.deps.db, run, input, opening);
    if (capped) return capped;
    const settings = run.settings.voice;
    if (!settings)
      throw new DomainError('invalid_request', `Campaign ${run.campaignId} has no voice settings`);
    if (opening.inDoubt && !idempotent) {
      await endRecipient(this.deps.db, input, 'unknown', 'answer_lost');
      return { kind: 'over' };
    }
    const [answer] = await gateway
      .send([
        {
          uid: callUid(input),
          channel: 'voice',
          to: opening.address,
          from: settings.from,
          templateId: settings.templateId,
          version: settings.version,
          params: opening.params,
          campaign: run.campaignId,
          class: run.options.class,
          expiresAt: Number.isFinite(opening.endsAt) ? new Date(opening.endsAt).toISOString() : undefined,
          voice: callOptions(run.options.voice),
        },
      ])
      .catch(async (error: unknown) => {
        if (isDomainError(error)) await takeCallBack(this.deps.db, run, input, opening);
        throw error;
      });
    return this.afterAnswer(answer, { input, run, opening, able });
  }

  /** Records what the service answered, and decides whether the call is placed, tried again later, or over. */
  private async afterAnswer(
    answer: SendAnswer | undefined,
    { input, run, opening, able }: Dialled,
  ): Promise<PlaceCallOutcome> {
    switch (answer?.kind) {
      case 'accepted':
        await this.takeBackIfCanceled(input, run, able);
        if (able.has('events')) return { kind: 'placed' };
        // The service reports no events, so that a second call could never be decided on.
        await endRecipient(this.deps.db, input, 'accepted', undefined);
        return { kind: 'over' };
      case 'suppressed':
        await releaseCall(this.deps.db, run, input, opening);
        await endRecipient(this.deps.db, input, 'suppressed', undefined);
        return { kind: 'over' };
      case 'rejected':
        await releaseCall(this.deps.db, run, input, opening);
        await endRecipient(this.deps.db, input, 'rejected', answer.code);
        return { kind: 'over' };
      case 'later':
        await takeCallBack(this.deps.db, run, input, opening);
        return { kind: 'later', waitMs: answer.retryAfterMs };
      case 'account':
        await takeCallBack(this.deps.db, run, input, opening);
        throw accountRefused(answer.code);
      default:
        if (able.has('idempotent')) return { kind: 'later', waitMs: 1_000 };
        await endRecipient(this.deps.db, input, 'unknown', 'answer_lost');
        return { kind: 'over' };
    }
  }

  /**
   * A cancel that asked the service before this call was there did not find it, and the hold of a canceled campaign never
   * ends. The feed tells what has become of the call.
   */
  private async takeBackIfCanceled(
    input: CallKey,
    { workspaceId }: RunPlan,
    able: ReadonlySet<Capability>,
  ): Promise<void> {
    if (!able.has('holds') || (await readControl(this.deps.db, input.runId)) !== 'cancel') return;
    await this.deps.gatewayFor(workspaceId).cancel(callUid(input));
  }

  /**
   * The run is canceled. An earlier attempt may have asked for this call without hearing the answer. Then the service is
   * asked to take it back, and the feed tells what has become of it, or has told it already.
   */
  private async giveUp(input: CallKey, run: RunPlan): Promise<PlaceCallOutcome> {
    const stopped = { kind: 'stopped', control: 'cancel' } as const;
    const standing = await callStanding(this.deps.db, input);
    if (standing === 'none') return stopped;
    if (standing === 'ended') return { kind: 'placed' };
    const answer = await this.askBack(input, run);
    if (answer === 'absent') {
      await releaseAbsentCall(this.deps.db, run, input);
      return stopped;
    }
    if (answer !== 'untold') return { kind: 'placed' };
    await endRecipient(this.deps.db, input, 'unknown', 'answer_lost');
    return { kind: 'over' };
  }

  private async askBack(input: CallKey, { workspaceId }: RunPlan): Promise<CancelAnswer | 'untold'> {
    const gateway = this.deps.gatewayFor(workspaceId);
    try {
      const able = await gateway.capabilities();
      if (!able.has('holds') || !able.has('events')) return 'untold';
      return await gateway.cancel(callUid(input));
    } catch (error) {
      const retry = isDomainError(error) ? ERRORS[error.code].retry : 'unknown';
      if (retry === 'account' || retry === 'permanent') return 'untold';
      throw error;
    }
  }

  private async redialWait(call: CallKey): Promise<number | undefined> {
    // An earlier attempt has asked for the call already. It holds its slot, and would otherwise wait for itself.
    if ((await callStanding(this.deps.db, call)) !== 'none') return undefined;
    const { runId } = call;
    // Check for a free slot before asking for a permit, because a permit that is not used is lost.
    const placeMs = await slotWait(this.deps.db, runId);
    if (placeMs !== undefined) return placeMs;
    const { granted, waitMs } = await takePermits(this.deps.db, runId, { least: 0, most: 1 });
    return granted ? undefined : Math.max(waitMs, REDIAL_LOOK_MS);
  }
}

/** A call that the service was asked for. */
interface Dialled {
  input: CallKey;
  run: RunPlan;
  opening: Extract<Awaited<ReturnType<typeof openCall>>, { kind: 'open' }>;
  able: ReadonlySet<Capability>;
}

const callUid = ({ runId, seq, attempt }: CallKey): string =>
  messageUid({ runId, channel: 'voice', seq }, attempt);

const laterThan = (now: number, next: number) => (next > now ? new Date(next) : undefined);
