import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import type { MessagingTables } from '../tables';
import type { DispatchMemory } from './dispatch-memory';
import { readWaiting } from './due-messages';
import type { HandOvers } from './handover';
import type { Lane, Lanes } from './lanes';
import type { OutgoingMessage } from './outgoing';
import type { Verdict } from './verdict';

interface Deps {
  db: Kysely<MessagingTables>;
  memory: DispatchMemory;
  lanes: Lanes;
  handOvers: Pick<HandOvers, 'record'>;
  log: Log;
  providerOf(channel: OutgoingMessage['channel']): string;
  /** They are recorded: they leave memory. */
  letGo(lane: Lane, messages: readonly OutgoingMessage[]): void;
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
  const { db, memory, handOvers, letGo } = deps;
  const watch = memory.watch();
  try {
    const ids = await overdueIds(db, lane);
    if (ids.length === 0) return false;
    const read = await readWaiting(db, ids);
    if (lane.lost) return false;
    // From here to the claim nothing is waited for, so that no other part takes them meanwhile. What left the hand
    // while the two queries ran may have been recorded since.
    const departed = new Set(watch.departed);
    memory.drop(ids);
    const inHand = new Set(memory.idsInHand());
    const messages = read.filter(({ id }) => !inHand.has(id) && !departed.has(id));
    memory.claim(messages);
    for (const group of groups(messages)) {
      const provider = deps.providerOf((group[0] as OutgoingMessage).channel);
      await handOvers.record(group.map(asExpired), { lane, provider });
    }
    letGo(lane, messages);
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

/** One record is about messages of one workspace, handed over by one provider. */
function groups(messages: readonly OutgoingMessage[]): OutgoingMessage[][] {
  const byKey = new Map<string, OutgoingMessage[]>();
  for (const message of messages) {
    const key = `${message.workspaceId}/${message.channel}`;
    const group = byKey.get(key);
    if (group) group.push(message);
    else byKey.set(key, [message]);
  }
  return [...byKey.values()];
}

export const asExpired = (message: OutgoingMessage): Verdict => ({
  message,
  state: 'expired',
  attempt: message.attempt,
  code: 'expired',
});
