import type { SmtpRelayAddress } from '../../domain/smtp-relays';
import {
  type Envelope,
  openSmtpSession,
  type SendOutcome,
  type SessionOptions,
  type SmtpSession,
  type SmtpTimeouts,
  SmtpUnreachable,
} from './smtp-session';

/** One relay and the connections to it: at most so many, kept as long as mail keeps coming. */
export interface SmtpRelay {
  readonly address: SmtpRelayAddress;
  /** Messages with it or waiting for a connection. */
  readonly load: number;
  /** What keeps it from being used, while that is not long ago. */
  readonly trouble: SmtpUnreachable | undefined;
  deliver(mail: RelayedMail): Promise<RelayOutcome>;
  /** Releases messages that wait for a connection, and each connection once its message is settled. */
  drain(): void;
  /** Leaves messages under way in doubt, or not offered: their own outcome says which. */
  close(): void;
}

export interface RelayedMail {
  envelope: Envelope;
  mime: Buffer;
  /** No later than this is it begun. */
  deadlineMs: number;
  /** Asked when its turn has come, and before each time it is begun: something may have been learned meanwhile. */
  isVetoed(): boolean;
  /** Called with the outcome before the next message has its turn. */
  learn(outcome: RelayOutcome): void;
}

export type RelayOutcome =
  | SendOutcome
  /** There is no connection to be had: another relay may be asked. */
  | { kind: 'unreachable'; reason: SmtpUnreachable }
  /** No connection was free in time, or it was vetoed. */
  | { kind: 'not_begun' };

/** Longer than between two batches of a campaign, shorter than relays keep silent connections. */
const IDLE_MS = 5_000;
/** No connection is tried for so long after one failed: first, and while it goes on. */
const TROUBLE_FIRST_MS = 500;
const TROUBLE_MAX_MS = 30_000;

/** A relay closes what was silent for long, and that may show at the next message only. */
function wasHungUp(outcome: SendOutcome): boolean {
  if (outcome.kind === 'refused') return outcome.reply.code === 421 && outcome.stage === 'mail';
  return outcome.kind === 'not_offered';
}

export function createSmtpRelay({
  address,
  connections,
  ...session
}: {
  address: SmtpRelayAddress;
  connections: number;
  heloName: string | undefined;
  timeouts: SmtpTimeouts;
  ca?: Buffer | undefined;
}): SmtpRelay {
  const options: SessionOptions = { relay: address, ...session };
  const idle: SmtpSession[] = [];
  const inUse = new Set<SmtpSession>();
  /** How to admit each that waits, and how to send it away. */
  const waiting = new Map<() => void, () => void>();
  let load = 0;
  let free = connections;
  let closed = false;
  let trouble: SmtpUnreachable | undefined;
  let troubleMs = 0;
  let troubleUntilMs = 0;
  let idleTimer: NodeJS.Timeout | undefined;

  async function sendOn({ envelope, mime, deadlineMs, isVetoed }: RelayedMail): Promise<RelayOutcome> {
    for (;;) {
      if (isVetoed()) return { kind: 'not_begun' };
      const kept = idle.pop();
      if (kept && !kept.usable) continue;
      if (!kept && isTroubled()) return { kind: 'unreachable', reason: trouble as SmtpUnreachable };
      const current = kept ?? (await open());
      if (current instanceof SmtpUnreachable) return { kind: 'unreachable', reason: current };
      // A connection takes seconds to be made, where a relay is slow.
      if (!kept && isVetoed()) {
        keep(current);
        return { kind: 'not_begun' };
      }
      inUse.add(current);
      const outcome = await current.send(envelope, mime);
      inUse.delete(current);
      keep(current);
      if (kept && wasHungUp(outcome) && !closed && Date.now() < deadlineMs) continue;
      return outcome;
    }
  }

  async function open(): Promise<SmtpSession | SmtpUnreachable> {
    try {
      const opened = await openSmtpSession(options);
      trouble = undefined;
      troubleMs = 0;
      if (!closed) return opened;
      opened.close();
      return new SmtpUnreachable('closed', undefined, false, undefined);
    } catch (error) {
      if (!(error instanceof SmtpUnreachable)) throw error;
      trouble = error;
      // Connections that fail together are one failure.
      if (!isTroubled()) {
        troubleMs = Math.min(troubleMs * 2 || TROUBLE_FIRST_MS, TROUBLE_MAX_MS);
        troubleUntilMs = Date.now() + troubleMs;
      }
      return error;
    }
  }

  const isTroubled = () => trouble !== undefined && Date.now() < troubleUntilMs;

  function keep(current: SmtpSession): void {
    if (closed || !current.usable) {
      current.close();
      return;
    }
    idle.push(current);
    clearTimeout(idleTimer);
    idleTimer = setTimeout(closeIdle, IDLE_MS);
    idleTimer.unref();
  }

  function closeIdle(): void {
    for (const one of idle.splice(0)) one.close();
  }

  function placeBy(deadlineMs: number): Promise<boolean> {
    if (closed) return Promise.resolve(false);
    if (free > 0) {
      free -= 1;
      return Promise.resolve(true);
    }
    return new Promise((done) => {
      const settle = (admitted: boolean) => {
        clearTimeout(timer);
        waiting.delete(admit);
        done(admitted);
      };
      const admit = () => settle(true);
      const timer = setTimeout(() => settle(false), Math.max(0, deadlineMs - Date.now()));
      waiting.set(admit, () => settle(false));
    });
  }

  function leave(): void {
    const [next] = waiting.keys();
    if (next) next();
    else free += 1;
  }

  return {
    address,
    get load() {
      return load;
    },
    get trouble() {
      return isTroubled() ? trouble : undefined;
    },
    async deliver(mail) {
      load += 1;
      try {
        if (!(await placeBy(mail.deadlineMs))) return { kind: 'not_begun' };
        try {
          const outcome = await sendOn(mail);
          mail.learn(outcome);
          return outcome;
        } finally {
          leave();
        }
      } finally {
        load -= 1;
      }
    },
    drain() {
      closed = true;
      clearTimeout(idleTimer);
      closeIdle();
      for (const giveUp of [...waiting.values()]) giveUp();
    },
    close() {
      for (const one of inUse) one.abort();
    },
  };
}
