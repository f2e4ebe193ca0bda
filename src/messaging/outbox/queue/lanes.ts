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

export function createLanes(deps: Deps): Lanes {
  return new LeasedLanes(deps);
}

class LeasedLanes implements Lanes {
  private readonly owner = newId('proc');
  private readonly lanes = new Map<string, Lane>();
  private ownLane: Lane | undefined;
  private opening: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private running = false;
  private readonly leaseUntil = sql<Date>`now() + ${LIMITS.laneLeaseSeconds} * interval '1 second'`;

  constructor(private readonly deps: Deps) {}

  readonly own: Lanes['own'] = async () => {
    // The first caller that noticed replaces the lost lane; all others wait for it.
    if (!this.ownLane && this.running) await this.openOwn();
    if (!this.ownLane)
      throw new DomainError('overloaded', 'The outbox of this process is starting or stopping; try again', {
        retryAfterSeconds: 1,
      });
    return this.ownLane;
  };

  readonly all: Lanes['all'] = () => this.lanes.values();

  readonly confirm: Lanes['confirm'] = async (lane) => {
    if (lane.lost) return false;
    if (performance.now() < lane.leaseEndsAt) return true;
    await this.renew();
    return !lane.lost && performance.now() < lane.leaseEndsAt;
  };

  readonly lose = async (lane: Lane): Promise<void> => {
    if (lane.lost) return;
    lane.lost = true;
    this.lanes.delete(lane.id);
    this.deps.log.warn({ lane: lane.id }, 'Another process has adopted an outbox lane of this one');
    this.deps.onLost(lane);
    if (this.ownLane !== lane) return;
    this.ownLane = undefined;
    if (this.running) await this.openOwn();
  };

  readonly start: Lanes['start'] = async () => {
    this.running = true;
    await this.openOwn();
    await this.adopt();
    this.schedule();
  };

  readonly release: Lanes['release'] = async () => {
    this.running = false;
    clearTimeout(this.timer);
    for (const lane of [...this.lanes.values()]) {
      if (await this.removeEmpty(lane)) continue;
      await this.deps.db
        .updateTable('dispatch_lanes')
        .set({ lease_until: sql<Date>`now()` })
        .where('id', '=', lane.id)
        .where('fence', '=', lane.fence)
        .execute();
    }
    this.lanes.clear();
    this.ownLane = undefined;
  };

  private readonly leaseEnd = (askedAt: number) => askedAt + LEASE_MS - LEASE_MARGIN_MS;

  private async open(): Promise<void> {
    const askedAt = performance.now();
    const id = newId('lane');
    await this.deps.db
      .insertInto('dispatch_lanes')
      .values({ id, owner: this.owner, fence: 1, lease_until: this.leaseUntil })
      .execute();
    this.ownLane = {
      id,
      fence: 1,
      adopted: false,
      cancels: 0,
      leaseEndsAt: this.leaseEnd(askedAt),
      lost: false,
    };
    this.lanes.set(id, this.ownLane);
  }

  private async renew(): Promise<void> {
    const askedAt = performance.now();
    const held = [...this.lanes.values()];
    const { rows } = await sql<{ id: string }>`
      update dispatch_lanes l set lease_until = ${this.leaseUntil}
      from unnest(${held.map((lane) => lane.id)}::text[], ${held.map((lane) => lane.fence)}::int[]) as h(id, fence)
      where l.id = h.id and l.fence = h.fence and l.owner = ${this.owner}
      returning l.id
    `.execute(this.deps.db);
    const renewed = new Set(rows.map((row) => row.id));
    for (const lane of held) {
      if (renewed.has(lane.id)) lane.leaseEndsAt = this.leaseEnd(askedAt);
      else await this.lose(lane);
    }
  }

  /** A lane has lost its owner when its lease is over. */
  private async adopt(): Promise<void> {
    const askedAt = performance.now();
    const { rows } = await sql<{ id: string; fence: number; cancels: number }>`
      update dispatch_lanes set fence = fence + 1, owner = ${this.owner}, lease_until = ${this.leaseUntil}
      where owner <> ${this.owner} and lease_until <= now()
      returning id, fence, cancels
    `.execute(this.deps.db);
    for (const row of rows) {
      const lane: Lane = { ...row, adopted: true, leaseEndsAt: this.leaseEnd(askedAt), lost: false };
      this.lanes.set(lane.id, lane);
      this.deps.log.info(
        { lane: lane.id, fence: lane.fence },
        'Adopted the outbox lane of a process that is gone',
      );
      this.deps.onAdopted(lane);
    }
  }

  /** Accepting and renewing may both find that there is none. */
  private openOwn(): Promise<void> {
    this.opening ??= this.open().finally(() => {
      this.opening = undefined;
    });
    return this.opening;
  }

  /** Two statements: the second must see what was committed while the first waited for its lock. */
  private async removeEmpty(lane: Lane): Promise<boolean> {
    const removed = await this.deps.db.transaction().execute(async (trx) => {
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
      this.lanes.delete(lane.id);
      this.deps.onLost(lane);
    }
    return removed;
  }

  private async tick(): Promise<void> {
    try {
      if (!this.ownLane) await this.openOwn();
      await this.renew();
      await this.adopt();
      for (const lane of [...this.lanes.values()]) {
        if (lane.adopted) await this.removeEmpty(lane);
      }
    } catch (error) {
      this.deps.log.warn({ err: error }, 'Outbox lanes could not be renewed; trying again');
    }
    if (this.running) this.schedule();
  }

  private schedule(): void {
    this.timer = setTimeout(() => void this.tick(), LIMITS.laneRenewSeconds * 1_000);
    this.timer.unref();
  }
}
