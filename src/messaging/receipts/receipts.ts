import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { Foreground } from '../../foreground';
import type { Log } from '../../log';
import type { Receipt, ReceiptSink } from '../../providers/provider';
import type { AttemptResult } from '../model/attempt-result';
import { type DeliveryObserver, tellMoves } from '../model/observer';
import { storable } from '../model/storable-text';
import type { MessagingTables } from '../model/tables';
import { upsertSuppressions } from '../suppression/suppression-rows';
import type { TemplateVersions } from '../templates/template-versions';
import { storableData } from './receipt-change';
import { blocksFor, markOptOuts } from './receipt-opt-out';
import {
  type Change,
  dropOldOrphans,
  dropOrphans,
  type FromProvider,
  findTargets,
  keepOrphans,
  orphansOf,
  ripeOrphans,
  writeChanges,
} from './receipt-rows';
import { byWorkspace, isHandedOver, sortReceipts, targetOf } from './receipt-sort';
import { suppressByReceipts } from './receipt-suppression';
import { createReceiptTargets, isEnd } from './receipt-targets';

/**
 * Processes providers' reports after the hand-over. Receipts that arrive together are recorded together. A
 * provider's call resolves when its receipts are stored. A rejected call may be repeated, because a receipt
 * that comes twice changes nothing. A receipt that comes before its hand-over is recorded is stored as early.
 * Both sides write first and then look for the other's row, so that one of them finds the pair.
 */
export interface Receipts {
  sinkOf(provider: string): ReceiptSink;
  /** These are recorded as sent; applies the receipts that came early for them. */
  handedOver(provider: string, verdicts: readonly AttemptResult[]): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

interface Call {
  receipts: FromProvider[];
  done(): void;
  fail(error: unknown): void;
}

const GROUP_MAX = 1_000;
/** A message takes one receipt per round, and another process may change it in between. */
const ROUNDS_MAX = LIMITS.messageEvents + 20;
const SWEEP_INTERVAL_MS = 15_000;
const SWEEP_MAX = 1_000;

export function createReceipts(deps: {
  db: Kysely<MessagingTables>;
  templates: TemplateVersions;
  observer?: DeliveryObserver | undefined;
  /** Requests of this process that receipts let pass. */
  foreground?: Foreground | undefined;
  log: Log;
  onEvents(workspaceId: string): void;
  /** Whether this process is handing the message over, or has not recorded its result yet. */
  isUnderWay(messageId: string): boolean;
  /** These calls are over, however they ended. */
  onCallsEnded(workspaceId: string, messageIds: readonly string[]): Promise<void>;
}): Receipts {
  const { db, log, isUnderWay, onEvents, onCallsEnded, observer, foreground } = deps;
  const targets = createReceiptTargets(db);
  let calls: Call[] = [];
  let waiting = 0;
  let working: Promise<void> | undefined;
  let storedAtMs = 0;
  let timer: NodeJS.Timeout | undefined;

  async function work(): Promise<void> {
    while (calls.length > 0) {
      const waitMs = waiting < GROUP_MAX ? storedAtMs + LIMITS.receiptLingerMs - Date.now() : 0;
      if (waitMs > 0) await delay(waitMs);
      await foreground?.pass();
      const group = takeGroup();
      try {
        const receipts = group.flatMap((call) => call.receipts);
        await untilRecorded(receipts);
        await store(receipts);
        for (const call of group) call.done();
      } catch (error) {
        for (const call of group) call.fail(error);
      }
      storedAtMs = Date.now();
    }
    // In the same turn as the last look at `calls`: one that is pushed from now on begins anew.
    working = undefined;
  }

  function takeGroup(): Call[] {
    let size = 0;
    let end = 0;
    // Never beyond the limit, because a workspace's part of the group is one row of its event log.
    for (const { receipts } of calls) {
      if (end > 0 && size + receipts.length > GROUP_MAX) break;
      size += receipts.length;
      end += 1;
    }
    const group = calls.slice(0, end);
    calls = calls.slice(end);
    waiting -= size;
    return group;
  }

  /**
   * A carrier may report faster than results are recorded. Its receipts wait here, unless the recording takes
   * unusually long.
   */
  async function untilRecorded(receipts: readonly FromProvider[]): Promise<void> {
    let early = receipts.flatMap(({ receipt }) => receipt.id ?? []).filter(isUnderWay);
    for (const deadline = Date.now() + LIMITS.receiptWaitMs; early.length > 0 && Date.now() < deadline; ) {
      await delay(LIMITS.receiptLookMs);
      early = early.filter(isUnderWay);
    }
  }

  async function store(receipts: FromProvider[]): Promise<void> {
    const early = await apply(receipts);
    if (early.length === 0) return;
    await keepOrphans(db, early);
    const found = await findTargets(db, early);
    for (const provider of new Set(early.map((one) => one.provider))) {
      const ripe = early.flatMap((one) => {
        const target = one.provider === provider ? targetOf(one, found) : undefined;
        return target && isHandedOver(target) ? [{ id: target.id, providerId: one.receipt.providerId }] : [];
      });
      if (ripe.length > 0) await takeUpFor(provider, ripe);
    }
  }

  /** Returns the receipts whose hand-over is not recorded yet. */
  async function apply(receipts: readonly FromProvider[]): Promise<FromProvider[]> {
    const early: FromProvider[] = [];
    let rest = receipts;
    for (let round = 0; rest.length > 0; round++) {
      if (round === ROUNDS_MAX)
        throw new Error('Receipts could not be recorded: their messages keep changing');
      const found = await targets.find(rest);
      await suppressByReceipts(db, rest, found);
      const { receipts: told, numbers } = await markOptOuts(deps, rest, found);
      const sorted = sortReceipts(told, found);
      early.push(...sorted.early);
      const missed: FromProvider[] = [];
      for (const [workspaceId, group] of byWorkspace(sorted.changes)) {
        const written = await write(workspaceId, group, numbers);
        const moved = observer
          ? group.filter((change) => written.has(change.target.id) && hasMoved(change))
          : [];
        tellMoves(
          observer,
          moved.map(({ event }) => event),
          ({ channel }) => channel,
        );
        for (const change of group) {
          if (written.has(change.target.id)) targets.written(change);
          else {
            targets.forget(change.target.id);
            missed.push(change.from);
          }
        }
        if (written.size > 0) onEvents(workspaceId);
        await endCalls(workspaceId, group);
      }
      rest = [...missed, ...sorted.later];
    }
    return early;
  }

  /** Suppresses callees who opted out first, so that they are not called again once this is known. */
  async function write(
    workspaceId: string,
    changes: readonly Change[],
    numbers: ReadonlyMap<string, string>,
  ): Promise<Set<string>> {
    if (blocksFor(changes, numbers).length === 0) return writeChanges(db, workspaceId, changes);
    return db.transaction().execute(async (transaction) => {
      const written = await writeChanges(transaction, workspaceId, changes);
      const those = changes.filter(({ target }) => written.has(target.id));
      await upsertSuppressions(transaction, workspaceId, blocksFor(those, numbers), 'voice');
      return written;
    });
  }

  /** The receipt counts even if this fails; a call that is not ended here ends after its longest time. */
  async function endCalls(workspaceId: string, changes: readonly Change[]): Promise<void> {
    const ended = changes.filter(({ target, event }) => target.channel === 'voice' && isEnd(event.state));
    if (ended.length === 0) return;
    await onCallsEnded(
      workspaceId,
      ended.map(({ target }) => target.id),
    ).catch((error: unknown) =>
      log.warn(
        { err: error },
        'Ended calls could not be taken off their senders; they count as live for up to 15 minutes',
      ),
    );
  }

  async function takeUpFor(
    provider: string,
    messages: readonly { id: string; providerId: string | undefined }[],
  ): Promise<void> {
    await takeUp(await orphansOf(db, provider, messages));
  }

  /**
   * Records the receipts before deleting them. If the process is killed in between, they are recorded again,
   * which changes nothing.
   */
  async function takeUp(orphans: readonly (FromProvider & { id: string })[]): Promise<void> {
    if (orphans.length === 0) return;
    const early = new Set(await apply(orphans));
    await dropOrphans(
      db,
      orphans.filter((orphan) => !early.has(orphan)).map((orphan) => orphan.id),
    );
  }

  async function sweep(): Promise<void> {
    try {
      await takeUp(await ripeOrphans(db, SWEEP_MAX));
      await dropOldOrphans(db, LIMITS.orphanReceiptHours);
    } catch (error) {
      log.warn({ err: error }, 'Early receipts could not be read; trying again at the next sweep');
    }
  }

  return {
    sinkOf: (provider) => (receipts) => {
      if (receipts.length === 0) return Promise.resolve();
      if (waiting + receipts.length > LIMITS.receiptQueue) {
        const error = new DomainError('overloaded', 'Too many receipts wait', { retryAfterSeconds: 1 });
        return Promise.reject(error);
      }
      waiting += receipts.length;
      observer?.receipts(provider, receipts.length);
      return new Promise((done, fail) => {
        calls.push({ receipts: receipts.map((one) => ({ provider, receipt: clean(one) })), done, fail });
        working ??= work();
      });
    },
    handedOver(provider, verdicts) {
      targets.handedOver(provider, verdicts);
      return takeUpFor(
        provider,
        verdicts.map(({ message, providerId }) => ({ id: message.id, providerId })),
      );
    },
    start() {
      void sweep();
      timer = setInterval(() => void sweep(), SWEEP_INTERVAL_MS);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await working;
    },
  };
}

const hasMoved = ({ target, event }: Change) => target.state !== event.state;

/** One strange receipt must not keep those that came with it from being stored. */
function clean(receipt: Receipt): Receipt {
  return {
    id: receipt.id === undefined ? undefined : storable(receipt.id),
    providerId: receipt.providerId === undefined ? undefined : storable(receipt.providerId),
    type: receipt.type,
    code: receipt.code === undefined ? undefined : storable(receipt.code),
    at: receipt.at === undefined ? undefined : storable(receipt.at),
    data: storableData(receipt.data),
    about: receipt.about && {
      ...receipt.about,
      to: storable(receipt.about.to),
      from: storable(receipt.about.from),
    },
  };
}
