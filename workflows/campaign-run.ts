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
import type { SettledOutcome, ShardRef } from '../activities/books';
import { channelShardWorkflowId } from '../src/domain/ids';
import { LIMITS } from '../src/domain/limits';
import { channelShard } from './channel-shard';
import { failureReason } from './failure-reason';
import { type CampaignRunInput, controlChangedUpdate, type Placeholders, wakeSignal } from './messages';
import { brief, long, quick } from './proxies';

/** A clock that is put right meanwhile is not waited for any longer. */
const LONGEST_WAIT_MS = 10 * 60_000;

/**
 * One execution of a campaign: plans it, starts its shards, puts its owner's wishes into force, waits for
 * the outcomes, starts shards again for what is to be retried, and closes the books. The run's row in the
 * database says what is wished; this workflow is told when it changed.
 */
export async function campaignRun(input: CampaignRunInput): Promise<void> {
  const { runId, workspaceId, launch, since = Date.now() } = input;
  const live = new Set<string>();
  /** While the audience is being frozen. */
  let freezing = input.freezing;

  setHandler(controlChangedUpdate, async () => {
    await long.applyControl({ runId });
    await wakeShards(live);
  });

  try {
    for (let shards = input.shards ?? (await plan()); shards; ) {
      await runShards(shards);
      const found = await settle();
      shards = found.kind === 'due' ? found.shards : await close(found.kind);
      if (shards && workflowInfo().historyLength > LIMITS.historyEvents) {
        await condition(allHandlersFinished);
        await continueAsNew<typeof campaignRun>({ ...input, since, shards });
      }
    }
  } catch (error) {
    const reason = failureReason(error);
    if (reason === undefined) throw error;
    await CancellationScope.nonCancellable(() => fail(reason));
  }
  await condition(allHandlersFinished);

  /** Who is sent to, in shards; undefined for a run that was withdrawn before its hour. */
  async function plan(): Promise<ShardRef[] | undefined> {
    const begun = await begin();
    if (!begun) return undefined;
    // A workflow or a run before this one may have held the messages, and nobody else lets them go.
    if (launch > 1 || begun.shards || begun.again) await long.applyControl({ runId });
    await quick.refreshToken({ workspaceId });
    const shards = begun.shards ?? (await freeze());
    await quick.ensureOutcomeFeed({ workspaceId });
    return shards;
  }

  /** No shard stands yet: `runShards` starts each as soon as it does. */
  async function freeze(): Promise<ShardRef[]> {
    const placeholders = await quick.lookUpTemplates({ runId });
    if (!patched('frozen-in-pieces')) return long.freezeRunAudience({ runId, placeholders });
    freezing = placeholders;
    return [];
  }

  /** By the clock of whoever launched the run its hour has come; by the database's it may not. */
  async function begin(): Promise<BegunRun | false> {
    for (;;) {
      const begun = await quick.beginRun({ runId, launch, mayWait: true });
      if (!begun || !('waitMs' in begun)) return begun;
      await sleep(Math.min(LONGEST_WAIT_MS, Math.ceil(begun.waitMs)));
    }
  }

  /** Until every shard has done its slice; one that fails stops the others, since the reason concerns all. */
  async function runShards(shards: ShardRef[]): Promise<void> {
    const sending = new CancellationScope();
    const running: Promise<void>[] = [];
    let failure: unknown;
    const orStop = (work: () => Promise<void>) =>
      sending.run(work).catch((error: unknown) => {
        failure ??= error;
        sending.cancel();
      });
    const start = (shard: ShardRef) => {
      running.push(orStop(() => runShard(shard)));
    };
    const watching = new CancellationScope();
    const watched = watching.run(() => watch(start));
    // It is heard of when the shards have ended; they find what it found.
    watched.catch(() => undefined);
    for (const shard of shards) start(shard);
    const placeholders = freezing;
    if (placeholders) running.push(orStop(() => freezeOn(placeholders, start)));
    try {
      await condition(() => live.size === 0 && !freezing);
    } finally {
      watching.cancel();
      await watched;
      await Promise.all(running);
    }
    if (failure !== undefined) throw failure;
  }

  /** Starts each shard once, when it stands; the run may have started it before, for what is due in it again. */
  async function freezeOn(placeholders: Placeholders, start: (shard: ShardRef) => void): Promise<void> {
    try {
      for (const started = new Set(live); ; ) {
        const { shards, isOver } = await long.freezeNextShard({ runId, launch, placeholders });
        for (const shard of shards) {
          const id = idOf(shard);
          if (!started.has(id) && !live.has(id)) start(shard);
          started.add(id);
        }
        if (isOver) return;
      }
    } finally {
      freezing = undefined;
    }
  }

  async function runShard({ channel, shard }: ShardRef): Promise<void> {
    const workflowId = idOf({ channel, shard });
    live.add(workflowId);
    try {
      await executeChild(channelShard, { workflowId, args: [{ runId, launch, channel, shard, since }] });
    } finally {
      live.delete(workflowId);
    }
  }

  /**
   * Beside shards that may sleep for hours: the run itself may find that it must stop, by its outcomes for
   * example, and somebody may be sent to again sooner than a shard meant to wake, or in one that has ended.
   */
  async function watch(start: (shard: ShardRef) => void): Promise<void> {
    try {
      for (;;) {
        const found = await long.watchRun({ runId, launch });
        if (found.kind === 'failing') return await wakeShards(live);
        if (found.kind === 'again') continue;
        const ids = found.shards.map((shard) => idOf(shard));
        await wakeShards(ids.filter((id) => live.has(id)));
        // A history has an end. What is not started now is found when the others have ended.
        if (workflowInfo().historyLength > 5 * LIMITS.historyEvents) continue;
        for (const shard of found.shards) if (!live.has(idOf(shard))) start(shard);
      }
    } catch (error) {
      if (!isCancellation(error)) throw error;
    }
  }

  async function wakeShards(shards: Iterable<string>): Promise<void> {
    for (const shard of [...shards]) {
      // One that ends at this very moment needs no waking.
      await getExternalWorkflowHandle(shard)
        .signal(wakeSignal)
        .catch(() => undefined);
    }
  }

  function idOf({ channel, shard }: ShardRef): string {
    return channelShardWorkflowId(runId, launch, channel, shard);
  }

  async function settle(): Promise<Exclude<SettledOutcome, { kind: 'again' }>> {
    for (;;) {
      const found = await long.awaitSettled({ runId, launch });
      if (found.kind !== 'again') return found;
    }
  }

  /** Answers no shards when the books are closed; at the last moment somebody may have to be sent to again. */
  async function close(end: 'settled' | 'canceled' | 'failed'): Promise<ShardRef[] | undefined> {
    if (end === 'failed') return fail();
    if (end === 'canceled') await long.cancelRemaining({ runId });
    const closed = await quick.closeRun({ runId, launch, phase: end === 'settled' ? 'completed' : end });
    return closed ? undefined : [];
  }

  /** Nothing more is handed over, also of what the service has; it may be the service that is gone. */
  async function fail(reason?: string): Promise<undefined> {
    if (reason !== undefined) await quick.stopRun({ runId, launch, reason });
    await brief.applyControl({ runId }).catch(() => undefined);
    await quick.closeRun({ runId, launch, phase: 'failed', ...(reason === undefined ? {} : { reason }) });
  }
}
