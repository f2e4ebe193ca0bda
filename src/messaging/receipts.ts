import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import { MESSAGE_RANK, type MessageState } from '../domain/message';
import type { Log } from '../log';
import type { Receipt, ReceiptSink } from '../providers/provider';
import type { Storage } from '../storage/storage';
import { changeBy, type ReceiptTarget, storableData } from './receipt-change';
import {
  type Change,
  dropOldOrphans,
  dropOrphans,
  type FromProvider,
  findTargets,
  keepOrphans,
  orphansOf,
  ripeOrphans,
  type Targets,
  writeChanges,
} from './receipt-rows';
import type { MessagingTables } from './tables';
import { storable } from './verdict';

/**
 * What providers report after the hand-over. Receipts that arrive together are recorded together; a
 * provider's call resolves when its receipts are stored, and a rejected call may be made again, since a
 * receipt told twice changes nothing. One that comes before its hand-over is recorded is put aside.
 * Both sides write first and then look for the other's writing, so that one of them finds the pair.
 */
export interface Receipts {
  sinkOf(provider: string): ReceiptSink;
  /** Takes up what arrived early for these messages. */
  handedOver(
    provider: string,
    messages: readonly { id: string; providerId: string | undefined }[],
  ): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

interface Call {
  receipts: FromProvider[];
  done(): void;
  fail(error: unknown): void;
}

const GROUP_MAX = 1_000;
/** A message takes one receipt a round; another process may get in between now and then. */
const ROUNDS_MAX = LIMITS.messageEvents + 20;
const SWEEP_INTERVAL_MS = 15_000;
const SWEEP_MAX = 1_000;

export function createReceipts(deps: {
  db: Kysely<MessagingTables>;
  engine: Storage['engine'];
  log: Log;
  onEvents(workspaceId: string): void;
  /** These calls are over, however they ended. */
  onCallsEnded(workspaceId: string, messageIds: readonly string[]): Promise<void>;
}): Receipts {
  const { db, engine, log, onEvents, onCallsEnded } = deps;
  let calls: Call[] = [];
  let waiting = 0;
  let working: Promise<void> | undefined;
  let storedAtMs = 0;
  let timer: NodeJS.Timeout | undefined;
  // Where this process is the only one, it knows when nothing is put aside, and need not look for each batch.
  let mayBeAside = true;

  async function work(): Promise<void> {
    while (calls.length > 0) {
      const waitMs = waiting < GROUP_MAX ? storedAtMs + LIMITS.receiptLingerMs - Date.now() : 0;
      if (waitMs > 0) await delay(waitMs);
      const group = takeGroup();
      try {
        await store(group.flatMap((call) => call.receipts));
        for (const call of group) call.done();
      } catch (error) {
        for (const call of group) call.fail(error);
      }
      storedAtMs = Date.now();
    }
  }

  function takeGroup(): Call[] {
    let size = 0;
    let end = 0;
    while (end < calls.length && (end === 0 || size < GROUP_MAX)) size += calls[end++]?.receipts.length ?? 0;
    const group = calls.slice(0, end);
    calls = calls.slice(end);
    waiting -= size;
    return group;
  }

  async function store(receipts: FromProvider[]): Promise<void> {
    const early = await apply(receipts);
    if (early.length === 0) return;
    mayBeAside = true;
    await keepOrphans(db, early);
    const targets = await findTargets(db, early);
    for (const provider of new Set(early.map((one) => one.provider))) {
      const ripe = early.flatMap((one) => {
        const target = one.provider === provider ? targetOf(one, targets) : undefined;
        return target && isHandedOver(target) ? [{ id: target.id, providerId: one.receipt.providerId }] : [];
      });
      if (ripe.length > 0) await handedOver(provider, ripe);
    }
  }

  /** Answers the receipts whose hand-over is not recorded yet. */
  async function apply(receipts: readonly FromProvider[]): Promise<FromProvider[]> {
    const early: FromProvider[] = [];
    let rest = receipts;
    for (let round = 0; rest.length > 0; round++) {
      if (round === ROUNDS_MAX)
        throw new Error('Receipts could not be recorded: their messages keep changing');
      const sorted = sort(rest, await findTargets(db, rest));
      early.push(...sorted.early);
      const missed: FromProvider[] = [];
      for (const [workspaceId, group] of byWorkspace(sorted.changes)) {
        const written = await writeChanges(db, workspaceId, group);
        missed.push(...group.filter(({ target }) => !written.has(target.id)).map(({ from }) => from));
        if (written.size > 0) onEvents(workspaceId);
        await endCalls(workspaceId, group);
      }
      rest = [...missed, ...sorted.later];
    }
    return early;
  }

  /** The receipt counts whatever becomes of this; a call that is not ended here ends by its time. */
  async function endCalls(workspaceId: string, changes: readonly Change[]): Promise<void> {
    const ended = changes.filter(({ target, event }) => target.channel === 'voice' && isEnd(event.state));
    if (ended.length === 0) return;
    await onCallsEnded(
      workspaceId,
      ended.map(({ target }) => target.id),
    ).catch((error: unknown) => log.warn({ err: error }, 'Calls that are over still count'));
  }

  async function handedOver(
    provider: string,
    messages: Parameters<Receipts['handedOver']>[1],
  ): Promise<void> {
    if (mayBeAside || engine === 'postgres') await takeUp(await orphansOf(db, provider, messages));
  }

  /** Recorded before they are dropped: ended in between, they are recorded again, which changes nothing. */
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
      if (working) return;
      const left = await db.selectFrom('orphan_receipts').select('id').limit(1).execute();
      // Unless more came meanwhile.
      if (!working) mayBeAside = left.length > 0;
    } catch (error) {
      log.warn({ err: error }, 'Early receipts could not be read; trying again');
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
      return new Promise((done, fail) => {
        calls.push({ receipts: receipts.map((one) => ({ provider, receipt: clean(one) })), done, fail });
        working ??= work().finally(() => {
          working = undefined;
        });
      });
    },
    handedOver,
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

const isEnd = (state: MessageState) => MESSAGE_RANK[state] > MESSAGE_RANK.unknown;
const isHandedOver = (target: ReceiptTarget) => target.state !== 'scheduled' && target.state !== 'accepted';

function targetOf({ provider, receipt }: FromProvider, targets: Targets): ReceiptTarget | undefined {
  return receipt.id === undefined
    ? targets.byProviderId.get(`${provider} ${receipt.providerId}`)
    : targets.byId.get(receipt.id);
}

function sort(receipts: readonly FromProvider[], targets: Targets) {
  const changes: (Change & { from: FromProvider })[] = [];
  const early: FromProvider[] = [];
  const later: FromProvider[] = [];
  const taken = new Set<string>();
  for (const from of receipts) {
    const target = targetOf(from, targets);
    if (!target) {
      // Our ids exist before a provider learns them; a provider's own may be ahead of our record.
      if (from.receipt.id === undefined) early.push(from);
    } else if (taken.has(target.id)) {
      later.push(from);
    } else if (!isHandedOver(target)) {
      early.push(from);
    } else if (target.provider === from.provider) {
      const event = changeBy(target, from.receipt);
      if (event) {
        taken.add(target.id);
        changes.push({ target, event, from });
      }
    }
  }
  return { changes, early, later };
}

function byWorkspace<T extends Change>(changes: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const change of changes) {
    const group = groups.get(change.target.workspace_id);
    if (group) group.push(change);
    else groups.set(change.target.workspace_id, [change]);
  }
  return groups;
}

/** One strange receipt must not keep those that came with it from being stored. */
function clean(receipt: Receipt): Receipt {
  return {
    id: receipt.id === undefined ? undefined : storable(receipt.id),
    providerId: receipt.providerId === undefined ? undefined : storable(receipt.providerId),
    type: receipt.type,
    code: receipt.code === undefined ? undefined : storable(receipt.code),
    at: receipt.at === undefined ? undefined : storable(receipt.at),
    data: storableData(receipt.data),
  };
}
