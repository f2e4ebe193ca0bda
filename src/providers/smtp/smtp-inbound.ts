import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';
import { type Certificate, type CertificateFiles, openCertificate } from '../../certificate';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import type { Receipt, ReceiptSink } from '../provider';
import { readReport } from './mail-report';
import type { ReturnPath } from './return-path';

/**
 * Where mail about our mail comes in: reports of delivery to a message's own return path, reports of spam,
 * and mails that unsubscribe. It takes nothing else, stores nothing, answers no mail with mail, and says
 * "taken" only after what follows from it is stored: the host that brings it keeps it until then.
 */
export interface SmtpInbound {
  readonly port: number;
  /** Waits for mails that are being received; their senders deliver all others again later. */
  close(): Promise<void>;
}

export interface SmtpListen {
  host: string;
  /** 0 takes any that is free. */
  port: number;
  /** Without it nothing is encrypted. Unless it is required, a host may go on without it. */
  tls?: (CertificateFiles & { required: boolean }) | undefined;
}

export interface SmtpInboundOptions extends SmtpListen {
  returnPath: ReturnPath;
  sink: ReceiptSink;
  unsubscribe: ((token: string) => Promise<void>) | undefined;
  log: Log;
  /** Shorter in tests. */
  connectionMs?: number | undefined;
}

/** Where mailbox providers are asked to send their reports of spam. */
const COMPLAINTS = 'fbl';
/** A link's token is its subject: a local part may have 64 characters (RFC 5321, 4.5.3.1.1), and it has more. */
export const UNSUBSCRIBE = 'u';
const TOKEN = /^[\w.~-]{1,512}$/;

type Purpose = { kind: 'bounce'; messageId: string } | { kind: 'complaint' } | { kind: 'unsubscribe' };

/** Rejects with UnusableCertificate, or because it cannot listen there. */
export async function openSmtpInbound(options: SmtpInboundOptions): Promise<SmtpInbound> {
  const { returnPath, sink, unsubscribe, tls, log } = options;
  const certificate = tls && (await openCertificate(tls, 'inbound mail', log));
  const working = new Set<Promise<void>>();
  let closing = false;

  const server = createListener(options, certificate, {
    isOurs: (address) => purposeOf(address) !== undefined,
    take(stream, session) {
      const work = take(stream, session);
      working.add(work);
      void work.catch(() => undefined).finally(() => working.delete(work));
      return work;
    },
  });

  function purposeOf(address: string): Purpose | undefined {
    const messageId = returnPath.messageOf(address);
    if (messageId !== undefined) return { kind: 'bounce', messageId };
    const at = address.lastIndexOf('@');
    if (address.slice(at + 1).toLowerCase() !== returnPath.domain) return undefined;
    const local = address.slice(0, at).toLowerCase();
    if (local === COMPLAINTS) return { kind: 'complaint' };
    return unsubscribe && local === UNSUBSCRIBE ? { kind: 'unsubscribe' } : undefined;
  }

  async function take(
    stream: Readable & { sizeExceeded?: boolean },
    session: SMTPServerSession,
  ): Promise<void> {
    const raw = await firstBytes(stream);
    if (stream.sizeExceeded) throw new TooLarge();
    if (closing) throw new Error('The listener is closing');
    const { mailFrom, rcptTo } = session.envelope;
    const report = await readReport(raw);
    const receipts: Receipt[] = [];
    for (const { address } of rcptTo) {
      const purpose = purposeOf(address);
      if (purpose?.kind === 'unsubscribe') {
        // A person wrote it, or a mail program for one; an automatic absence note unsubscribes no recipient.
        const byPerson = !report.isAutomatic && !isNull(mailFrom);
        if (byPerson && TOKEN.test(report.subject)) await unsubscribe?.(report.subject);
      } else if (report.kind === 'complaint') {
        // An address of ours has the proof in it; a bare id in its place has none, and proves nothing.
        const id =
          purpose?.kind === 'bounce' ? purpose.messageId : returnPath.messageOf(report.returnPath ?? '');
        // A recipient who calls a mail spam has received it.
        if (id !== undefined) receipts.push({ id, type: 'delivered', code: 'complaint', at: nowText() });
      } else if (report.kind === 'delivery' && purpose?.kind === 'bounce' && isNull(mailFrom)) {
        const { type, code, data } = report;
        receipts.push({ id: purpose.messageId, type, code, at: nowText(), data });
      }
    }
    if (receipts.length > 0 && !closing) await sink(receipts);
    else if (receipts.length > 0) throw new Error('The listener is closing');
  }

  const { port } = await listen(server, options);
  return {
    port,
    async close() {
      closing = true;
      const closed = new Promise<void>((done) => server.close(() => done()));
      await Promise.allSettled(working);
      await closed;
    },
  };
}

function listen(server: SMTPServer, { host, port }: SmtpInboundOptions): Promise<AddressInfo> {
  return new Promise((done, fail) => {
    server.server.once('error', fail);
    server.listen(port, host, () => done(server.server.address() as AddressInfo));
  });
}

/** The server of the mail protocol, not listening yet. */
function createListener(
  options: SmtpInboundOptions,
  certificate: Awaited<ReturnType<typeof openCertificate>> | undefined,
  {
    isOurs,
    take,
  }: { isOurs(address: string): boolean; take(stream: Readable, session: SMTPServerSession): Promise<void> },
): SMTPServer {
  const { tls, log, connectionMs = LIMITS.smtpInboundConnectionMs } = options;
  /** By session. */
  const ends = new Map<string, NodeJS.Timeout>();
  const server = new SMTPServer({
    name: options.returnPath.domain,
    banner: 'Fanfare',
    logger: false,
    // Without a certificate of ours the library would offer one whose key is public.
    disabledCommands: certificate ? ['AUTH'] : ['AUTH', 'STARTTLS'],
    ...(certificate && { ...keyPairOf(certificate.current), minVersion: 'TLSv1.2' }),
    disableReverseLookup: true,
    size: LIMITS.smtpInboundBytes,
    maxClients: LIMITS.smtpInboundConnections,
    socketTimeout: LIMITS.smtpInboundIdleMs,
    closeTimeout: 1_000,
    onConnect(session, callback) {
      const connection = [...server.connections].find(({ id }) => id === session.id);
      ends.set(session.id, setTimeout(() => connection?.close(), connectionMs).unref());
      if (!certificate) return callback();
      void certificate.renew().then((renewed) => {
        if (renewed) server.updateSecureContext(keyPairOf(renewed));
        callback();
      });
    },
    // Of the session, because the listeners on a socket are removed when it is encrypted.
    onClose({ id }) {
      clearTimeout(ends.get(id));
      ends.delete(id);
    },
    onMailFrom(_address, { secure }, callback) {
      callback(tls?.required && !secure ? refusal(530, '5.7.0 Must issue a STARTTLS command first') : null);
    },
    onRcptTo({ address }, session, callback) {
      if (session.envelope.rcptTo.length >= LIMITS.smtpInboundRecipients) {
        return callback(refusal(452, '4.5.3 Too many recipients'));
      }
      callback(isOurs(address) ? null : refusal(550, '5.1.1 Nobody here has this address'));
    },
    onData(stream, session, callback) {
      take(stream, session).then(
        () => callback(null),
        (error: unknown) => {
          if (!(error instanceof TooLarge))
            log.warn({ err: error }, 'An inbound mail was not taken; it comes again');
          callback(
            error instanceof TooLarge ? refusal(552, '5.3.4 Too large') : refusal(451, '4.3.0 Not now'),
          );
        },
      );
    },
  });
  // Log only the error's code, because the error also holds the addresses of both sides.
  server.on('error', ({ code }: NodeJS.ErrnoException) =>
    log.debug({ code }, 'An inbound mail connection broke'),
  );
  return server;
}

class TooLarge extends Error {}

const keyPairOf = ({ cert, key }: Certificate) => ({ cert, key });

const isNull = (mailFrom: { address: string } | false) => !mailFrom || mailFrom.address === '';
const nowText = () => new Date().toISOString();

const refusal = (responseCode: number, message: string) =>
  Object.assign(new Error(message), { responseCode });

/** A report comes before the message that it returns, of which a few lines are enough. */
async function firstBytes(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (bytes < LIMITS.smtpInboundReadBytes) chunks.push(chunk);
    bytes += chunk.length;
  }
  return Buffer.concat(chunks).subarray(0, LIMITS.smtpInboundReadBytes);
}
