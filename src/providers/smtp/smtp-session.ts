import { Readable } from 'node:stream';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { LIMITS } from '../../domain/limits';
import type { SmtpRelayAddress } from '../../domain/smtp-relays';
import { parseReply, type SmtpReply } from './smtp-reply';

export interface Envelope {
  from: string;
  to: string;
}

/** What became of one message in one session. */
export type SendOutcome =
  | { kind: 'accepted'; reply: string }
  | { kind: 'refused'; reply: SmtpReply; stage: Stage }
  /** The connection ended before all of the message was written: no server takes half of one. */
  | { kind: 'not_offered'; code: string }
  /** All of it was written, and no verdict came. */
  | { kind: 'unknown' };

export type Stage = 'connect' | 'mail' | 'rcpt' | 'data';

export interface SmtpSession {
  /** One at a time. */
  send(envelope: Envelope, mime: Buffer): Promise<SendOutcome>;
  /** Whether another message may be sent. */
  readonly usable: boolean;
  close(): void;
  /** At once, whatever is under way: its outcome says how far it got. */
  abort(): void;
}

export interface SessionOptions {
  relay: SmtpRelayAddress;
  heloName: string | undefined;
  timeouts: SmtpTimeouts;
  /** Trusted beside the system's authorities; for relays with a certificate of one's own. */
  ca?: Buffer | undefined;
}

export interface SmtpTimeouts {
  connectMs: number;
  /** For one message, from the first command to the verdict. */
  answerMs: number;
}

/** No session could be had; nothing was offered. */
export class SmtpUnreachable extends Error {
  constructor(
    readonly code: string,
    /** What the relay said, if it spoke. */
    readonly reply: SmtpReply | undefined,
    /** A person has to act: wrong password, no encryption. */
    readonly account: boolean,
    cause: unknown,
  ) {
    super(`The relay could not be used: ${code}`, { cause });
    this.name = 'SmtpUnreachable';
  }
}

/** Connects, encrypts and logs in; rejects with SmtpUnreachable. */
export async function openSmtpSession(options: SessionOptions): Promise<SmtpSession> {
  const { relay, timeouts } = options;
  const connection = new SMTPConnection({
    host: relay.host,
    port: relay.port,
    secure: relay.secure,
    requireTLS: !relay.secure && relay.tls === 'required',
    ignoreTLS: relay.tls === 'none',
    opportunisticTLS: relay.tls === 'opportunistic',
    // Without a demand for encryption there is no name that the certificate must have.
    tls: {
      minVersion: 'TLSv1.2',
      rejectUnauthorized: relay.secure || relay.tls === 'required',
      ...(options.ca && { ca: options.ca }),
    },
    connectionTimeout: timeouts.connectMs,
    greetingTimeout: timeouts.connectMs,
    dnsTimeout: timeouts.connectMs,
    socketTimeout: timeouts.answerMs,
    socketCloseTimeout: 1_000,
    maxResponseSize: LIMITS.smtpReplyBytes,
    ...(options.heloName !== undefined && { name: options.heloName }),
  });
  // A caller that waits has a listener of its own; an error without one must not end the process.
  connection.on('error', () => undefined);
  try {
    await withinTime(connection, timeouts.connectMs * 2, (done) => connection.connect(done));
    if (relay.user !== undefined) {
      const credentials = { user: relay.user, pass: relay.password ?? '' };
      await withinTime(connection, timeouts.connectMs, (done) => connection.login({ credentials }, done));
    }
  } catch (error) {
    connection.close();
    throw unreachable(error as SmtpError);
  }
  return sessionOn(connection, timeouts);
}

function sessionOn(connection: SMTPConnection, timeouts: SmtpTimeouts): SmtpSession {
  let broken = false;
  let sent = 0;
  const onBroken = () => {
    broken = true;
  };
  connection.on('error', onBroken);
  connection.once('end', onBroken);

  return {
    get usable() {
      return !broken && sent < LIMITS.smtpMessagesPerConnection;
    },
    async send(envelope, mime) {
      sent += 1;
      const source = sourceOf(mime);
      try {
        const reply = await withinTime<string>(connection, timeouts.answerMs, (done) =>
          connection.send({ from: envelope.from, to: [envelope.to] }, source.stream, (error, info) =>
            done(error, info?.response),
          ),
        );
        return { kind: 'accepted', reply };
      } catch (error) {
        const outcome = outcomeOf(error as SmtpError, source.isDrained());
        const socket = connection._socket;
        const isHalf = source.isBegun() && !(source.isDrained() && socket && socket.writableLength === 0);
        // A relay that refuses what it has half of may take it all the same once it has read the end of it, and a RSET would
        // be a line of the message. So nothing more is written, and what waits to be written is dropped.
        if (isHalf && socket) socket.destroy();
        // After any other refusal the transaction is open still, and the next MAIL would be out of order.
        if (outcome.kind !== 'refused' || isHalf || broken || !(await reset(connection, timeouts))) {
          broken = true;
          connection.close();
        }
        return outcome;
      }
    },
    close() {
      if (!broken) connection.quit();
      broken = true;
    },
    abort() {
      broken = true;
      connection.close();
    },
  };
}

function outcomeOf(error: SmtpError, drained: boolean): SendOutcome {
  const reply = typeof error.response === 'string' ? parseReply(error.response) : undefined;
  if (reply && reply.code >= 400) return { kind: 'refused', reply, stage: stageOf(error, drained) };
  return drained ? { kind: 'unknown' } : { kind: 'not_offered', code: error.code ?? 'no_answer' };
}

function stageOf({ command }: SmtpError, drained: boolean): Stage {
  if (drained || command === 'DATA') return 'data';
  // A good-bye at the recipient, when all commands were sent together, is reported as one of the connection.
  return command === 'MAIL FROM' ? 'mail' : 'rcpt';
}

async function reset(connection: SMTPConnection, timeouts: SmtpTimeouts): Promise<boolean> {
  return withinTime<unknown>(connection, timeouts.connectMs, (done) => connection.reset(done)).then(
    () => true,
    () => false,
  );
}

/**
 * The message as a stream that knows when its last piece was asked for. Until then the line that ends it
 * cannot have been written, and it is certain that the server has not got it.
 */
function sourceOf(mime: Buffer): { stream: Readable; isBegun(): boolean; isDrained(): boolean } {
  let at = 0;
  let drained = false;
  const stream = new Readable({
    read() {
      const piece = mime.subarray(at, at + LIMITS.smtpPieceBytes);
      at += piece.length;
      this.push(piece);
      if (at < mime.length) return;
      drained = true;
      this.push(null);
    },
  });
  return { stream, isBegun: () => at > 0, isDrained: () => drained };
}

type SmtpError = Error & {
  code?: string;
  originalCode?: string;
  command?: string;
  response?: string | false;
};
type Done<T> = (error?: Error | null, value?: T) => void;

/** Calls back once: with what the action says, what the connection says, or that it took too long. */
function withinTime<T>(connection: SMTPConnection, ms: number, action: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const finish: Done<T> = (error, value) => {
      clearTimeout(timer);
      connection.off('error', finish);
      connection.off('end', onEnd);
      if (error) reject(error);
      else resolve(value as T);
    };
    // The last answer of a server that closes is reported after the end.
    const onEnd = () =>
      setImmediate(() => finish(Object.assign(new Error('Connection closed'), { code: 'ECONNECTION' })));
    const timer = setTimeout(() => {
      finish(Object.assign(new Error('The relay took too long'), { code: 'ETIMEDOUT' }));
      connection.close();
    }, ms);
    connection.on('error', finish);
    connection.once('end', onEnd);
    action(finish);
  });
}

function unreachable(error: SmtpError): SmtpUnreachable {
  const reply = typeof error.response === 'string' ? parseReply(error.response) : undefined;
  // A log-in may fail for the moment too (454), and an encryption that breaks off may hold the next time.
  const refusedLogin = error.code === 'EAUTH' && (reply === undefined || reply.code >= 500);
  const noEncryption = error.code === 'ETLS' && (reply !== undefined || isAboutCertificate(error));
  // A relay that has no service for us says so in place of its greeting (RFC 5321, 3.1).
  const refusesUs = (error.code === 'EPROTOCOL' || error.code === 'ECONNECTION') && (reply?.code ?? 0) >= 500;
  const saysSo = reply?.refusesAccount !== undefined;
  const account = refusedLogin || noEncryption || refusesUs || saysSo || isAboutCertificate(error);
  const code = refusesUs ? String(reply?.code) : (error.originalCode ?? error.code ?? 'no_answer');
  return new SmtpUnreachable(code, reply, account, error);
}

const isAboutCertificate = ({ code, originalCode }: SmtpError) =>
  [code, originalCode].some((one) => /CERT|ALTNAME|SELF_SIGNED|UNABLE_TO_/.test(one ?? ''));
