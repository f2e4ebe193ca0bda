import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { LIMITS } from '../../domain/limits';
import { type LibrarySession, newPdu, openLibrarySession, type Pdu } from './library';
import type { SmppEndpoint } from './settings';
import { ACCEPTED, UNKNOWN_COMMAND } from './statuses';

export interface SessionTimes {
  /** For the answer to one PDU, and for a connection to stand. */
  answerMs: number;
  /** After so long a silence, an enquire_link asks whether the other end still answers. */
  enquireMs: number;
}

export interface SessionEvents {
  /** deliver_sm and data_sm; to be answered with `respond`. */
  onDelivery(pdu: Pdu, session: SmppSession): void;
  /** Once, whatever the reason. */
  onClosed(): void;
}

/** `late`: the answer, should it still come after it was given up. */
export type Answer = { kind: 'answered'; pdu: Pdu } | { kind: 'lost' } | { kind: 'not_offered' };

interface Pending {
  sinceMs: number;
  settle(answer: Answer): void;
  late: ((pdu: Pdu) => void) | undefined;
}

/** Answers that are waited for although given up; a centre that answers so late rarely answers more. */
const LATE_MAX = 1_000;
const UNBIND_MS = 1_000;

export class BindRefused extends Error {
  constructor(readonly status: number) {
    super(`The centre refused to be bound to, status 0x${status.toString(16)}`);
  }
}

/**
 * One bound connection to an SMS centre, from its bind to its end; bind.ts makes the next. A PDU that was
 * written and not answered in time, or before the connection ended, is `lost`: the centre may have it. One
 * that was not written is `not_offered`.
 */
export class SmppSession {
  private readonly pending = new Map<number, Pending>();
  private readonly late = new Map<number, (pdu: Pdu) => void>();
  private readonly timer: NodeJS.Timeout;
  private readonly socket: Socket;
  private heardMs = Date.now();
  private enquiring = false;
  /** When the first of the last submit_sm was given up without an answer, and how many they are. */
  private unanswered: { sinceMs: number; count: number } | undefined;
  /** The centre's wish to end the session. */
  private farewell: Pdu | undefined;
  private ended = false;

  private constructor(
    private readonly library: LibrarySession,
    private readonly times: SessionTimes,
    private readonly events: SessionEvents,
  ) {
    this.socket = library.socket;
    library.on('pdu', (pdu: Pdu) => this.heard(pdu));
    // A connection that breaks, or says what is no PDU, has nothing more to say.
    library.on('error', () => this.end());
    library.on('close', () => this.end());
    const lookMs = Math.max(10, Math.min(1_000, times.answerMs / 10, times.enquireMs / 4));
    this.timer = setInterval(() => this.look(), lookMs);
    this.timer.unref();
  }

  /** Connects and binds, both ways on one connection. Throws `BindRefused`, or what the connection failed of. */
  static async open(
    endpoint: SmppEndpoint,
    times: SessionTimes,
    events: SessionEvents,
    signal: AbortSignal,
  ): Promise<SmppSession> {
    const socket = await connectTo(endpoint, times.answerMs, signal);
    const session = new SmppSession(openLibrarySession(socket), times, events);
    const giveUp = () => session.end();
    signal.addEventListener('abort', giveUp);
    const answer = await session.request(
      newPdu('bind_transceiver', {
        system_id: endpoint.systemId,
        password: endpoint.password,
        system_type: endpoint.systemType,
        interface_version: 0x34,
      }),
    );
    signal.removeEventListener('abort', giveUp);
    if (answer.kind === 'answered' && answer.pdu.command_status === ACCEPTED) return session;
    session.end();
    if (answer.kind === 'answered') throw new BindRefused(answer.pdu.command_status);
    throw new Error('The centre did not answer the bind');
  }

  get isOpen(): boolean {
    return !this.ended;
  }

  /** Whether it may be asked for more. */
  get takesRequests(): boolean {
    return !this.ended && !this.farewell;
  }

  /** When the other end last wrote something. */
  get lastHeardMs(): number {
    return this.heardMs;
  }

  /** Never rejects. */
  request(pdu: Pdu, late?: (pdu: Pdu) => void): Promise<Answer> {
    return new Promise((settle) => {
      if (!this.takesRequests) return settle({ kind: 'not_offered' });
      this.gather();
      if (!this.library.send(pdu)) return settle({ kind: 'not_offered' });
      this.pending.set(pdu.sequence_number, { sinceMs: Date.now(), settle, late });
    });
  }

  respond(pdu: Pdu, status: number): void {
    if (!this.ended) this.library.send(pdu.response({ command_status: status }));
  }

  /** Sends an unbind, and closes also without an answer. */
  async unbind(): Promise<void> {
    const giveUp = setTimeout(() => this.end(), UNBIND_MS);
    await this.request(newPdu('unbind'));
    clearTimeout(giveUp);
    this.end();
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    clearInterval(this.timer);
    this.socket.destroy();
    const open = [...this.pending.values()];
    this.pending.clear();
    this.late.clear();
    for (const { settle } of open) settle({ kind: 'lost' });
    this.events.onClosed();
  }

  /** PDUs written in one turn leave together, because a system call costs more than a PDU. */
  private gather(): void {
    if (this.socket.writableCorked > 0) return;
    this.socket.cork();
    process.nextTick(() => this.socket.uncork());
  }

  private heard(pdu: Pdu): void {
    this.heardMs = Date.now();
    if (pdu.isResponse()) this.answered(pdu);
    else this.asked(pdu);
  }

  private asked(pdu: Pdu): void {
    switch (pdu.command) {
      case 'deliver_sm':
      case 'data_sm':
        this.events.onDelivery(pdu, this);
        break;
      case 'enquire_link':
        this.respond(pdu, ACCEPTED);
        break;
      case 'unbind':
        this.farewell = pdu;
        this.leaveWhenAnswered();
        break;
      case 'alert_notification':
        break;
      default: {
        const { sequence_number } = pdu;
        this.library.send(newPdu('generic_nack', { command_status: UNKNOWN_COMMAND, sequence_number }));
      }
    }
  }

  /** A centre that ends the session may still answer what it was given, and hangs up when its wish is answered. */
  private leaveWhenAnswered(): void {
    if (!this.farewell || this.pending.size > 0 || this.socket.writableEnded) return;
    this.respond(this.farewell, ACCEPTED);
    // Once the answer is written, which with TLS is not at once.
    this.socket.destroySoon();
  }

  private answered(pdu: Pdu): void {
    const pending = this.pending.get(pdu.sequence_number);
    // Only a submit_sm has an answer that may be late; one to an enquire_link does not show that messages are taken.
    if (pending?.late || this.late.has(pdu.sequence_number)) this.unanswered = undefined;
    if (pending) {
      this.pending.delete(pdu.sequence_number);
      pending.settle({ kind: 'answered', pdu });
      this.leaveWhenAnswered();
      return;
    }
    this.late.get(pdu.sequence_number)?.(pdu);
    this.late.delete(pdu.sequence_number);
  }

  private look(): void {
    const now = Date.now();
    // In order of being written, so that the first that is in time ends the search.
    for (const [number, { sinceMs, settle, late }] of this.pending) {
      if (now - sinceMs < this.times.answerMs) break;
      this.pending.delete(number);
      if (late && this.late.size < LATE_MAX) this.late.set(number, late);
      settle({ kind: 'lost' });
      if (!late) continue;
      this.unanswered ??= { sinceMs: now, count: 0 };
      this.unanswered.count += 1;
      // Those that were under way together may only be late, and then their answers come before the next is given up.
      if (this.unanswered.count >= LIMITS.smppUnanswered && sinceMs >= this.unanswered.sinceMs) {
        this.end();
        return;
      }
    }
    this.leaveWhenAnswered();
    if (!this.enquiring && now - this.heardMs >= this.times.enquireMs) void this.enquire();
  }

  private async enquire(): Promise<void> {
    this.enquiring = true;
    const answer = await this.request(newPdu('enquire_link'));
    this.enquiring = false;
    // Any PDU in the meantime shows that the peer is alive.
    if (answer.kind !== 'answered' && Date.now() - this.heardMs >= this.times.answerMs) this.end();
  }
}

/** An address is no name that could be asked for (RFC 6066); the certificate must have it all the same. */
const nameOf = (host: string) => (isIP(host) ? {} : { servername: host });

function connectTo(endpoint: SmppEndpoint, withinMs: number, signal: AbortSignal): Promise<Socket> {
  const { host, port, tls, ca } = endpoint;
  return new Promise((done, fail) => {
    const socket = tls ? connectTls({ host, port, ca, ...nameOf(host) }) : connectPlain({ host, port });
    const refuse = (error: Error): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
      socket.destroy();
      fail(error);
    };
    const aborted = () => refuse(new Error('The provider is closed'));
    const timer = setTimeout(() => refuse(new Error('The connection did not come to stand')), withinMs);
    socket.once('error', refuse);
    signal.addEventListener('abort', aborted);
    if (signal.aborted) return aborted();
    socket.once(tls ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
      socket.removeListener('error', refuse);
      socket.setNoDelay(true);
      socket.setKeepAlive(true);
      done(socket);
    });
  });
}
