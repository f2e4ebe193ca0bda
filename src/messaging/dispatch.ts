import type { Kysely } from 'kysely';
import { CHANNELS, type Channel } from '../domain/channel';
import type { Log } from '../log';
import type { Provider } from '../providers/provider';
import { createBacklog } from './backlog';
import { createDispatchMemory } from './dispatch-memory';
import { createHandOvers } from './handover';
import type { Holds } from './holds';
import { settleInDoubt } from './in-doubt';
import type { Lane, Lanes } from './lanes';
import type { OutboxCount } from './outbox-count';
import type { OutgoingMessage } from './outgoing';
import { createProviderDesk, type ProviderDesk } from './provider-desk';
import type { MessagingTables } from './tables';
import type { TemplateVersions } from './template-versions';
import type { Verdict } from './verdict';

/**
 * Accepted messages on their way to the providers. A message that is due is in exactly one place:
 *
 *   memory   in a queue of this process (dispatch-memory.ts)
 *   batch    named by an open hand-over batch, of this process or of one that is gone (handover.ts)
 *   table    anywhere else: later, held, retried, or too many at once (backlog.ts)
 */
export interface Dispatcher {
  /** These are in the table and due. */
  offer(lane: Lane, messages: readonly OutgoingMessage[]): void;
  expect(lane: Lane, channel: Channel, atMs: number): void;
  /** Something may have become sendable that was not: look in the table. */
  lookAgain(): void;
  openLane(lane: Lane): void;
  adoptLane(lane: Lane): void;
  closeLane(lane: Lane): void;
  /** This process canceled the message; `cancels` is the lane's count since then. */
  canceled(lane: string, id: string, cancels: number): void;
  start(): void;
  /** Opens no more batches and waits for those under way, but not for ever. */
  stop(withinMs: number): Promise<void>;
}

interface Deps {
  db: Kysely<MessagingTables>;
  templates: TemplateVersions;
  providers: Record<Channel, Provider>;
  lanes: Lanes;
  holds: Holds;
  outbox: OutboxCount;
  log: Log;
  onEvents(workspaceId: string): void;
  /** These are recorded as handed over; receipts that came too early can be taken up. */
  onHandedOver(provider: string, verdicts: readonly Verdict[]): Promise<void>;
}

/** Longest sleep of the loop's one timer; clocks may be set meanwhile. */
const SLEEP_MAX_MS = 30_000;
const TROUBLE_PAUSE_MS = 500;

export function createDispatcher(deps: Deps): Dispatcher {
  const { db, lanes, holds, outbox, log, onEvents, onHandedOver } = deps;
  const memory = createDispatchMemory();
  const desks = CHANNELS.map((channel) => createProviderDesk(channel, deps.providers[channel], log));
  const deskOf = (channel: Channel) => desks.find((desk) => desk.channel === channel) as ProviderDesk;
  const onError = (error: unknown) => log.warn({ err: error }, 'The outbox could not be read; trying again');
  const backlog = createBacklog({ db, memory, holds, onRead: wake, onError });
  const handOvers = createHandOvers({
    ...deps,
    onRecorded,
    onNotOurs: (lane) => backlog.expectAll([lane]),
    onCanceled: (ids) => memory.drop(ids),
    waitingIn: (lane) => memory.idsWaiting(lane),
  });
  const underWay = new Set<Promise<void>>();
  /** When messages that are still in hand are to be tried again. */
  const retryAtMs = new Map<string, number>();
  let running = false;
  let woken = false;
  let timer: NodeJS.Timeout | undefined;

  /** However much happens in one turn of the event loop, the queues are looked at once. */
  function wake(): void {
    if (woken || !running) return;
    woken = true;
    setImmediate(() => {
      woken = false;
      if (running) pump();
    });
  }

  function pump(): void {
    const now = Date.now();
    let nextAtMs = now + SLEEP_MAX_MS;
    for (const desk of desks) {
      if (desk.pausedUntilMs > now) {
        nextAtMs = Math.min(nextAtMs, desk.pausedUntilMs);
        continue;
      }
      while (desk.hasRoom()) {
        const { count } = memory.queued(desk.channel);
        if (count === 0) break;
        const lingerMs = desk.lingerMs(count);
        if (lingerMs > 0) {
          nextAtMs = Math.min(nextAtMs, now + lingerMs);
          break;
        }
        const taken = memory.take(desk.channel, desk.batchSize);
        if (!taken) break;
        track(sendBatch(desk, taken.lane, taken.messages));
      }
    }
    backlog.read((channel) => deskOf(channel).pausedUntilMs <= now);
    nextAtMs = Math.min(nextAtMs, backlog.nextAtMs());
    clearTimeout(timer);
    timer = setTimeout(wake, Math.max(1, nextAtMs - now));
    timer.unref();
  }

  function track(work: Promise<void>): void {
    underWay.add(work);
    void work.finally(() => {
      underWay.delete(work);
      wake();
    });
  }

  async function sendBatch(desk: ProviderDesk, lane: Lane, messages: OutgoingMessage[]): Promise<void> {
    desk.enter();
    const unsent = await handOvers.send(desk, lane, messages).catch((error: unknown) => {
      // Not foreseen, so it is not known how far they got: they stay in hand, and are not sent again.
      log.error({ err: error, count: messages.length }, 'A hand-over failed in an unforeseen way');
    });
    desk.leave();
    if (!unsent) return;
    const { rest, hindered, held } = unsent;
    const returned = new Set(lane.lost ? [] : [...rest, ...hindered]);
    letGo(
      lane,
      messages.filter((message) => !returned.has(message)),
    );
    memory.putBack(
      lane,
      messages.filter((message) => returned.has(message)),
    );
    if (hindered.length > 0) {
      desk.pausedUntilMs = Math.max(desk.pausedUntilMs, Date.now() + TROUBLE_PAUSE_MS);
    }
    // Released while they were still in hand: whoever looked in the table then passed them over.
    if (held.some(({ workspaceId, campaign }) => !holds.isHeld(workspaceId, campaign))) {
      backlog.expectAll([lane]);
    }
  }

  /**
   * From here on the table alone knows these. Those that are to be tried again are expected only now:
   * whoever looked in the table while they were in hand passed them over, due or not.
   */
  function letGo(lane: Lane, messages: readonly OutgoingMessage[]): void {
    memory.letGo(messages);
    for (const { id, channel } of messages) {
      const atMs = retryAtMs.get(id);
      if (atMs === undefined) continue;
      retryAtMs.delete(id);
      backlog.expect(lane, channel, atMs);
    }
  }

  async function onRecorded(verdicts: readonly Verdict[]): Promise<void> {
    const workspaceId = verdicts[0]?.message.workspaceId ?? '';
    let settled = 0;
    for (const { message, retryAtMs: atMs } of verdicts) {
      if (atMs === undefined) settled += 1;
      else retryAtMs.set(message.id, atMs);
    }
    if (settled > 0) {
      outbox.change(workspaceId, -settled);
      onEvents(workspaceId);
    }
    const sent = verdicts.filter((verdict) => verdict.state === 'sent');
    const channel = sent[0]?.message.channel;
    if (!channel) return;
    await onHandedOver(deskOf(channel).provider.name, sent).catch((error: unknown) => {
      log.warn({ err: error }, 'Early receipts could not be read; the next round takes them up');
    });
  }

  return {
    offer(lane, messages) {
      backlog.offer(lane, messages);
      wake();
    },
    expect(lane, channel, atMs) {
      backlog.expect(lane, channel, atMs);
      wake();
    },
    lookAgain() {
      backlog.expectAll(lanes.all());
      wake();
    },
    openLane: (lane) => backlog.openLane(lane, Number.POSITIVE_INFINITY),
    adoptLane(lane) {
      // Nothing is read from the lane before its open batches are in hand.
      const ready = () => {
        if (lane.lost) return;
        backlog.openLane(lane, Date.now());
        wake();
      };
      track(
        settleInDoubt(
          { db, memory, letGo, holds, desks, handOvers, log, isRunning: () => running },
          lane,
          ready,
        ),
      );
    },
    closeLane(lane) {
      backlog.closeLane(lane);
      memory.dropLane(lane);
    },
    canceled(laneId, id, cancels) {
      memory.drop([id]);
      for (const lane of lanes.all()) {
        if (lane.id === laneId && lane.cancels === cancels - 1) lane.cancels = cancels;
      }
    },
    start() {
      running = true;
      wake();
    },
    async stop(withinMs) {
      running = false;
      clearTimeout(timer);
      let giveUp: NodeJS.Timeout | undefined;
      const timeout = new Promise<void>((done) => {
        giveUp = setTimeout(done, withinMs);
      });
      await Promise.race([Promise.allSettled(underWay), timeout]);
      clearTimeout(giveUp);
      handOvers.giveUp();
    },
  };
}
