import { performance } from 'node:perf_hooks';
import { type Kysely, sql } from 'kysely';
import { DomainError } from '../../../domain/errors';
import { LIMITS } from '../../../domain/limits';
import type { Log } from '../../../log';
import { newId } from '../../../storage/new-id';
import type { MessagingTables } from '../../model/tables';

/**
 * A lane is one process's share of the outbox: only its owner hands its messages over.
 *
 *   opened   by a starting process for the messages it accepts
 *   renewed  every `laneRenewSeconds`; who cannot renew stops sending before the lease is over
 *   adopted  when the lease is over: the fence rises, the adopter answers for what is in it, and first
 *            for the batches that its former owner left open (deliver/recover.ts)
 *   removed  an adopted lane with nothing left in it
 *
 * The former owner may only have been frozen. It notices by its own monotonic clock, by its next renewal,
 * or at the latest when the fence does not let it open a batch; it then begins a lane of its own.
 */
export interface Lane {
  readonly id: string;
  readonly fence: number;
  readonly adopted: boolean;
  /** The count of cancels this process has taken notice of. */
  cancels: number;
  /** Until when, on this process's monotonic clock, no other process may adopt the lane. */
  leaseEndsAt: number;
  lost: boolean;
}

export interface Lanes {
  /** The lane of messages accepted now. Throws `overloaded` before the start and after the end. */
  own(): Promise<Lane>;
  all(): Iterable<Lane>;
  /** Whether this process may hand over now; renews when in doubt. Call right before anything leaves. */
  confirm(lane: Lane): Promise<boolean>;
  /** Called when a statement finds that a lane has another owner. */
  lose(lane: Lane): Promise<void>;
  start(): Promise<void>;
  /** Lets go of all lanes, so that a successor adopts them at once. */
  release(): Promise<void>;
}

interface Deps {
  db: Kysely<MessagingTables>;
  log: Log;
  /** A lane of another process is now ours. */
  onAdopted(lane: Lane): void;
  onLost(lane: Lane): void;
}

const LEASE_MS = LIMITS.laneLeaseSeconds * 1_000;
/** The database's clock and ours run at slightly different speeds. */
const LEASE_MARGIN_MS = 1_000;

export function createLanes({ db, log, onAdopted, onLost }: Deps): Lanes {
  const owner = newId('proc');
  const lanes = new Map<string, Lane>();
  let own: Lane | undefined;
  let opening: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let running = false;

  const leaseUntil = sql<Date>`now() + ${LIMITS.laneLeaseSeconds} * interval '1 second'`;
  const leaseEnd = (askedAt: number) => askedAt + LEASE_MS - LEASE_MARGIN_MS;

  async function open(): Promise<void> {
    const askedAt = performance.now();
    const id = newId('lane');
    await db.insertInto('dispatch_lanes').values({ id, owner, fence: 1, lease_until: leaseUntil }).execute();
    own = { id, fence: 1, adopted: false, cancels: 0, leaseEndsAt: leaseEnd(askedAt), lost: false };
    lanes.set(id, own);
  }

  async function renew(): Promise<void> {
    const askedAt = performance.now();
    const held = [...lanes.values()];
    const { rows } = await sql<{ id: string }>`
      update dispatch_lanes l set lease_until = ${leaseUntil}
      from unnest(${held.map((lane) => lane.id)}::text[], ${held.map((lane) => lane.fence)}::int[]) as h(id, fence)
      where l.id = h.id and l.fence = h.fence and l.owner = ${owner}
      returning l.id
    `.execute(db);
    const renewed = new Set(rows.map((row) => row.id));
    for (const lane of held) {
      if (renewed.has(lane.id)) lane.leaseEndsAt = leaseEnd(askedAt);
      else await lose(lane);
    }
  }

  /** A lane has lost its owner when its lease is over. */
  async function adopt(): Promise<void> {
    const askedAt = performance.now();
    const { rows } = await sql<{ id: string; fence: number; cancels: number }>`
      update dispatch_lanes set fence = fence + 1, owner = ${owner}, lease_until = ${leaseUntil}
      where owner <> ${owner} and lease_until <= now()
      returning id, fence, cancels
    `.execute(db);
    for (const row of rows) {
      const lane: Lane = { ...row, adopted: true, leaseEndsAt: leaseEnd(askedAt), lost: false };
      lanes.set(lane.id, lane);
      log.info({ lane: lane.id, fence: lane.fence }, 'Adopted the outbox lane of a process that is gone');
      onAdopted(lane);
    }
  }

  async function lose(lane: Lane): Promise<void> {
    if (lane.lost) return;
    lane.lost = true;
    lanes.delete(lane.id);
    log.warn({ lane: lane.id }, 'Another process has adopted an outbox lane of this one');
    onLost(lane);
    if (own !== lane) return;
    own = undefined;
    if (running) await openOwn();
  }

  /** Accepting and renewing may both find that there is none. */
  function openOwn(): Promise<void> {
    opening ??= open().finally(() => {
      opening = undefined;
    });
    return opening;
  }

  /** Two statements: the second must see what was committed while the first waited for its lock. */
  async function removeEmpty(lane: Lane): Promise<boolean> {
    const removed = await db.transaction().execute(async (trx) => {
      await sql`select id from dispatch_lanes where id = ${lane.id} for update`.execute(trx);
      const { numAffectedRows } = await sql`
        delete from dispatch_lanes where id = ${lane.id} and fence = ${lane.fence}
          and not exists (select 1 from messages where lane = ${lane.id} and due_at is not null)
          and not exists (select 1 from handover_batches where lane = ${lane.id})
      `.execute(trx);
      return (numAffectedRows ?? 0n) > 0n;
    });
    if (removed) {
      lane.lost = true;
      lanes.delete(lane.id);
      onLost(lane);
    }
    return removed;
  }

  async function tick(): Promise<void> {
    try {
      if (!own) await openOwn();
      await renew();
      await adopt();
      for (const lane of [...lanes.values()]) {
        if (lane.adopted) await removeEmpty(lane);
      }
    } catch (error) {
      log.warn({ err: error }, 'Outbox lanes could not be renewed; trying again');
    }
    if (running) schedule();
  }

  function schedule(): void {
    timer = setTimeout(() => void tick(), LIMITS.laneRenewSeconds * 1_000);
    timer.unref();
  }

  return {
    async own() {
      // The first caller that noticed replaces the lost lane; all others wait for it.
      if (!own && running) await openOwn();
      if (!own) throw new DomainError('overloaded', 'The outbox is not open', { retryAfterSeconds: 1 });
      return own;
    },
    all: () => lanes.values(),
    async confirm(lane) {
      if (lane.lost) return false;
      if (performance.now() < lane.leaseEndsAt) return true;
      await renew();
      return !lane.lost && performance.now() < lane.leaseEndsAt;
    },
    lose,
    async start() {
      running = true;
      await openOwn();
      await adopt();
      schedule();
    },
    async release() {
      running = false;
      clearTimeout(timer);
      for (const lane of [...lanes.values()]) {
        if (await removeEmpty(lane)) continue;
        await db
          .updateTable('dispatch_lanes')
          .set({ lease_until: sql<Date>`now()` })
          .where('id', '=', lane.id)
          .where('fence', '=', lane.fence)
          .execute();
      }
      lanes.clear();
      own = undefined;
    },
  };
}
