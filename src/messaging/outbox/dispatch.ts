import type { Kysely } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import type { Log } from '../../log';
import type { Provider } from '../../providers/provider';
import { type DeliveryObserver, tellMoves } from '../observer';
import type { SenderLimits } from '../senders/sender-limits';
import type { MessagingTables } from '../tables';
import type { TemplateVersions } from '../templates/template-versions';
import type { AccountState } from './account-breaker';
import { ANY_TIME, createBacklog } from './backlog';
import { createDispatchMemory, type Taken } from './dispatch-memory';
import { keepExpiringWaiting } from './expire-waiting';
import { createHandOvers } from './handover';
import type { Holds } from './holds';
import { settleInDoubt } from './in-doubt';
import type { Lane, Lanes } from './lanes';
import type { ListMail } from './list-mail';
import type { OutboxCount } from './outbox-count';
import type { OutgoingMessage } from './outgoing';
import { createProviderDesk, type ProviderDesk } from './provider-desk';
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
  /** A message is in the table, due then, or at ANY_TIME (backlog.ts). */
  expect(lane: Lane, channel: Channel, dueMs: number): void;
  /** Something may have become sendable that was not: look in the table. */
  lookAgain(): void;
  /** Senders may have gained or lost a limit, or may send on sooner than they were told. */
  limitsChanged(channel: Channel): void;
  openLane(lane: Lane): void;
  adoptLane(lane: Lane): void;
  closeLane(lane: Lane): void;
  /** This process canceled the message; `cancels` is the lane's count since then. */
  canceled(lane: string, id: string, cancels: number): void;
  /** How each channel's account at its carrier stands. */
  accounts(): AccountState[];
  start(): void;
  /** Opens no more batches and waits for those under way, but not for ever. */
  stop(withinMs: number): Promise<void>;
}

interface Deps {
  db: Kysely<MessagingTables>;
  templates: TemplateVersions;
  listMail?: ListMail | undefined;
  providers: Record<Channel, Provider>;
  lanes: Lanes;
  holds: Holds;
  limits: SenderLimits;
  outbox: OutboxCount;
  observer?: DeliveryObserver | undefined;
  log: Log;
  onEvents(workspaceId: string): void;
  /** These are recorded as handed over; receipts that came too early can be taken up. */
  onHandedOver(provider: string, verdicts: readonly Verdict[]): Promise<void>;
}

/** Longest sleep of the loop's one timer; clocks may be set meanwhile. */
const SLEEP_MAX_MS = 30_000;
const TROUBLE_PAUSE_MS = 500;

export function createDispatcher(deps: Deps): Dispatcher {
  const { db, lanes, holds, limits, outbox, log, onEvents, onHandedOver } = deps;
  const memory = createDispatchMemory(limits.keyOf);
  const desks = CHANNELS.map((channel) =>
    createProviderDesk(channel, deps.providers[channel], log, deps.observer),
  );
  const deskOf = (channel: Channel) => desks.find((desk) => desk.channel === channel) as ProviderDesk;
  const onError = (error: unknown) => log.warn({ err: error }, 'The outbox could not be read; trying again');
  const backlog = createBacklog({ db, memory, holds, limits, onRead: wake, onError });
  const handOvers = createHandOvers({
    ...deps,
    onRecorded,
    onNotOurs: (lane) => backlog.expectAll([lane]),
    onCanceled: (ids) => memory.drop(ids),
    waitingIn: (lane) => memory.idsWaiting(lane),
    async onThrottled(message, delayMs) {
      await limits.throttled(message, delayMs).catch((error: unknown) => {
        log.warn({ err: error }, 'Other processes do not know that a provider asked for silence');
      });
    },
  });
  const expiring = keepExpiringWaiting({
    ...{ db, memory, lanes, handOvers, log, letGo },
    providerOf: (channel) => deskOf(channel).provider.name,
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
        const count = memory.ready(desk.channel, now);
        if (count === 0) break;
        const lingerMs = desk.lingerMs(count);
        if (lingerMs > 0) {
          nextAtMs = Math.min(nextAtMs, now + lingerMs);
          break;
        }
        const taken = memory.take(desk.channel, desk.batchSize, now);
        if (!taken) break;
        track(sendBatch(desk, taken));
      }
    }
    const isOpen = (channel: Channel) => deskOf(channel).pausedUntilMs <= now;
    backlog.read(isOpen);
    nextAtMs = Math.min(nextAtMs, backlog.nextAtMs(isOpen), memory.nextResumeMs(now));
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

  async function sendBatch(desk: ProviderDesk, taken: Taken): Promise<void> {
    const { lane, sender } = taken;
    desk.enter();
    const { messages, charged } =
      sender === undefined ? { messages: taken.messages, charged: [] } : await admit(sender, taken);
    const unsent = await handOvers.send(desk, lane, messages).catch((error: unknown) => {
      // Not foreseen, so it is not known how far they got: they stay in hand, and are not sent again.
      log.error({ err: error, count: messages.length }, 'A hand-over failed in an unforeseen way');
    });
    desk.leave();
    if (!unsent) return;
    const { rest, hindered, held, handedOver } = unsent;
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
    if (charged.length > 0 && handedOver.length < messages.length) {
      const left = new Set(handedOver);
      await giveBack(charged.filter((message) => !left.has(message)));
    }
  }

  /** As many of a restrained sender's messages as may leave now; the others go back and wait for their turn. */
  async function admit(sender: string, { lane, messages }: Taken) {
    // What will not leave anyway costs nothing.
    const now = Date.now();
    const chargeable = messages.filter(
      ({ workspaceId, campaign, expiresAtMs }) =>
        !holds.isHeld(workspaceId, campaign) && (expiresAtMs ?? now) >= now,
    );
    const turn = await limits.take(chargeable).catch((error: unknown) => {
      log.warn({ err: error }, 'The limit of a sender could not be asked; trying again');
      return { granted: 0, waitMs: TROUBLE_PAUSE_MS };
    });
    const waiting = new Set(chargeable.slice(turn.granted));
    if (lane.lost) letGo(lane, [...waiting]);
    else memory.putBack(lane, [...waiting]);
    memory.resume(sender, waiting.size === 0 ? 0 : Date.now() + turn.waitMs);
    wake();
    return {
      messages: messages.filter((message) => !waiting.has(message)),
      charged: chargeable.slice(0, turn.granted),
    };
  }

  /** A sender that gets nothing back is slower for a moment, and nothing worse. */
  async function giveBack(messages: readonly OutgoingMessage[]): Promise<void> {
    await limits.giveBack(messages).catch((error: unknown) => {
      log.warn({ err: error }, 'What a sender may hand over could not be given back');
    });
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
    tellMoves(deps.observer, verdicts, ({ message }) => message.channel);
    const workspaceId = verdicts[0]?.message.workspaceId ?? '';
    const settled = { marketing: 0, transactional: 0 };
    for (const { message, retryAtMs: atMs, keepsPlace } of verdicts) {
      if (atMs === undefined) settled[message.class] += 1;
      else retryAtMs.set(message.id, keepsPlace ? ANY_TIME : atMs);
    }
    for (const kind of ['marketing', 'transactional'] as const) {
      if (settled[kind] > 0) outbox.change(workspaceId, kind, -settled[kind]);
    }
    if (settled.marketing + settled.transactional > 0) onEvents(workspaceId);
    const notCalled = verdicts.filter(({ message, state }) => message.channel === 'voice' && !mayRing(state));
    await callsEnded(workspaceId, notCalled);
    const sent = verdicts.filter((verdict) => verdict.state === 'sent');
    const channel = sent[0]?.message.channel;
    if (!channel) return;
    await onHandedOver(deskOf(channel).provider.name, sent).catch((error: unknown) => {
      log.warn({ err: error }, 'Early receipts could not be read; the next round takes them up');
    });
  }

  async function callsEnded(workspaceId: string, verdicts: readonly Verdict[]): Promise<void> {
    const ids = verdicts.map(({ message }) => message.id);
    await limits.callsEnded(workspaceId, ids).catch((error: unknown) => {
      log.warn({ err: error }, 'Calls that were not placed still count among their senders');
    });
  }

  return {
    offer(lane, messages) {
      backlog.offer(lane, messages);
      wake();
    },
    expect(lane, channel, dueMs) {
      backlog.expect(lane, channel, dueMs);
      wake();
    },
    lookAgain() {
      backlog.expectAll(lanes.all());
      wake();
    },
    limitsChanged(channel) {
      memory.resumeAll(channel);
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
          { db, memory, letGo, holds, limits, desks, handOvers, log, isRunning: () => running },
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
    accounts: () => desks.map((desk) => desk.account),
    start() {
      running = true;
      expiring.start();
      wake();
    },
    async stop(withinMs) {
      running = false;
      expiring.stop();
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

/** An unknown call may be under way; its place is free when a receipt says so, or its time is over. */
const mayRing = (state: Verdict['state']) => state === 'sent' || state === 'unknown';
