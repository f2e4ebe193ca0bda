import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectPlain, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { readCertificate, UnusableCertificate } from '../../../src/certificate';
import { createLog } from '../../../src/log';
import { createReturnPath } from '../../../src/providers/smtp/return-path';
import { openSmtpInbound } from '../../../src/providers/smtp/smtp-inbound';
import type { SmtpProvider } from '../../../src/providers/smtp/smtp-provider';
import { type Certificate, makeCertificate } from '../../support/certificate';
import { bringMail } from '../../support/smtp-client';
import { until } from '../../support/until';
import { deliveryReport } from './smtp-carrier';
import { openSmtp } from './smtp-rig';

const RETURN_PATH = { domain: 'bounces.example.org', secret: 'secret' };
const TO = createReturnPath(RETURN_PATH.domain, RETURN_PATH.secret).addressFor('msg_1');

let place: string;
let first: Certificate;
let second: Certificate;
beforeAll(() => {
  first = makeCertificate();
  second = makeCertificate();
});
afterAll(() => {
  first.remove();
  second.remove();
});

let provider: SmtpProvider | undefined;
let types: string[];
const files = () => ({ certFile: join(place, 'cert.pem'), keyFile: join(place, 'key.pem') });
beforeEach(() => {
  types = [];
  place = mkdtempSync(join(tmpdir(), 'fanfare-test-inbound-'));
  install(first);
});
afterEach(async () => {
  await provider?.close();
  provider = undefined;
  rmSync(place, { recursive: true, force: true });
});

function install({ certFile, keyFile }: Certificate): void {
  copyFileSync(certFile, files().certFile);
  copyFileSync(keyFile, files().keyFile);
}

async function listen(required = false): Promise<void> {
  provider = openSmtp('smtp://127.0.0.1:1', {
    returnPath: RETURN_PATH,
    listen: { host: '127.0.0.1', port: 0, tls: { ...files(), required } },
  });
  await provider.start(async (receipts) => void types.push(...receipts.map(({ type }) => type)));
}

function bring(options: { tls?: boolean } = {}): Promise<string> {
  const { raw } = deliveryReport(TO, 'Action: failed\r\nStatus: 5.1.1');
  return bringMail(provider?.inboundPort, { to: TO, raw }, options);
}

/** Says what a mailer says until TLS, and answers what it was shown then; trusts one certificate only. */
async function certificateShown(trusted: Certificate): Promise<string> {
  const socket = connectPlain(provider?.inboundPort ?? 0, '127.0.0.1');
  try {
    return (await encrypted(socket, trusted)).getPeerX509Certificate()?.fingerprint256 ?? '';
  } finally {
    socket.destroy();
  }
}

async function encrypted(socket: Socket, trusted: Certificate): Promise<TLSSocket> {
  const lines = createInterface({ input: socket });
  await lineFrom(lines, /^220 /);
  socket.write('EHLO mx.example.net\r\n');
  await lineFrom(lines, /^250[ -]STARTTLS/);
  socket.write('STARTTLS\r\n');
  await lineFrom(lines, /^220 /);
  lines.close();
  const secure = connectTls({ socket, host: '127.0.0.1', ca: trusted.cert });
  await new Promise<void>((done, fail) => secure.once('secureConnect', done).once('error', fail));
  return secure;
}

function lineFrom(lines: Interface, wanted: RegExp): Promise<void> {
  return new Promise((done) => {
    lines.on('line', function look(line: string) {
      if (!wanted.test(line)) return;
      lines.off('line', look);
      done();
    });
  });
}

const fingerprint = ({ cert }: Certificate) => new X509Certificate(cert).fingerprint256;

describe('the listener with a certificate', () => {
  test('takes a report encrypted, and from a host that wants no encryption as well', async () => {
    await listen();
    expect(await bring({ tls: true })).toBe('250');
    expect(await bring()).toBe('250');
    expect(types).toEqual(['undelivered', 'undelivered']);
  });

  test('refuses mail without encryption if it is required, and takes it with it', async () => {
    await listen(true);
    expect(await bring()).toBe('530 5.7.0');
    expect(types).toEqual([]);
    await bring({ tls: true });
    expect(types).toEqual(['undelivered']);
  });

  test('keeps nothing of an encrypted connection that has ended', async () => {
    await listen();
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    await bring({ tls: true });
    await until('its timers are gone', () => timers() <= before, 5_000);
  });

  test('ends an encrypted connection that never ends', async () => {
    const inbound = await openSmtpInbound({
      ...{ host: '127.0.0.1', port: 0, tls: { ...files(), required: false }, connectionMs: 1_000 },
      returnPath: createReturnPath('bounces.example.org', 'secret'),
      sink: async () => undefined,
      unsubscribe: undefined,
      log: createLog('silent'),
    });
    const secure = await encrypted(connectPlain(inbound.port, '127.0.0.1'), first);
    secure.on('error', () => undefined).on('data', () => undefined);
    const whispering = setInterval(() => secure.write('NOOP\r\n'), 20);
    await once(secure, 'close');
    clearInterval(whispering);
    await inbound.close();
  }, 20_000);

  test('shows its own, which a client that knows it trusts', async () => {
    await listen();
    expect(await certificateShown(first)).toBe(fingerprint(first));
    await expect(certificateShown(second)).rejects.toThrow(/self-signed/);
  });

  test('shows a renewed one at the next connection, and the one before while half of it is there', async () => {
    await listen();
    expect(await certificateShown(first)).toBe(fingerprint(first));
    copyFileSync(second.certFile, files().certFile);
    expect(await certificateShown(first)).toBe(fingerprint(first));
    copyFileSync(second.keyFile, files().keyFile);
    expect(await certificateShown(second)).toBe(fingerprint(second));
    rmSync(files().certFile);
    expect(await certificateShown(second)).toBe(fingerprint(second));
  });

  test.each([
    ['a certificate that is away', () => rmSync(files().certFile), /cert\.pem cannot be read: ENOENT/],
    ['a file that is none', () => writeFileSync(files().certFile, 'x'), /holds no certificate in PEM/],
    ['a key that is none', () => writeFileSync(files().keyFile, 'x'), /holds no private key in PEM/],
    [
      'the key of another',
      () => copyFileSync(second.keyFile, files().keyFile),
      /is not the key of the certificate/,
    ],
  ])('does not start with %s', async (_, spoil, reason) => {
    spoil();
    const error = await listen().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnusableCertificate);
    expect((error as Error).message).toMatch(reason);
  });

  test('starts with one whose time is over', async () => {
    const ended = makeCertificate('IP:127.0.0.1', { ended: true });
    install(ended);
    expect((await readCertificate(files())).validTo).toEqual(new Date('2020-02-01T00:00:00Z'));
    await listen();
    await bring({ tls: true });
    expect(types).toEqual(['undelivered']);
    ended.remove();
  });
});
