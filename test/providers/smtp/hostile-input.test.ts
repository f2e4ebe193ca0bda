import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createLog } from '../../../src/log';
import { createDkimSigner } from '../../../src/providers/smtp/dkim';
import { readReport } from '../../../src/providers/smtp/mail-report';
import { createReturnPath } from '../../../src/providers/smtp/return-path';
import { openSmtpInbound } from '../../../src/providers/smtp/smtp-inbound';
import { parseReply } from '../../../src/providers/smtp/smtp-reply';

/** What takes the square of its length takes a minute at the lengths given here. */
const QUICK_MS = 20_000;

/** Of the processor: others may have it meanwhile. */
async function msOf(action: () => unknown): Promise<number> {
  const begun = process.cpuUsage();
  await action();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1_000;
}

const report = (type: string, body: string) =>
  Buffer.from(
    `Content-Type: multipart/report; boundary=r\r\n\r\n--r\r\nContent-Type: ${type}\r\n\r\n${body}\r\n--r--\r\n`,
  );

describe('what is made to be slow', () => {
  test.each([
    ['a return path of brackets', 'message/feedback-report', `Original-Mail-From: ${'>'.repeat(250_000)}\rx`],
    ['fields of empty lines', 'message/delivery-status', `Action: failed${'\r\n'.repeat(125_000)}x`],
    [
      'a diagnostic of codes',
      'message/delivery-status',
      `Action: failed\r\nDiagnostic-Code: smtp; ${'5.1'.repeat(80_000)}`,
    ],
  ])(
    '%s in a report is read at once',
    async (_, type, body) => {
      expect(await msOf(() => readReport(report(type, body)))).toBeLessThan(QUICK_MS);
    },
    120_000,
  );

  test('an answer of a relay without a space is read at once, and its addresses are not kept', async () => {
    expect(await msOf(() => parseReply(`550 ${'a'.repeat(120_000)}`))).toBeLessThan(QUICK_MS);
    const long = parseReply(`550 ${'<ann.smith@example.com> '.repeat(5_000)}`);
    expect(long?.text).toMatch(/^(?:<address> )+<address>/);
    expect(long?.text).not.toContain('ann');
    expect(parseReply(`550 ${'x'.repeat(1_990)} ann.smith@example.com`)?.text).not.toContain('ann');
  }, 120_000);

  test.each([
    ['empty lines', `${'\r\n'.repeat(500_000)}x`],
    ['spaces', `${' '.repeat(250_000)}x`],
  ])(
    'a body of %s is signed at once',
    async (_, body) => {
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      const signer = createDkimSigner({ domain: 'example.org', selector: 's1', privateKey: key });
      expect(await msOf(() => signer.sign([['From', 'a@example.org']], body))).toBeLessThan(QUICK_MS);
    },
    120_000,
  );
});

test('a connection that never ends is ended by the listener', async () => {
  const inbound = await openSmtpInbound({
    host: '127.0.0.1',
    port: 0,
    returnPath: createReturnPath('bounces.example.org', 'secret'),
    sink: async () => undefined,
    unsubscribe: undefined,
    log: createLog('silent'),
    connectionMs: 300,
  });
  const socket = connect(inbound.port, '127.0.0.1');
  socket.on('error', () => undefined).on('data', () => undefined);
  const whispering = setInterval(() => socket.write('NOOP\r\n'), 20);
  await once(socket, 'close');
  clearInterval(whispering);
  await inbound.close();
});
