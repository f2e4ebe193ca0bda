import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  executeChild,
  getExternalWorkflowHandle,
  isCancellation,
  patched,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { BegunRun } from '../activities/audience';
import type { SettlingLook, ShardRef } from '../activities/run-checks';
import { channelShardWorkflowId } from '../src/domain/ids';
import { channelShard } from './channel-shard';
import { HISTORY_EVENTS, HISTORY_EVENTS_BESIDE_SHARDS, RUN_LOOK_MS } from './constants';
import { failureReason } from './failure-reason';
import {
  type CampaignRunInput,
  controlChangedUpdate,
  drainSignal,
  type Placeholders,
  wakeSignal,
} from './messages';
import { brief, localFirst, long, quick } from './proxies';

/** Waits are cut to this length, so that a clock that is corrected meanwhile takes effect. */
const LONGEST_WAIT_MS = 10 * 60_000;
/** A shard that cannot be signalled has ended, which its run notices soon, or it is about to begin. */
const ENDS_WITHIN_MS = 10_000;

/**
 * One run of a campaign: plans it, starts its shards, applies its operator's controls, waits for the outcomes,
 * starts shards again for due retries, and closes the run. The run's row in the database holds the wanted
 * control; a signal says that it changed.
 *
 * While the run waits, its workflow is a timer. The watcher wakes it when the database has changed in a way
 * that may concern it (src/campaigns/watch).
 */
export async function campaignRun(input: CampaignRunInput): Promise<void> {
  await new CampaignRun(input).follow();
}

class CampaignRun {
  private readonly runId: string;
  private readonly launched: { runId: string; launch: number };
  private readonly since: number;
  private readonly live = new Map<string, ShardRef>();
  private wakes = 0;
  /** Set while a part of the audience is not frozen yet. */
  private unfrozen: Placeholders | undefined;
  private isDraining = false;

  constructor(private readonly input: CampaignRunInput) {
    this.runId = input.runId;
    this.launched = { runId: input.runId, launch: input.launch };
    this.since = input.since ?? Date.now();
    this.unfrozen = input.freezing;
    setHandler(controlChangedUpdate, async () => {
      await long.applyControl({ runId: this.runId });
      await this.wakeShards(this.live.keys());
      this.wakes++;
    });
    setHandler(wakeSignal, () => {
      this.wakes++;
    });
  }

  async follow(): Promise<void> {
    try {
      for (let shards = this.input.shards ?? (await this.plan()); shards; ) {
        const unfinished = await this.runShards(shards);
        if (unfinished) return await this.goOn(unfinished);
        const found = await this.settle();
        shards = found.kind === 'due' ? found.shards : await this.close(found.kind);
        if (shards && workflowInfo().historyLength > HISTORY_EVENTS) return await this.goOn(shards);
      }
    } catch (error) {
      const reason = failureReason(error);
      if (reason === undefined) throw error;
      await CancellationScope.nonCancellable(() => this.fail(reason));
    }
    await condition(allHandlersFinished);
  }

  private async goOn(shards: ShardRef[]): Promise<never> {
    await condition(allHandlersFinished);
    return continueAsNew<typeof campaignRun>({
      ...this.input,
      since: this.since,
      shards,
      freezing: this.unfrozen,
    });
  }

  /** Returns the shards to send, or undefined for a run that was withdrawn before its start. */
  private async plan(): Promise<ShardRef[] | undefined> {
    const isLocal = patched('tries-locally-first');
    const steps = isLocal ? localFirst : quick;
    const begun = await this.begin(steps.beginRun);
    if (!begun) return undefined;
    // An earlier workflow or run may have held the messages, and only this step releases them.
    if (this.launched.launch > 1 || begun.shards || begun.again)
      await long.applyControl({ runId: this.runId });
    const { workspaceId } = this.input;
    if (!begun.shards && (isLocal || patched('prepares-at-once'))) {
      // None needs another's answer.
      const [placeholders] = await Promise.all([
        steps.lookUpTemplates({ runId: this.runId }),
        steps.refreshToken({ workspaceId }),
        steps.ensureOutcomeFeed({ workspaceId }),
      ]);
      this.unfrozen = placeholders;
      return [];
    }
    await quick.refreshToken({ workspaceId });
    const shards = begun.shards ?? (await this.freeze());
    await quick.ensureOutcomeFeed({ workspaceId });
    return shards;
  }

  /** The run is due by the clock of the process that launched it; the database's clock may be behind. */
  private async begin(beginRun: typeof localFirst.beginRun): Promise<BegunRun | false> {
    for (;;) {
      const begun = await beginRun({ ...this.launched, mayWait: true });
      if (!begun || !('waitMs' in begun)) return begun;
      await sleep(Math.min(LONGEST_WAIT_MS, Math.ceil(begun.waitMs)));
    }
  }

  /** As runs of earlier releases began. Returns no shards, because `runShards` starts each one as soon as it is frozen. */
  private async freeze(): Promise<ShardRef[]> {
    const placeholders = await quick.lookUpTemplates({ runId: this.runId });
    if (!patched('frozen-in-pieces')) return long.freezeRunAudience({ runId: this.runId, placeholders });
    this.unfrozen = placeholders;
    return [];
  }

  /**
   * Waits until every shard has done its part. A shard that fails stops the others, because the reason concerns
   * all. Returns shards for the next execution to continue, because this history is near its limit.
   */
  private async runShards(shards: ShardRef[]): Promise<ShardRef[] | undefined> {
    const sending = new CancellationScope();
    const running: Promise<void>[] = [];
    let failure: unknown;
    const orStop = (work: () => Promise<void>) =>
      sending.run(work).catch((error: unknown) => {
        failure ??= error;
        sending.cancel();
      });
    const start = (shard: ShardRef) => {
      running.push(orStop(() => this.runShard(shard)));
    };
    let unfinished: ShardRef[] | undefined;
    const watching = new CancellationScope();
    const watched = watching.run(async () => {
      unfinished = await this.watch(start);
    });
    // Ignored here, because a failing run is reported again when the shards have ended.
    watched.catch(() => undefined);
    for (const shard of shards) start(shard);
    let isFreezing = this.unfrozen !== undefined;
    if (this.unfrozen) {
      const placeholders = this.unfrozen;
      running.push(
        orStop(() => this.freezeOn(placeholders, start)).finally(() => {
          isFreezing = false;
        }),
      );
    }
    try {
      await condition(() => this.live.size === 0 && !isFreezing);
    } finally {
      watching.cancel();
      await watched;
      await Promise.all(running);
    }
    if (failure !== undefined) throw failure;
    return unfinished;
  }

  /**
   * Starts each shard once, as soon as it is frozen. The run may have started it before, because retries were
   * due in it.
   */
  private async freezeOn(placeholders: Placeholders, start: (shard: ShardRef) => void): Promise<void> {
    for (const started = new Set(this.live.keys()); !this.isDraining; ) {
      const { shards, isOver } = await long.freezeNextShard({
        ...this.launched,
        placeholders,
      });
      if (isOver && !this.isDraining) this.unfrozen = undefined;
      for (const shard of shards) {
        const id = this.idOf(shard);
        if (!started.has(id) && !this.live.has(id) && !this.isDraining) start(shard);
        started.add(id);
      }
      if (isOver) return;
    }
  }

  private async runShard(shard: ShardRef): Promise<void> {
    const workflowId = this.idOf(shard);
    this.live.set(workflowId, shard);
    try {
      await executeChild(channelShard, {
        workflowId,
        args: [{ ...this.launched, ...shard, since: this.since }],
      });
    } finally {
      this.live.delete(workflowId);
    }
  }

  /**
   * Runs beside shards that may sleep for hours. The run may have to stop, by its outcomes for example. A
   * recipient may also become due sooner than their shard wakes, or after their shard has ended.
   */
  private async watch(start: (shard: ShardRef) => void): Promise<ShardRef[] | undefined> {
    try {
      for (;;) {
        const sleeps = patched('sleeps-until-woken');
        const seen = this.wakes;
        const found = await (sleeps ? long.lookWhileSending : long.watchRun)(this.launched);
        if (found.kind === 'failing') {
          await this.wakeShards(this.live.keys());
          return undefined;
        }
        if (found.kind === 'due') {
          const ids = found.shards.map((shard) => this.idOf(shard));
          const ended = await this.wakeShards(ids.filter((id) => this.live.has(id)));
          // It looked for its last page before this was due, and the run would not look again for an hour.
          if (ended.length > 0 && patched('starts-shards-that-have-ended'))
            await condition(() => !ended.some((id) => this.live.has(id)), ENDS_WITHIN_MS);
          const mayStart = sleeps || workflowInfo().historyLength <= HISTORY_EVENTS_BESIDE_SHARDS;
          if (mayStart) for (const shard of found.shards) if (!this.live.has(this.idOf(shard))) start(shard);
        }
        if (!sleeps) continue;
        if (workflowInfo().historyLength > HISTORY_EVENTS) return await this.drain();
        await condition(() => this.wakes > seen, sleepMs(found));
      }
    } catch (error) {
      if (!isCancellation(error)) throw error;
      return undefined;
    }
  }

  /** A run cannot continue as new while its shards run, so it asks them to finish their page and stop. */
  private async drain(): Promise<ShardRef[]> {
    this.isDraining = true;
    const unfinished = [...this.live.values()];
    await this.signalShards(this.live.keys(), drainSignal);
    return unfinished;
  }

  private wakeShards(shards: Iterable<string>): Promise<string[]> {
    return this.signalShards(shards, wakeSignal);
  }

  /** Returns those that could not be signalled. */
  private async signalShards(
    shards: Iterable<string>,
    signal: typeof wakeSignal | typeof drainSignal,
  ): Promise<string[]> {
    const ended: string[] = [];
    for (const shard of [...shards]) {
      await getExternalWorkflowHandle(shard)
        .signal(signal)
        .catch((error: unknown) => {
          // Cancelled together with the watch, the run needs no answer.
          if (!isCancellation(error)) ended.push(shard);
        });
    }
    return ended;
  }

  private idOf({ channel, shard }: ShardRef): string {
    return channelShardWorkflowId(this.runId, this.launched.launch, channel, shard);
  }

  private async settle(): Promise<Exclude<SettlingLook, { kind: 'wait' | 'again' }>> {
    const began = Date.now();
    for (;;) {
      const sleeps = patched('sleeps-until-woken');
      const seen = this.wakes;
      const found = sleeps
        ? await long.lookWhileSettling({
            ...this.launched,
            sinceMs: Date.now() - began,
          })
        : await long.awaitSettled(this.launched);
      if (found.kind === 'again') continue;
      if (found.kind !== 'wait') return found;
      if (workflowInfo().historyLength > HISTORY_EVENTS) return { kind: 'due', shards: [] };
      await condition(() => this.wakes > seen, sleepMs(found));
    }
  }

  /**
   * Returns undefined when the run is closed. Returns an empty list when a recipient became due at the last
   * moment, so that the run continues.
   */
  private async close(end: 'settled' | 'canceled' | 'failed'): Promise<ShardRef[] | undefined> {
    if (end === 'failed') return this.fail();
    if (end === 'canceled') await long.cancelRemaining({ runId: this.runId });
    const closed = await quick.closeRun({
      ...this.launched,
      phase: end === 'settled' ? 'completed' : end,
    });
    return closed ? undefined : [];
  }

  /**
   * Hands nothing more over, and holds what the service has. A failed hold is ignored, because the service
   * itself may be down.
   */
  private async fail(reason?: string): Promise<undefined> {
    if (reason !== undefined) await quick.stopRun({ ...this.launched, reason });
    await brief.applyControl({ runId: this.runId }).catch(() => undefined);
    await quick.closeRun({
      ...this.launched,
      phase: 'failed',
      ...(reason === undefined ? {} : { reason }),
    });
  }
}

function sleepMs({ waitMs = RUN_LOOK_MS }: { waitMs?: number }): number {
  return Math.min(RUN_LOOK_MS, Math.max(1, waitMs));
}
