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
import type { SettlingLook, ShardRef } from '../activities/looks';
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
import { brief, long, quick } from './proxies';

/** A clock that is put right meanwhile is not waited for any longer. */
const LONGEST_WAIT_MS = 10 * 60_000;

/**
 * One execution of a campaign: plans it, starts its shards, puts its owner's wishes into force, waits for
 * the outcomes, starts shards again for what is to be retried, and closes the books. The run's row in the
 * database says what is wished; this workflow is told when it changed. While it waits it is a timer: it is woken when
 * something happened in the database that it may wait for (src/campaigns/watch), and looks then.
 */
export async function campaignRun(input: CampaignRunInput): Promise<void> {
  const { runId, workspaceId, launch, since = Date.now(), freezing, ...rest } = input;
  const live = new Map<string, ShardRef>();
  let wakes = 0;
  /** Set while a part of the audience is still to be frozen. */
  let unfrozen = freezing;
  let isDraining = false;

  setHandler(controlChangedUpdate, async () => {
    await long.applyControl({ runId });
    await wakeShards(live.keys());
    wakes++;
  });
  setHandler(wakeSignal, () => {
    wakes++;
  });

  try {
    for (let shards = input.shards ?? (await plan()); shards; ) {
      const unfinished = await runShards(shards);
      if (unfinished) return await goOn(unfinished);
      const found = await settle();
      shards = found.kind === 'due' ? found.shards : await close(found.kind);
      if (shards && workflowInfo().historyLength > HISTORY_EVENTS) return await goOn(shards);
    }
  } catch (error) {
    const reason = failureReason(error);
    if (reason === undefined) throw error;
    await CancellationScope.nonCancellable(() => fail(reason));
  }
  await condition(allHandlersFinished);

  async function goOn(shards: ShardRef[]): Promise<never> {
    await condition(allHandlersFinished);
    return continueAsNew<typeof campaignRun>({
      ...{ ...rest, runId, workspaceId, launch, since, shards },
      ...(unfrozen ? { freezing: unfrozen } : {}),
    });
  }

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

  /** By the clock of whoever launched the run its hour has come; by the database's it may not. */
  async function begin(): Promise<BegunRun | false> {
    for (;;) {
      const begun = await quick.beginRun({ runId, launch, mayWait: true });
      if (!begun || !('waitMs' in begun)) return begun;
      await sleep(Math.min(LONGEST_WAIT_MS, Math.ceil(begun.waitMs)));
    }
  }

  /** No shard stands yet: `runShards` starts each as soon as it does. */
  async function freeze(): Promise<ShardRef[]> {
    const placeholders = await quick.lookUpTemplates({ runId });
    if (!patched('frozen-in-pieces')) return long.freezeRunAudience({ runId, placeholders });
    unfrozen = placeholders;
    return [];
  }

  /**
   * Until every shard has done its slice; one that fails stops the others, since the reason concerns all. Answers
   * shards that are to go on in another execution of this workflow, because the history of this one is full.
   */
  async function runShards(shards: ShardRef[]): Promise<ShardRef[] | undefined> {
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
    let unfinished: ShardRef[] | undefined;
    const watching = new CancellationScope();
    const watched = watching.run(async () => {
      unfinished = await watch(start);
    });
    // It is heard of when the shards have ended; they find what it found.
    watched.catch(() => undefined);
    for (const shard of shards) start(shard);
    let isFreezing = unfrozen !== undefined;
    if (unfrozen) {
      const placeholders = unfrozen;
      running.push(
        orStop(() => freezeOn(placeholders, start)).finally(() => {
          isFreezing = false;
        }),
      );
    }
    try {
      await condition(() => live.size === 0 && !isFreezing);
    } finally {
      watching.cancel();
      await watched;
      await Promise.all(running);
    }
    if (failure !== undefined) throw failure;
    return unfinished;
  }

  /** Starts each shard once, when it stands; the run may have started it before, for what is due in it again. */
  async function freezeOn(placeholders: Placeholders, start: (shard: ShardRef) => void): Promise<void> {
    for (const started = new Set(live.keys()); !isDraining; ) {
      const { shards, isOver } = await long.freezeNextShard({ runId, launch, placeholders });
      if (isOver && !isDraining) unfrozen = undefined;
      for (const shard of shards) {
        const id = idOf(shard);
        if (!started.has(id) && !live.has(id) && !isDraining) start(shard);
        started.add(id);
      }
      if (isOver) return;
    }
  }

  async function runShard(shard: ShardRef): Promise<void> {
    const workflowId = idOf(shard);
    live.set(workflowId, shard);
    try {
      await executeChild(channelShard, { workflowId, args: [{ runId, launch, ...shard, since }] });
    } finally {
      live.delete(workflowId);
    }
  }

  /**
   * Beside shards that may sleep for hours: the run itself may find that it must stop, by its outcomes for
   * example, and a recipient may be sent to again sooner than a shard meant to wake, or in one that has ended.
   */
  async function watch(start: (shard: ShardRef) => void): Promise<ShardRef[] | undefined> {
    try {
      for (;;) {
        const sleeps = patched('sleeps-until-woken');
        const seen = wakes;
        const found = await (sleeps ? long.lookWhileSending : long.watchRun)({ runId, launch });
        if (found.kind === 'failing') {
          await wakeShards(live.keys());
          return undefined;
        }
        if (found.kind === 'due') {
          const ids = found.shards.map((shard) => idOf(shard));
          await wakeShards(ids.filter((id) => live.has(id)));
          const mayStart = sleeps || workflowInfo().historyLength <= HISTORY_EVENTS_BESIDE_SHARDS;
          if (mayStart) for (const shard of found.shards) if (!live.has(idOf(shard))) start(shard);
        }
        if (!sleeps) continue;
        if (workflowInfo().historyLength > HISTORY_EVENTS) return await drain();
        await condition(() => wakes > seen, sleepMs(found));
      }
    } catch (error) {
      if (!isCancellation(error)) throw error;
      return undefined;
    }
  }

  /** A run cannot continue as new while its shards are under way: they come to the end of their page and stop. */
  async function drain(): Promise<ShardRef[]> {
    isDraining = true;
    const unfinished = [...live.values()];
    await signalShards(live.keys(), drainSignal);
    return unfinished;
  }

  function wakeShards(shards: Iterable<string>): Promise<void> {
    return signalShards(shards, wakeSignal);
  }

  async function signalShards(
    shards: Iterable<string>,
    signal: typeof wakeSignal | typeof drainSignal,
  ): Promise<void> {
    for (const shard of [...shards]) {
      // One that ends at this very moment needs no signal.
      await getExternalWorkflowHandle(shard)
        .signal(signal)
        .catch(() => undefined);
    }
  }

  function idOf({ channel, shard }: ShardRef): string {
    return channelShardWorkflowId(runId, launch, channel, shard);
  }

  async function settle(): Promise<Exclude<SettlingLook, { kind: 'wait' | 'again' }>> {
    const began = Date.now();
    for (;;) {
      const sleeps = patched('sleeps-until-woken');
      const seen = wakes;
      const found = sleeps
        ? await long.lookWhileSettling({ runId, launch, sinceMs: Date.now() - began })
        : await long.awaitSettled({ runId, launch });
      if (found.kind === 'again') continue;
      if (found.kind !== 'wait') return found;
      if (workflowInfo().historyLength > HISTORY_EVENTS) return { kind: 'due', shards: [] };
      await condition(() => wakes > seen, sleepMs(found));
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

function sleepMs({ waitMs = RUN_LOOK_MS }: { waitMs?: number }): number {
  return Math.min(RUN_LOOK_MS, Math.max(1, waitMs));
}
