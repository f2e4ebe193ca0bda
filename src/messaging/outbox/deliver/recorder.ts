import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { LIMITS } from '../../../domain/limits';
import type { Log } from '../../../log';
import type { HandOver, HandOverResult } from '../../../providers/provider';
import { type AttemptResult, toAttemptResult, unlessInDoubt } from '../../model/attempt-result';
import { isDataError } from '../../model/database-error';
import type { OutgoingMessage } from '../../model/outgoing';
import type { MessagingTables } from '../../model/tables';
import { foundIn, suppressFound } from '../../receipts/receipt-suppression';
import type { Partition, Partitions } from '../queue/partitions';
import { canceledAmong, type Group, type Recorded, recordResults } from './groups';

/** A group as this process knows it: how many of its messages nothing is recorded of yet. */
export interface OpenGroup extends Group {
  unrecorded: number;
}

/** A message of an open group on its way to the provider. */
export interface Leaving {
  readonly message: OutgoingMessage;
  readonly handOver: HandOver;
  readonly group: OpenGroup;
}

interface Deps {
  db: Kysely<MessagingTables>;
  provider: string;
  partitions: Pick<Partitions, 'lose'>;
  log: Log;
  /** What the results mean for the channel as a whole. They may be changed by it. */
  classifyResults(leaving: readonly Leaving[], results: readonly HandOverResult[]): readonly HandOverResult[];
  /** These are recorded. */
  onRecorded(results: readonly Recorded[]): Promise<void>;
  /** Another process recorded these, or this one did and did not hear of it: the table knows more than we do. */
  onNotOurs(results: readonly Recorded[]): void;
}

const RETRY_MS = 300;

/**
 * Records results as they come, many in one statement: after a moment, or when enough of them have gathered. So a slow
 * message never holds up the others of its group, and a crash leaves in doubt little more than what was in flight.
 */
export class Recorder {
  private pending: { leaving: Leaving; result: HandOverResult; atMs: number }[] = [];
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** By the monotonic clock, because results must not wait for one that was set back. */
  private writtenAtMs = 0;
  private givenUp = false;

  constructor(private readonly deps: Deps) {}

  /** Results that wait to be recorded. */
  get count(): number {
    return this.pending.length;
  }

  add(leaving: Leaving, result: HandOverResult): void {
    this.pending.push({ leaving, result, atMs: Date.now() });
    this.schedule();
  }

  /** Records at once what is no result of a hand-over: messages that never left, or a whole group in doubt. */
  async record(
    attemptResults: readonly AttemptResult[],
    { partition, group }: { partition: Partition; group?: OpenGroup | undefined },
  ): Promise<void> {
    await this.write(
      attemptResults.map((attemptResult) => ({ attemptResult: unlessInDoubt(attemptResult), group })),
      partition,
    );
  }

  /** Resolves when everything that was added is recorded. */
  async idle(): Promise<void> {
    while (this.writing || (this.pending.length > 0 && !this.givenUp)) {
      this.start();
      await this.writing;
    }
  }

  /** Ends the waiting for a database that does not answer. */
  giveUp(): void {
    this.givenUp = true;
    clearTimeout(this.timer);
  }

  async untilDone<T>(action: () => Promise<T>): Promise<T | undefined> {
    while (!this.givenUp) {
      try {
        return await action();
      } catch (error) {
        this.deps.log.warn({ err: error }, 'The outbox could not be written; trying again');
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
    return undefined;
  }

  private schedule(): void {
    if (this.writing) return;
    const waitMs = this.writtenAtMs + LIMITS.recordLingerMs - performance.now();
    if (this.pending.length >= LIMITS.recordResults) this.start();
    else {
      // Results of one turn of the event loop are one group even when nothing was recorded for long.
      this.timer ??= setTimeout(() => this.start(), Math.max(0, waitMs)).unref();
    }
  }

  private start(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.writing || this.pending.length === 0) return;
    this.writing = this.writePending().finally(() => {
      this.writing = undefined;
      this.writtenAtMs = performance.now();
      if (this.pending.length > 0 && !this.givenUp) this.schedule();
    });
  }

  private async writePending(): Promise<void> {
    const some = this.pending.splice(0, LIMITS.recordResultsMax);
    const classified = this.deps.classifyResults(
      some.map(({ leaving }) => leaving),
      some.map(({ result }) => result),
    );
    // A next try is counted from now: after a database that did not answer, not all would be due at once.
    const now = Date.now();
    const parts = new Map<string, { partition: Partition; results: Recorded[] }>();
    some.forEach(({ leaving: { message, group }, atMs }, i) => {
      const attemptResult = counted(
        toAttemptResult(message, classified[i] ?? { kind: 'unknown' }, now, Math.random()),
      );
      attemptResult.at = new Date(atMs).toISOString();
      const key = `${group.partition.id}/${message.workspaceId}`;
      const part = parts.get(key) ?? { partition: group.partition, results: [] };
      parts.set(key, part);
      part.results.push({ attemptResult, group });
    });
    for (const { partition, results } of parts.values()) await this.writePart(results, partition);
  }

  /** Records results of several workspaces. */
  private async write(results: readonly Recorded[], partition: Partition): Promise<void> {
    const parts = new Map<string, Recorded[]>();
    for (const result of results) {
      const part = parts.get(result.attemptResult.message.workspaceId);
      if (part) part.push(result);
      else parts.set(result.attemptResult.message.workspaceId, [result]);
    }
    for (const part of parts.values()) await this.writePart(part, partition);
  }

  /** Records results of one workspace. */
  private async writePart(results: readonly Recorded[], partition: Partition): Promise<void> {
    const closing = new Set<string>();
    for (const { group } of results) {
      const open = group as OpenGroup | undefined;
      if (!open) continue;
      open.unrecorded -= 1;
      if (open.unrecorded === 0) closing.add(open.id);
    }
    await this.writeCounted(results, partition, closing);
  }

  private async writeCounted(
    results: readonly Recorded[],
    partition: Partition,
    closing: ReadonlySet<string>,
  ): Promise<void> {
    const { db, onRecorded, onNotOurs, partitions, log } = this.deps;
    const written = await this.writeOnce(results, partition, closing);
    if (!written) return onNotOurs(results);
    const ours = results.filter(({ group }) => written.ours.has(group?.id ?? ''));
    if (ours.length > 0) await onRecorded(written.kept(ours));
    if (ours.length === results.length) return;
    const left = results.filter(({ group }) => !written.ours.has(group?.id ?? ''));
    const canceled = (await this.untilDone(() => canceledAmong(db, left))) ?? [];
    // More may be canceled meanwhile, each message once.
    if (canceled.length > 0) await this.writeCounted(canceled, partition, closing);
    const open = new Set(canceled.map(({ group }) => group?.id));
    const others = left.filter(({ group }) => !open.has(group?.id));
    if (others.length === 0) return;
    if (others.some(({ group }) => group === undefined))
      await this.untilDone(() => partitions.lose(partition));
    else log.warn({ count: others.length }, 'Hand-overs were already accounted for');
    onNotOurs(others);
  }

  private async writeOnce(results: readonly Recorded[], partition: Partition, closing: ReadonlySet<string>) {
    const { db, log } = this.deps;
    // The account may be deleted; then another account's recorder settles its groups.
    const provider = results[0]?.group?.provider ?? this.deps.provider;
    const workspaceId = results[0]?.attemptResult.message.workspaceId ?? '';
    let kept = results;
    const found = foundIn(results.map(({ attemptResult }) => attemptResult));
    const options = { workspaceId, provider, partition, closing };
    /** One transaction for the results and for the suppressions that they cause, so that no result is stored without its own. */
    const write = () => {
      if (found.length === 0) return recordResults(db, kept, options);
      return db.transaction().execute(async (transaction) => {
        await suppressFound(transaction, workspaceId, found);
        return recordResults(transaction, kept, options);
      });
    };
    const ours = await this.untilDone(async () => {
      try {
        return await write();
      } catch (error) {
        if (!isDataError(error)) throw error;
        // The states matter more than what the provider said about them.
        log.error({ err: error, provider }, 'Answers of a provider could not be stored');
        kept = results.map(
          ({ attemptResult: { message, state, attempt, retryAtMs, keepsPlace, at, inDoubt }, group }) => ({
            attemptResult: { message, state, attempt, retryAtMs, keepsPlace, at, inDoubt },
            group,
          }),
        );
        return await write();
      }
    });
    if (!ours) return undefined;
    const stored = kept;
    return {
      ours,
      kept: (some: readonly Recorded[]) =>
        stored === results ? some : stored.filter(({ group }) => ours.has(group?.id ?? '')),
    };
  }
}

/** A hand-over that another process did not live to record counts as an attempt, by which the message stays bound. */
function counted(attemptResult: AttemptResult): AttemptResult {
  return attemptResult.message.boundTo !== undefined && attemptResult.attempt === 0
    ? { ...attemptResult, attempt: 1 }
    : attemptResult;
}
