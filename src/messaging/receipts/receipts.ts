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
  handedOver(provider: string, attemptResults: readonly AttemptResult[]): Promise<void>;
  /** Their results came after another process had settled them. That one was taken ends its doubt. */
  cameLate(provider: string, attemptResults: readonly AttemptResult[]): void;
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

interface ReceiptsDeps {
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
}

export function createReceipts(deps: ReceiptsDeps): Receipts {
  return new ReceiptIntake(deps);
}

class ReceiptIntake implements Receipts {
  private readonly targets: ReturnType<typeof createReceiptTargets>;
  private calls: Call[] = [];
  private waiting = 0;
  private working: Promise<void> | undefined;
  /** By the monotonic clock, because receipts must not wait for one that was set back. */
  private storedAtMs = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly deps: ReceiptsDeps) {
    this.targets = createReceiptTargets(deps.db);
  }

  readonly sinkOf: Receipts['sinkOf'] = (provider) => (receipts) => {
    if (receipts.length === 0) return Promise.resolve();
    if (this.waiting + receipts.length > LIMITS.receiptQueue) {
      const error = new DomainError('overloaded', 'Too many receipts wait; report them again', {
        retryAfterSeconds: 1,
      });
      return Promise.reject(error);
    }
    this.waiting += receipts.length;
    this.deps.observer?.receipts(provider, receipts.length);
    return new Promise((done, fail) => {
      this.calls.push({ receipts: receipts.map((one) => ({ provider, receipt: clean(one) })), done, fail });
      this.working ??= this.work();
    });
  };

  readonly handedOver: Receipts['handedOver'] = (provider, attemptResults) => {
    this.targets.handedOver(provider, attemptResults);
    return this.takeUpFor(
      provider,
      attemptResults.map(({ message, providerId }) => ({ id: message.id, providerId })),
    );
  };

  readonly cameLate: Receipts['cameLate'] = (provider, attemptResults) => {
    const taken = attemptResults.filter(({ state }) => state === 'sent');
    const receipts = taken.map(
      ({ message: { id }, providerId }): Receipt => ({ id, providerId, type: 'sent' }),
    );
    this.sinkOf(provider)(receipts).catch((error: unknown) =>
      this.deps.log.warn({ err: error }, 'Messages stay unknown whose late answers could not be stored'),
    );
  };

  readonly start: Receipts['start'] = () => {
    void this.sweep();
    this.timer = setInterval(() => void this.sweep(), SWEEP_INTERVAL_MS);
    this.timer.unref();
  };

  readonly stop: Receipts['stop'] = async () => {
    clearInterval(this.timer);
    await this.working;
  };

  private async work(): Promise<void> {
    while (this.calls.length > 0) {
      const waitMs =
        this.waiting < GROUP_MAX ? this.storedAtMs + LIMITS.receiptLingerMs - performance.now() : 0;
      if (waitMs > 0) await delay(waitMs);
      await this.deps.foreground?.pass();
      const group = this.takeGroup();
      try {
        const receipts = group.flatMap((call) => call.receipts);
        await this.untilRecorded(receipts);
        await this.store(receipts);
        for (const call of group) call.done();
      } catch (error) {
        for (const call of group) call.fail(error);
      }
      this.storedAtMs = performance.now();
    }
    // In the same turn as the last look at `calls`: one that is pushed from now on begins anew.
    this.working = undefined;
  }

  private takeGroup(): Call[] {
    let size = 0;
    let end = 0;
    // Never beyond the limit, because a workspace's part of the group is one row of its event log.
    for (const { receipts } of this.calls) {
      if (end > 0 && size + receipts.length > GROUP_MAX) break;
      size += receipts.length;
      end += 1;
    }
    const group = this.calls.slice(0, end);
    this.calls = this.calls.slice(end);
    this.waiting -= size;
    return group;
  }

  /**
   * A carrier may report faster than results are recorded. Its receipts wait here, unless the recording takes
   * unusually long.
   */
  private async untilRecorded(receipts: readonly FromProvider[]): Promise<void> {
    let early = receipts.flatMap(({ receipt }) => receipt.id ?? []).filter(this.deps.isUnderWay);
    const deadline = performance.now() + LIMITS.receiptWaitMs;
    while (early.length > 0 && performance.now() < deadline) {
      await delay(LIMITS.receiptLookMs);
      early = early.filter(this.deps.isUnderWay);
    }
  }

  private async store(receipts: FromProvider[]): Promise<void> {
    const early = await this.apply(receipts);
    if (early.length === 0) return;
    await keepOrphans(this.deps.db, early);
    const found = await findTargets(this.deps.db, early);
    for (const provider of new Set(early.map((one) => one.provider))) {
      const ripe = early.flatMap((one) => {
        const target = one.provider === provider ? targetOf(one, found) : undefined;
        return target && isHandedOver(target) ? [{ id: target.id, providerId: one.receipt.providerId }] : [];
      });
      if (ripe.length > 0) await this.takeUpFor(provider, ripe);
    }
  }

  /** Returns the receipts whose hand-over is not recorded yet. */
  private async apply(receipts: readonly FromProvider[]): Promise<FromProvider[]> {
    const early: FromProvider[] = [];
    let rest = receipts;
    for (let round = 0; rest.length > 0; round++) {
      if (round === ROUNDS_MAX)
        throw new Error('Receipts could not be recorded: their messages keep changing');
      const found = await this.targets.find(rest);
      await suppressByReceipts(this.deps.db, rest, found);
      const { receipts: told, numbers } = await markOptOuts(this.deps, rest, found);
      const sorted = sortReceipts(told, found);
      early.push(...sorted.early);
      const missed: FromProvider[] = [];
      for (const [workspaceId, group] of byWorkspace(sorted.changes)) {
        const written = await this.write(workspaceId, group, numbers);
        const moved = this.deps.observer
          ? group.filter((change) => written.has(change.target.id) && hasMoved(change))
          : [];
        tellMoves(
          this.deps.observer,
          moved.map(({ event }) => event),
          ({ channel }) => channel,
        );
        for (const change of group) {
          if (written.has(change.target.id)) this.targets.written(change);
          else {
            this.targets.forget(change.target.id);
            missed.push(change.from);
          }
        }
        if (written.size > 0) this.deps.onEvents(workspaceId);
        await this.endCalls(workspaceId, group);
      }
      rest = [...missed, ...sorted.later];
    }
    return early;
  }

  /** Suppresses callees who opted out first, so that they are not called again once this is known. */
  private async write(
    workspaceId: string,
    changes: readonly Change[],
    numbers: ReadonlyMap<string, string>,
  ): Promise<Set<string>> {
    if (blocksFor(changes, numbers).length === 0) return writeChanges(this.deps.db, workspaceId, changes);
    return this.deps.db.transaction().execute(async (transaction) => {
      const written = await writeChanges(transaction, workspaceId, changes);
      const those = changes.filter(({ target }) => written.has(target.id));
      await upsertSuppressions(transaction, workspaceId, blocksFor(those, numbers), 'voice');
      return written;
    });
  }

  /** The receipt counts even if this fails; a call that is not ended here ends after its longest time. */
  private async endCalls(workspaceId: string, changes: readonly Change[]): Promise<void> {
    const ended = changes.filter(({ target, event }) => target.channel === 'voice' && isEnd(event.state));
    if (ended.length === 0) return;
    await this.deps
      .onCallsEnded(
        workspaceId,
        ended.map(({ target }) => target.id),
      )
      .catch((error: unknown) =>
        this.deps.log.warn(
          { err: error },
          'Ended calls could not be taken off their senders; they count as live for up to 15 minutes',
        ),
      );
  }

  private async takeUpFor(
    provider: string,
    messages: readonly { id: string; providerId: string | undefined }[],
  ): Promise<void> {
    await this.takeUp(await orphansOf(this.deps.db, provider, messages));
  }

  /**
   * Records the receipts before deleting them. If the process is killed in between, they are recorded again,
   * which changes nothing.
   */
  private async takeUp(orphans: readonly (FromProvider & { id: string })[]): Promise<void> {
    if (orphans.length === 0) return;
    const early = new Set(await this.apply(orphans));
    await dropOrphans(
      this.deps.db,
      orphans.filter((orphan) => !early.has(orphan)).map((orphan) => orphan.id),
    );
  }

  private async sweep(): Promise<void> {
    try {
      await this.takeUp(await ripeOrphans(this.deps.db, SWEEP_MAX));
      await dropOldOrphans(this.deps.db, LIMITS.orphanReceiptHours);
    } catch (error) {
      this.deps.log.warn({ err: error }, 'Early receipts could not be read; trying again at the next sweep');
    }
  }
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
