import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openHttpProvider } from '../../src/providers/http-provider';
import type { HandOver, Provider } from '../../src/providers/provider';
import { openSmppProvider } from '../../src/providers/smpp/smpp-provider';
import { startSmsc } from '../support/smsc';
import { until } from '../support/until';
import { bodyOf } from './http-carrier';
import { noInboundParts, noParts } from './smpp/no-parts';
import { startSmtpCarrier } from './smtp/smtp-carrier';
import { openSmtp } from './smtp/smtp-rig';

/** A carrier that answers nothing before it is told to. */
interface SlowCarrier {
  provider: Provider;
  message: Omit<HandOver, 'id' | 'uid' | 'attempt'>;
  /** How many messages it has been given. */
  given(): number;
  /** What it has, and what comes from now on. */
  answerAll(): void;
  close(): Promise<unknown>;
}

async function slowHttp(): Promise<SlowCarrier> {
  let answers = false;
  const responses: ServerResponse[] = [];
  const answerAll = () => {
    for (const response of responses) if (!response.writableEnded) response.end(JSON.stringify({ id: 'p' }));
  };
  const server = createServer((incoming, response) => {
    void bodyOf(incoming).then(() => {
      responses.push(response);
      if (answers) answerAll();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    provider: openHttpProvider({ channel: 'sms', url, idempotent: false }),
    message: { channel: 'sms', to: '+12125550190', from: '12345', text: 'Hello' },
    given: () => responses.length,
    answerAll() {
      answers = true;
      answerAll();
    },
    close: async () => server.close(),
  };
}

async function slowSmtp(): Promise<SlowCarrier> {
  let given = 0;
  const gate = gateOf();
  const relay = await startSmtpCarrier({
    onData(stream, _session, callback) {
      given += 1;
      stream.resume();
      stream.on('end', () => void gate.opened.then(() => callback(null)));
    },
  });
  return {
    provider: openSmtp(`smtp://127.0.0.1:${relay.port}?tls=none`, {
      connections: 2,
      timeouts: { connectMs: 30_000, answerMs: 60_000 },
    }),
    message: {
      channel: 'email',
      to: 'ann@example.com',
      from: 'us@example.com',
      subject: 'Hello',
      text: 'Hello',
    },
    given: () => given,
    answerAll: gate.open,
    close: () => relay.close(),
  };
}

async function slowSmpp(): Promise<SlowCarrier> {
  const gate = gateOf();
  const smsc = await startSmsc({ until: gate.opened });
  return {
    provider: openSmppProvider({
      url: smsc.url,
      binds: 1,
      window: 2,
      messageId: 'auto',
      tlvs: {},
      parts: noParts,
      inboundParts: noInboundParts,
      times: { answerMs: 60_000, enquireMs: 60_000 },
    }),
    message: { channel: 'sms', to: '+12125550190', from: '12345', text: 'Hello' },
    given: () => smsc.offered,
    answerAll: gate.open,
    close: () => smsc.close(),
  };
}

describe.each([
  ['HTTP', slowHttp],
  ['SMTP', slowSmtp],
  ['SMPP', slowSmpp],
])('messages that wait for a slow carrier by %s', (_, start) => {
  test('stay as soon as they may not leave any more, and leave once they may', async () => {
    const { provider, message, given, answerAll, close } = await start();
    try {
      const { batchMax, parallel } = provider.capabilities;
      let isHeld = false;
      const batchOf = (name: string) =>
        Array.from({ length: batchMax }, (_, i): HandOver => {
          const id = `msg_${name}${i}`;
          return { ...message, id, uid: id, attempt: 1 };
        });
      const mayLeave = () => !isHeld;
      const [one, two] = [batchOf('one'), batchOf('two')];
      const results = Promise.all([provider.handOver(one, mayLeave), provider.handOver(two, mayLeave)]);
      await until('the carrier has all that it works on at once', () => given() === parallel);
      isHeld = true;
      answerAll();
      const kinds = (await results).flat().map(({ kind }) => kind);
      expect(given()).toBe(parallel);
      expect(kinds.filter((kind) => kind === 'accepted')).toHaveLength(parallel);
      expect(kinds.filter((kind) => kind === 'stayed')).toHaveLength(2 * batchMax - parallel);
      isHeld = false;
      const again = await provider.handOver(two, mayLeave);
      expect(new Set(again.map(({ kind }) => kind))).toEqual(new Set(['accepted']));
    } finally {
      await provider.close();
      await close();
    }
  });
});

function gateOf(): { opened: Promise<void>; open(): void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((done) => {
    open = done;
  });
  return { opened, open: () => open() };
}
