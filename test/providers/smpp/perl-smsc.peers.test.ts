import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { messageReference } from '../../../src/domain/message-reference';
import type { HandOver, InboundSms, Provider, Receipt } from '../../../src/providers/provider';
import { openSmppProvider } from '../../../src/providers/smpp/smpp-provider';
import { freePort } from '../../support/free-port';
import { ROOT } from '../../support/root';
import { until } from '../../support/until';
import { noInboundParts, noParts } from './no-parts';

/** An SMS centre that shares no code with ours (test/support/smsc.pl). */
describe('the SMS centre of Net::SMPP', () => {
  const taken: Record<string, unknown>[] = [];
  const receipts: Receipt[] = [];
  const inbound: InboundSms[] = [];
  let centre: ReturnType<typeof spawn>;
  let provider: Provider;

  beforeAll(async () => {
    const port = await freePort();
    centre = spawn('perl', [join(ROOT, 'test/support/smsc.pl'), String(port)], {
      // It remarks on every vendor TLV there.
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    if (!centre.stdout) throw new Error('The centre has no output');
    createInterface(centre.stdout).on('line', (line) => taken.push(JSON.parse(line)));
    await until('the centre to listen', () => listens(port), 15_000, 50);
    provider = openSmppProvider({
      url: `smpp://fanfare:secret@127.0.0.1:${port}`,
      binds: 1,
      window: 10,
      messageId: 'auto',
      tlvs: { '0x1400': '1101234567890' },
      parts: noParts,
      inboundParts: noInboundParts,
    });
    await provider.start(
      async (batch) => void receipts.push(...batch),
      async (batch) => void inbound.push(...batch),
    );
  });
  afterAll(async () => {
    await provider?.close();
    centre?.kill('SIGKILL');
  });

  const message = (id: string, to: string, text: string): HandOver => {
    return { id, uid: id, channel: 'sms', to, from: '12345', text, attempt: 1 };
  };

  test('understands what we write, and we what it answers and reports', async () => {
    const results = await provider.handOver([
      message('msg_1', '+12125550190', '5 €'),
      message('msg_2', '+12125550121', 'жук'),
      message('msg_3', '+12125550101', 'refused'),
      message('msg_4', '+12125550103', 'slower'),
      message('msg_5', '+12125550177', 'x'.repeat(161)),
    ]);
    expect(results.map(({ kind }) => kind)).toEqual([
      'accepted',
      'accepted',
      'rejected',
      'throttled',
      'accepted',
    ]);
    await until('four parts', () => taken.length === 4);
    expect(taken.slice(0, 2)).toEqual([
      { from: '12345', to: '12125550190', coding: 0, esmClass: 0, octets: '35201b65' },
      { from: '12345', to: '12125550121', coding: 8, esmClass: 0, octets: '04360443043a' },
    ]);
    expect(taken.slice(2).map(({ esmClass, octets }) => [esmClass, String(octets).length / 2])).toEqual([
      [0x40, 159],
      [0x40, 14],
    ]);
    // Answered in hexadecimal, reported in decimal; the two parts come as the centre named them.
    await until('four receipts', () => receipts.length === 4);
    const ended = receipts.filter(({ id }) => id).map(({ id, type, code }) => [id, type, code]);
    expect(ended).toEqual([
      ['msg_1', 'delivered', undefined],
      ['msg_2', 'undelivered', 'smpp_undeliv_005'],
    ]);
    // The parts of msg_5, of which nothing is kept here: what they are about is told, with our reference.
    const about = { to: '+12125550177', from: '12345', reference: messageReference('msg_5') };
    expect(receipts.filter(({ id }) => !id).map((receipt) => receipt.about)).toEqual([about, about]);
    await until('what the subscriber wrote', () => inbound.length > 0);
    expect(inbound[0]).toMatchObject({ from: '+12125550177', to: '12345', text: 'STOP' });
  });
});

function listens(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => socket.end(() => done(true)));
    socket.once('error', () => done(false));
  });
}
