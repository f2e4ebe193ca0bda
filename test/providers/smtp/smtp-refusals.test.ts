import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Provider } from '../../../src/providers/provider';
import { until } from '../../support/until';
import { REFUSALS, type Refusal } from './refusals';
import { type SmtpCarrier, startSmtpCarrier } from './smtp-carrier';
import { mail, openSmtp } from './smtp-rig';

describe('a mail to a host that fails', () => {
  test.each(REFUSALS)('$title', async ({ at, says, expected }) => {
    const host = await startFailingHost(at, says);
    const provider = openSmtp(`smtp://127.0.0.1:${host.port}?tls=none`);
    try {
      expect(await provider.handOver([mail()])).toEqual([expected]);
    } finally {
      await provider.close();
      await host.close();
    }
  });
});

test('a mail that is refused while it is being written is dropped at once', async () => {
  const host = await startHastyHost();
  const provider = openSmtp(`smtp://127.0.0.1:${host.port}?tls=none`);
  try {
    // More than the connection and the system hold.
    const large = mail({ html: `<p>${'All of it. '.repeat(2_000_000)}</p>` });
    expect(await provider.handOver([large])).toEqual([
      { kind: 'transient', code: '4.3.0', retryAfterMs: 60_000 },
    ]);
    await until('the connection to end', () => host.ended === 1);
    expect(host.taken).toBe(0);
  } finally {
    await provider.close();
    await host.close();
  }
});

describe('a mail that is taken', () => {
  let carrier: SmtpCarrier;
  let provider: Provider;
  beforeEach(async () => {
    carrier = await startSmtpCarrier();
  });
  afterEach(async () => {
    await provider.close();
    await carrier.close();
  });
  const url = () => `smtp://127.0.0.1:${carrier.port}?tls=none`;

  test('has the same Message-ID at every attempt', async () => {
    provider = openSmtp(url());
    const message = mail({ id: 'msg_1' });
    const expected = { kind: 'accepted', providerId: 'msg_1@example.org' };
    expect(await provider.handOver([message])).toEqual([expected]);
    expect(await provider.handOver([{ ...message, attempt: 2 }])).toEqual([expected]);
    expect(carrier.mails.map((text) => /^Message-ID: (.*?)\r?$/m.exec(text)?.[1])).toEqual([
      '<msg_1@example.org>',
      '<msg_1@example.org>',
    ]);
  });

  test('leaves under a sender address of its own when there is a return path', async () => {
    provider = openSmtp(url(), { returnPath: { domain: 'bounces.example.org', secret: 's' } });
    await provider.handOver([mail({ id: 'msg_1' })]);
    expect(carrier.senders).toEqual([
      expect.stringMatching(/^b\+msg_1\.[0-9a-z]{16}@bounces\.example\.org$/),
    ]);
  });
});

/** Refuses each message at its go-ahead, reads on after a while, and takes what it gets the end of. */
async function startHastyHost() {
  const state = { taken: 0, ended: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => void state.ended++);
    let inMessage = false;
    socket.write('220 mx.example.net ESMTP\r\n');
    createInterface({ input: socket }).on('line', (line) => {
      if (inMessage && line !== '.') return;
      if (inMessage) {
        state.taken += 1;
        inMessage = false;
      } else if (line === 'DATA') {
        inMessage = true;
        socket.write('354 Go on\r\n451 4.3.0 Busy\r\n');
        socket.pause();
        setTimeout(() => socket.resume(), 200);
        return;
      }
      socket.write('250 2.0.0 Ok\r\n');
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return Object.assign(state, {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  });
}

/** Speaks SMTP until the command at which it is to fail. */
async function startFailingHost(at: Refusal['at'], says: Refusal['says']) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const answer = (stage: Refusal['at'] | undefined, usual: string) => {
      if (stage !== at) socket.write(`${usual}\r\n`);
      else if (says === 'hangs up') socket.destroy();
      else if (says !== 'nothing') socket.write(`${says}\r\n`);
    };
    let inMessage = false;
    answer('connect', '220 mx.example.net ESMTP');
    createInterface({ input: socket }).on('line', (line) => {
      if (inMessage && line !== '.') return;
      const command = line.slice(0, 4).toUpperCase();
      if (inMessage) answer('.', '250 2.0.0 Ok');
      else if (command === 'MAIL') answer('mail', '250 2.1.0 Ok');
      else if (command === 'RCPT') answer('rcpt', '250 2.1.5 Ok');
      else if (command === 'DATA') answer('data', '354 Go on');
      else answer(undefined, '250 mx.example.net');
      inMessage = command === 'DATA' && !inMessage;
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
