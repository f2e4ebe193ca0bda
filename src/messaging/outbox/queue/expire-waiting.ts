import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../../domain/limits';
import type { Log } from '../../../log';
import { WAITING_IN_GROUPS } from '../../model/due-groups';
import type { OutgoingMessage } from '../../model/outgoing';
import type { MessagingTables } from '../../model/tables';
import { readWaiting } from './due-messages';
import type { OutboxQueue } from './outbox-queue';
import type { Partition, Partitions } from './partitions';
import type { Entry } from './window';

interface Deps {
  db: Kysely<MessagingTables>;
  queue: OutboxQueue;
  partitions: Partitions;
  log: Log;
  /** Records messages of one channel as expired. */
  recordExpired(partition: Partition, messages: readonly OutgoingMessage[]): Promise<void>;
  /** They are recorded: the table alone knows them. */
  letGo(entries: readonly Entry[]): void;
}

/**
 * Ends waiting messages whose time is over while nothing takes them to the carrier: their account is refused, their tag
 * is held, too much stands before them, or they are scheduled for later than they may leave. Those in a group are left
 * alone, because they may be with the carrier. Killed before the record, the messages are in the table as before.
 */
export class ExpiringMessages {
  private timer: NodeJS.Timeout | undefined;
  private running = false;

  constructor(private readonly deps: Deps) {}

  start(): void {
    this.running = true;
    this.schedule();
  }

  stop(): void {
    this.running = false;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    this.timer = setTimeout(() => {
      this.sweep()
        .catch((error: unknown) =>
          this.deps.log.warn({ err: error }, 'Expired messages could not be read; trying again'),
        )
        .finally(() => this.running && this.schedule());
    }, LIMITS.expireWaitingMs);
    this.timer.unref();
  }

  private async sweep(): Promise<void> {
    for (const partition of [...this.deps.partitions.all()]) {
      for (let more = true; more && this.running && !partition.lost; )
        more = await this.expireSome(partition);
    }
  }

  /** Answers whether there may be more. */
  private async expireSome(partition: Partition): Promise<boolean> {
    const { db, queue, recordExpired, letGo } = this.deps;
    const watch = queue.watch();
    try {
      const ids = await overdueIds(db, partition);
      if (ids.length === 0) return false;
      const read = await readWaiting(db, ids);
      if (partition.lost) return false;
      // From here to the claim nothing is awaited, so that no other part takes them meanwhile. Messages that
      // left memory while the two queries ran may have been recorded since.
      const departed = new Set(watch.departed);
      queue.drop(ids);
      const messages = read.filter(({ id }) => !queue.has(id) && !departed.has(id));
      const entries = queue.claim(partition, messages);
      for (const ofChannel of byChannel(messages)) await recordExpired(partition, ofChannel);
      letGo(entries);
      return ids.length === LIMITS.expireWaitingRows && messages.length > 0;
    } finally {
      watch.end();
    }
  }
}

/** Groups that a former owner of the partition left open are settled by themselves (deliver/recover.ts). */
async function overdueIds(db: Kysely<MessagingTables>, partition: Partition): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select m.id from due_groups g ${WAITING_IN_GROUPS}
    where g.lane = ${partition.id} and g.expires_at < now() and m.expires_at < now()
      and not exists (
        select 1 from handover_batches b where b.lane = m.lane and m.id = any(b.message_ids)
      )
    order by m.expires_at limit ${LIMITS.expireWaitingRows}
  `.execute(db);
  return rows.map(({ id }) => id);
}

function byChannel(messages: readonly OutgoingMessage[]): OutgoingMessage[][] {
  const channels = new Map<string, OutgoingMessage[]>();
  for (const message of messages) {
    const group = channels.get(message.channel);
    if (group) group.push(message);
    else channels.set(message.channel, [message]);
  }
  return [...channels.values()];
}
