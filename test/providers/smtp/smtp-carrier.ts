import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createTransport } from 'nodemailer';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/**
 * A relay outside. It answers by address (`reject@`, `down@`, `throttle@`, `account@`, `lost@`, else
 * accepted), keeps what it was given, and reports each message as delivered to its return path until
 * somebody takes the report.
 */
export interface SmtpCarrier {
  port: number;
  /** Ids of the messages, one entry for each time it took one. */
  delivered: string[];
  /** Addresses of the connections that were made, in order. */
  connections: string[];
  mails: string[];
  /** The envelope's sender of each of them. */
  senders: string[];
  close(): Promise<void>;
}

const REFUSALS: Record<string, [number, string]> = {
  reject: [550, '5.1.1 No such mailbox'],
  down: [450, '4.3.0 Try again'],
  throttle: [450, '4.7.1 Slow down'],
  account: [530, '5.7.0 Authentication required'],
};

export async function startSmtpCarrier({
  reportTo,
  ...options
}: { reportTo?: number } & SMTPServerOptions = {}): Promise<SmtpCarrier> {
  const delivered: string[] = [];
  const connections: string[] = [];
  const mails: string[] = [];
  const senders: string[] = [];
  const owed: string[] = [];
  const closing = new AbortController();
  let reporting: Promise<void> | undefined;

  const server = new SMTPServer({
    logger: false,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onConnect({ remoteAddress }, callback) {
      connections.push(remoteAddress);
      callback();
    },
    onRcptTo({ address }, _session, callback) {
      const refusal = REFUSALS[address.split('@')[0] ?? ''];
      callback(refusal ? Object.assign(new Error(refusal[1]), { responseCode: refusal[0] }) : null);
    },
    onData(stream, { id, envelope }, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const text = Buffer.concat(chunks).toString('latin1');
        mails.push(text);
        senders.push(envelope.mailFrom ? envelope.mailFrom.address : '');
        delivered.push(/^Message-ID: <([^@>]+)@/m.exec(text)?.[1] ?? '');
        if (envelope.mailFrom) owed.push(envelope.mailFrom.address);
        report();
        const isLost = envelope.rcptTo.some(({ address }) => address.startsWith('lost@'));
        if (!isLost) return callback(null);
        for (const one of server.connections) if (one.id === id) one._socket.destroy();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', () => done()));

  function report(): void {
    if (reportTo === undefined) return;
    reporting ??= reportAll(reportTo).finally(() => {
      reporting = undefined;
    });
  }

  async function reportAll(port: number): Promise<void> {
    const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
    while (!closing.signal.aborted && owed.length > 0) {
      const to = owed[0] as string;
      const taken = await transport.sendMail(deliveryReport(to)).then(
        () => true,
        () => false,
      );
      if (taken) owed.shift();
      else await delay(20, undefined, { signal: closing.signal }).catch(() => undefined);
    }
    transport.close();
  }

  return {
    port: (server.server.address() as AddressInfo).port,
    delivered,
    connections,
    mails,
    senders,
    async close() {
      closing.abort();
      await reporting;
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

export function deliveryReport(to: string, fields = 'Action: delivered\r\nStatus: 2.0.0') {
  return {
    envelope: { from: '', to: [to] },
    raw: [
      'From: MAILER-DAEMON@mx.example.com',
      `To: ${to}`,
      'Subject: Report',
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type=delivery-status; boundary="r"',
      '',
      '--r',
      'Content-Type: text/plain',
      '',
      'What became of it.',
      '--r',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.example.com',
      '',
      'Final-Recipient: rfc822; ann@example.com',
      fields,
      '',
      '--r--',
      '',
    ].join('\r\n'),
  };
}
