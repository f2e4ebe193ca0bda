import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import type { MessagingTables } from '../tables';
import { asExpired } from './deliver/opener';
import type { Recorder } from './deliver/recorder';
import type { Lane, Lanes } from './lanes';
import type { OutgoingMessage } from './outgoing';
import { readWaiting } from './queue/due-messages';
import type { OutboxQueue } from './queue/outbox-queue';

interface Deps {
  db: Kysely<MessagingTables>;
  queue: OutboxQueue;
  lanes: Pick<Lanes, 'all'>;
  recorderOf(channel: OutgoingMessage['channel']): Pick<Recorder, 'record'>;
  log: Log;
}

/**
 * Ends due messages whose time is over while nothing takes them to the carrier: their account is refused, their tag
 * is held, or too much stands before them. Those in a batch are left alone, because they may be with the carrier.
 * Killed before the record, the messages are in the table as before.
 */
export function keepExpiringWaiting(deps: Deps): { start(): void; stop(): void } {
  const { lanes, log } = deps;
  let timer: NodeJS.Timeout | undefined;
  let running = false;

  async function sweep(): Promise<void> {
    for (const lane of [...lanes.all()]) {
      for (let more = true; more && running && !lane.lost; ) more = await expireSome(deps, lane);
    }
  }

  function schedule(): void {
    timer = setTimeout(() => {
      sweep()
        .catch((error: unknown) => log.warn({ err: error }, 'Messages whose time is over could not be read'))
        .finally(() => running && schedule());
    }, LIMITS.expireWaitingMs);
    timer.unref();
  }

  return {
    start() {
      running = true;
      schedule();
    },
    stop() {
      running = false;
      clearTimeout(timer);
    },
  };
}

/** Answers whether there may be more. */
async function expireSome(deps: Deps, lane: Lane): Promise<boolean> {
  const { db, queue, recorderOf } = deps;
  const watch = queue.watch();
  try {
    const ids = await overdueIds(db, lane);
    if (ids.length === 0) return false;
    const read = await readWaiting(db, ids);
    if (lane.lost) return false;
    // From here to the claim nothing is waited for, so that no other part takes them meanwhile. What left the hand
    // while the two queries ran may have been recorded since.
    const messages = read.filter(({ id }) => !queue.taken(id) && !watch.departed.has(id));
    const entries = queue.claim(lane, messages);
    for (const [channel, ofChannel] of byChannel(messages)) {
      await recorderOf(channel).record(ofChannel.map(asExpired), { lane });
    }
    queue.letGo(entries);
    return ids.length === LIMITS.expireWaitingRows && messages.length > 0;
  } finally {
    watch.end();
  }
}

/** Batches that a former owner of the lane left open are settled by themselves (in-doubt.ts). */
async function overdueIds(db: Kysely<MessagingTables>, lane: Lane): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select m.id from messages m
    where m.lane = ${lane.id} and m.expires_at is not null and m.expires_at < now() and m.due_at is not null and m.due_at <= now()
      and not exists (
        select 1 from handover_batches b where b.lane = m.lane and m.id = any(b.message_ids)
      )
    order by m.expires_at limit ${LIMITS.expireWaitingRows}
  `.execute(db);
  return rows.map(({ id }) => id);
}

function byChannel(messages: readonly OutgoingMessage[]) {
  const channels = new Map<OutgoingMessage['channel'], OutgoingMessage[]>();
  for (const message of messages) {
    const ofChannel = channels.get(message.channel);
    if (ofChannel) ofChannel.push(message);
    else channels.set(message.channel, [message]);
  }
  return channels;
}
