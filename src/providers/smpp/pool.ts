import type { Bind, Refusal } from './bind';
import type { SmppSession } from './session';
import type { Window } from './window';

/** Leave to write one PDU; its window has room again when it is given back. */
export interface Slot {
  session: SmppSession;
  window: Window;
}

export type NoSlot =
  | ({ kind: 'account' } & Refusal)
  | { kind: 'busy' }
  | { kind: 'closed' }
  | { kind: 'unbound'; retryAfterMs: number };

/** The windows of all binds as one: a request waits in line until one of them has room. */
export interface Pool {
  take(untilMs: number): Promise<Slot | NoSlot>;
  giveBack(slot: Slot): void;
  /** Room may have come, or hope gone. */
  look(): void;
  close(): void;
}

interface Waiting {
  untilMs: number;
  settle(slot: Slot | NoSlot): void;
}

const RETRY_MIN_MS = 1_000;

export function createPool(binds: readonly Bind[]): Pool {
  const line: Waiting[] = [];
  let head = 0;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function pump(): void {
    while (head < line.length) {
      const waiting = line[head] as Waiting;
      const slot = freeSlot(binds) ?? (closed ? CLOSED : hopeless(binds, waiting));
      if (!slot) break;
      head += 1;
      waiting.settle(slot);
    }
    if (head === line.length) {
      line.length = 0;
      head = 0;
    } else if (head > 1_000) {
      line.splice(0, head);
      head = 0;
    }
    wait();
  }

  /** The line is in the order of coming, and nearly so in the order of patience. */
  function wait(): void {
    const first = line[head];
    if (timer || !first) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        pump();
      },
      Math.max(1, first.untilMs - Date.now() + 1),
    );
  }

  return {
    take(untilMs) {
      const slot = head === line.length && !closed ? freeSlot(binds) : undefined;
      if (slot) return Promise.resolve(slot);
      return new Promise((settle) => {
        line.push({ untilMs, settle });
        if (head === line.length - 1) pump();
      });
    },
    giveBack(slot) {
      slot.window.leave();
      if (head < line.length) pump();
    },
    look: pump,
    close() {
      closed = true;
      pump();
      clearTimeout(timer);
    },
  };
}

const CLOSED: NoSlot = { kind: 'closed' };

/** A place in the window of the bind that has most room. */
function freeSlot(binds: readonly Bind[]): Slot | undefined {
  let best: Bind | undefined;
  for (const bind of binds) {
    if (bind.session?.takesRequests && bind.window.room > 0 && bind.window.room > (best?.window.room ?? 0))
      best = bind;
  }
  if (!best?.session) return undefined;
  best.window.enter();
  return { session: best.session, window: best.window };
}

/** Why this one need not wait any longer; waiting does not help an account that no bind is let in with. */
function hopeless(binds: readonly Bind[], waiting: Waiting): NoSlot | undefined {
  const bound = binds.some((bind) => bind.session?.takesRequests);
  const refused = binds[0]?.refused;
  if (!bound && refused !== undefined && binds.every((bind) => bind.refused !== undefined)) {
    return { kind: 'account', ...refused };
  }
  if (waiting.untilMs > Date.now()) return undefined;
  if (bound) return { kind: 'busy' };
  const retryMs = Math.min(...binds.map((bind) => bind.nextTryMs)) - Date.now();
  return { kind: 'unbound', retryAfterMs: Math.max(RETRY_MIN_MS, retryMs) };
}
