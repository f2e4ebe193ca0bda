import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { type Kysely, sql } from 'kysely';
import { DomainError } from '../../../domain/errors';
import { LIMITS } from '../../../domain/limits';
import type { Log } from '../../../log';
import { newId } from '../../../storage/new-id';
import { WAITING_IN_GROUPS } from '../../model/due-groups';
import type { MessagingTables } from '../../model/tables';

/**
 * A partition is one process's share of the outbox: only its owner hands its messages over.
 *
 *   opened   by a starting process for the messages it accepts
 *   renewed  every `partitionRenewSeconds`; who cannot renew stops sending before the lease is over
 *   adopted  when the lease is over: the fence rises, the adopter answers for what is in it, and first
 *            for the batches that its former owner left open (deliver/recover.ts)
 *   removed  an adopted partition with nothing left in it
 *
 * The former owner may only have been frozen. It notices by its own monotonic clock, by its next renewal,
 * or at the latest when the fence does not let it open a batch; it then begins a partition of its own.
 */
export interface Partition {
  readonly id: string;
  readonly fence: number;
  readonly adopted: boolean;
  /**
   * The groups that the former owner left open are known. Before that nothing is read from the partition, because
   * their messages would be taken for new ones and sent twice.
   */
  isReadable: boolean;
  /** The count of cancels this process has taken notice of. */
  cancels: number;
  /** Until when, on this process's monotonic clock, no other process may adopt the partition. */
  leaseEndsAt: number;
  lost: boolean;
}

export interface Partitions {
  /** The partition of messages accepted now. Throws `overloaded` before the start and after the end. */
  own(): Promise<Partition>;
  all(): Iterable<Partition>;
  /** Whether this process may hand over now; renews when in doubt. Call right before anything leaves. */
  confirm(partition: Partition): Promise<boolean>;
  /** Called when a statement finds that a partition has another owner. */
  lose(partition: Partition): Promise<void>;
  start(): Promise<void>;
  /** Lets go of all partitions, so that a successor adopts them at once. */
  release(): Promise<void>;
}

interface Deps {
  db: Kysely<MessagingTables>;
  log: Log;
  /** A partition of another process is now ours. */
  onAdopted(partition: Partition): void;
  onLost(partition: Partition): void;
}

const LEASE_MS = LIMITS.partitionLeaseSeconds * 1_000;
/** The database's clock and ours run at slightly different speeds. */
const LEASE_MARGIN_MS = 1_000;
/** Of ten thousand partitions, two have the same id once in five million cases. */
const ID_BYTES = 6;

export function createPartitions(deps: Deps): Partitions {
  return new LeasedPartitions(deps);
}

class LeasedPartitions implements Partitions {
  private readonly owner = newId('proc');
  private readonly partitions = new Map<string, Partition>();
  private ownPartition: Partition | undefined;
  private opening: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private running = false;
  private readonly leaseUntil = sql<Date>`now() + ${LIMITS.partitionLeaseSeconds} * interval '1 second'`;

  constructor(private readonly deps: Deps) {}

  readonly own: Partitions['own'] = async () => {
    // The first caller that noticed replaces the lost partition; all others wait for it.
    if (!this.ownPartition && this.running) await this.openOwn();
    if (!this.ownPartition)
      throw new DomainError('overloaded', 'The outbox of this process is starting or stopping; try again', {
        retryAfterSeconds: 1,
      });
    return this.ownPartition;
  };

  readonly all: Partitions['all'] = () => this.partitions.values();

  readonly confirm: Partitions['confirm'] = async (partition) => {
    if (partition.lost) return false;
    if (performance.now() < partition.leaseEndsAt) return true;
    await this.renew();
    return !partition.lost && performance.now() < partition.leaseEndsAt;
  };

  readonly lose = async (partition: Partition): Promise<void> => {
    if (partition.lost) return;
    partition.lost = true;
    this.partitions.delete(partition.id);
    this.deps.log.warn(
      { partition: partition.id },
      'Another process has adopted an outbox partition of this one',
    );
    this.deps.onLost(partition);
    if (this.ownPartition !== partition) return;
    this.ownPartition = undefined;
    if (this.running) await this.openOwn();
  };

  readonly start: Partitions['start'] = async () => {
    this.running = true;
    await this.openOwn();
    await this.adopt();
    this.schedule();
  };

  readonly release: Partitions['release'] = async () => {
    this.running = false;
    clearTimeout(this.timer);
    for (const partition of [...this.partitions.values()]) {
      if (await this.removeEmpty(partition)) continue;
      await this.deps.db
        .updateTable('dispatch_lanes')
        .set({ lease_until: sql<Date>`now()` })
        .where('id', '=', partition.id)
        .where('fence', '=', partition.fence)
        .execute();
    }
    this.partitions.clear();
    this.ownPartition = undefined;
  };

  private readonly leaseEnd = (askedAt: number) => askedAt + LEASE_MS - LEASE_MARGIN_MS;

  private async open(): Promise<void> {
    const askedAt = performance.now();
    // Short, because each message has it. No caller sees it.
    const id = randomBytes(ID_BYTES).toString('base64url');
    await this.deps.db
      .insertInto('dispatch_lanes')
      .values({ id, owner: this.owner, fence: 1, lease_until: this.leaseUntil })
      .execute();
    this.ownPartition = {
      id,
      fence: 1,
      adopted: false,
      isReadable: true,
      cancels: 0,
      leaseEndsAt: this.leaseEnd(askedAt),
      lost: false,
    };
    this.partitions.set(id, this.ownPartition);
  }

  private async renew(): Promise<void> {
    const askedAt = performance.now();
    const held = [...this.partitions.values()];
    const { rows } = await sql<{ id: string }>`
      update dispatch_lanes l set lease_until = ${this.leaseUntil}
      from unnest(${held.map((partition) => partition.id)}::text[], ${held.map((partition) => partition.fence)}::int[]) as h(id, fence)
      where l.id = h.id and l.fence = h.fence and l.owner = ${this.owner}
      returning l.id
    `.execute(this.deps.db);
    const renewed = new Set(rows.map((row) => row.id));
    for (const partition of held) {
      if (renewed.has(partition.id)) partition.leaseEndsAt = this.leaseEnd(askedAt);
      else await this.lose(partition);
    }
  }

  /**
   * A partition has lost its owner when its lease is over. It may be this process's own, if the answer to its opening or its
   * adoption was lost: then no other process need be there to adopt it.
   */
  private async adopt(): Promise<void> {
    // What was just released is for a successor.
    if (!this.running) return;
    const askedAt = performance.now();
    const held = [...this.partitions.keys()];
    const { rows } = await sql<{ id: string; fence: number; cancels: number }>`
      update dispatch_lanes set fence = fence + 1, owner = ${this.owner}, lease_until = ${this.leaseUntil}
      where id <> all(${held}::text[]) and lease_until <= now()
      returning id, fence, cancels
    `.execute(this.deps.db);
    for (const row of rows) {
      const partition: Partition = {
        ...row,
        adopted: true,
        isReadable: false,
        leaseEndsAt: this.leaseEnd(askedAt),
        lost: false,
      };
      this.partitions.set(partition.id, partition);
      this.deps.log.info(
        { partition: partition.id, fence: partition.fence },
        'Adopted the outbox partition of a process that is gone',
      );
      this.deps.onAdopted(partition);
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
  private async removeEmpty(partition: Partition): Promise<boolean> {
    const removed = await this.deps.db.transaction().execute(async (trx) => {
      await sql`select id from dispatch_lanes where id = ${partition.id} for update`.execute(trx);
      const { numAffectedRows } = await sql`
        delete from dispatch_lanes where id = ${partition.id} and fence = ${partition.fence}
          and not exists (select 1 from due_groups g ${WAITING_IN_GROUPS} where g.lane = ${partition.id})
          and not exists (select 1 from handover_batches where lane = ${partition.id})
      `.execute(trx);
      if (!numAffectedRows) return false;
      await sql`delete from due_groups where lane = ${partition.id}`.execute(trx);
      return true;
    });
    if (removed) {
      partition.lost = true;
      this.partitions.delete(partition.id);
      this.deps.onLost(partition);
    }
    return removed;
  }

  private async tick(): Promise<void> {
    try {
      if (!this.ownPartition) await this.openOwn();
      await this.renew();
      await this.adopt();
      for (const partition of [...this.partitions.values()]) {
        if (partition.adopted) await this.removeEmpty(partition);
      }
    } catch (error) {
      this.deps.log.warn({ err: error }, 'Outbox partitions could not be renewed; trying again');
    }
    if (this.running) this.schedule();
  }

  private schedule(): void {
    this.timer = setTimeout(() => void this.tick(), LIMITS.partitionRenewSeconds * 1_000);
    this.timer.unref();
  }
}
