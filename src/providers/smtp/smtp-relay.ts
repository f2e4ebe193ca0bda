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
  /** The last failure to connect, as long as it is recent; the relay is not used meanwhile. */
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

interface SmtpRelayDeps {
  address: SmtpRelayAddress;
  connections: number;
  heloName: string | undefined;
  timeouts: SmtpTimeouts;
  ca?: Buffer | undefined;
}

export function createSmtpRelay(deps: SmtpRelayDeps): SmtpRelay {
  return new PooledRelay(deps);
}

class PooledRelay implements SmtpRelay {
  private readonly options: SessionOptions;
  private readonly idle: SmtpSession[] = [];
  private readonly inUse = new Set<SmtpSession>();
  /** How to admit each that waits, and how to send it away. */
  private readonly waiting = new Map<() => void, () => void>();
  private loadNow = 0;
  private free: number;
  private closed = false;
  private lastTrouble: SmtpUnreachable | undefined;
  private troubleMs = 0;
  private troubleUntilMs = 0;
  private idleTimer: NodeJS.Timeout | undefined;
  readonly address: SmtpRelay['address'];

  constructor(deps: SmtpRelayDeps) {
    this.options = sessionOptions(deps);
    this.free = deps.connections;
    this.address = deps.address;
  }

  get load(): SmtpRelay['load'] {
    return this.loadNow;
  }

  get trouble(): SmtpRelay['trouble'] {
    return this.isTroubled() ? this.lastTrouble : undefined;
  }

  readonly deliver: SmtpRelay['deliver'] = async (mail) => {
    this.loadNow += 1;
    try {
      if (!(await this.placeBy(mail.deadlineMs))) return { kind: 'not_begun' };
      try {
        const outcome = await this.sendOn(mail);
        mail.learn(outcome);
        return outcome;
      } finally {
        this.leave();
      }
    } finally {
      this.loadNow -= 1;
    }
  };

  readonly drain: SmtpRelay['drain'] = () => {
    this.closed = true;
    clearTimeout(this.idleTimer);
    this.closeIdle();
    for (const giveUp of [...this.waiting.values()]) giveUp();
  };

  readonly close: SmtpRelay['close'] = () => {
    for (const one of this.inUse) one.abort();
  };

  private async sendOn({ envelope, mime, deadlineMs, isVetoed }: RelayedMail): Promise<RelayOutcome> {
    for (;;) {
      if (isVetoed()) return { kind: 'not_begun' };
      const kept = this.idle.pop();
      if (kept && !kept.usable) continue;
      if (!kept && this.isTroubled())
        return { kind: 'unreachable', reason: this.lastTrouble as SmtpUnreachable };
      const current = kept ?? (await this.open());
      if (current instanceof SmtpUnreachable) return { kind: 'unreachable', reason: current };
      // A connection takes seconds to be made, where a relay is slow.
      if (!kept && isVetoed()) {
        this.keep(current);
        return { kind: 'not_begun' };
      }
      this.inUse.add(current);
      const outcome = await current.send(envelope, mime);
      this.inUse.delete(current);
      this.keep(current);
      if (kept && wasHungUp(outcome) && !this.closed && Date.now() < deadlineMs) continue;
      return outcome;
    }
  }

  private async open(): Promise<SmtpSession | SmtpUnreachable> {
    try {
      const opened = await openSmtpSession(this.options);
      this.lastTrouble = undefined;
      this.troubleMs = 0;
      if (!this.closed) return opened;
      opened.close();
      return new SmtpUnreachable('closed', undefined, false, undefined);
    } catch (error) {
      if (!(error instanceof SmtpUnreachable)) throw error;
      this.lastTrouble = error;
      // Connections that fail together are one failure.
      if (!this.isTroubled()) {
        this.troubleMs = Math.min(this.troubleMs * 2 || TROUBLE_FIRST_MS, TROUBLE_MAX_MS);
        this.troubleUntilMs = Date.now() + this.troubleMs;
      }
      return error;
    }
  }

  private readonly isTroubled = () => this.lastTrouble !== undefined && Date.now() < this.troubleUntilMs;

  private keep(current: SmtpSession): void {
    if (this.closed || !current.usable) {
      current.close();
      return;
    }
    this.idle.push(current);
    clearTimeout(this.idleTimer);
    this.idleTimer = setTimeout(this.closeIdle, IDLE_MS);
    this.idleTimer.unref();
  }

  private readonly closeIdle = (): void => {
    for (const one of this.idle.splice(0)) one.close();
  };

  private placeBy(deadlineMs: number): Promise<boolean> {
    if (this.closed) return Promise.resolve(false);
    if (this.free > 0) {
      this.free -= 1;
      return Promise.resolve(true);
    }
    return new Promise((done) => {
      const settle = (admitted: boolean) => {
        clearTimeout(timer);
        this.waiting.delete(admit);
        done(admitted);
      };
      const admit = () => settle(true);
      const timer = setTimeout(() => settle(false), Math.max(0, deadlineMs - Date.now()));
      this.waiting.set(admit, () => settle(false));
    });
  }

  private leave(): void {
    const [next] = this.waiting.keys();
    if (next) next();
    else this.free += 1;
  }
}

const sessionOptions = ({ address, heloName, timeouts, ca }: SmtpRelayDeps): SessionOptions => ({
  ...{ relay: address, heloName, timeouts, ca },
});
