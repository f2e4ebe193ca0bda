import type { HandOver, Provider } from '../../../src/providers/provider';
import { until } from '../../support/until';
import { type Cut, type CuttingProxy, startCuttingProxy } from './cutting-proxy';
import { type SmtpCarrier, startSmtpCarrier } from './smtp-carrier';
import { mail, openSmtp } from './smtp-rig';

/** Where a connection ends, and what may be said of the message then. */
const CUTS: [string, Cut, 'transient' | 'unknown', number][] = [
  ['before the greeting', { after: 'connect', deliver: false }, 'transient', 0],
  ['after the greeting', { after: 'server', pattern: /^220 /, deliver: true }, 'transient', 0],
  ['after the sender', { after: 'client', pattern: /MAIL FROM/, deliver: true }, 'transient', 0],
  ['after the recipient', { after: 'client', pattern: /RCPT TO/, deliver: true }, 'transient', 0],
  ['at the word DATA', { after: 'client', pattern: /\r\nDATA\r\n/, deliver: false }, 'transient', 0],
  ['before the go-ahead is heard', { after: 'server', pattern: /\r\n354 /, deliver: false }, 'transient', 0],
  ['within the message', { after: 'client', pattern: /Subject: /, deliver: false }, 'unknown', 0],
  [
    'before the verdict is heard',
    { after: 'server', pattern: /354 [^\r]*\r\n250 /, deliver: false },
    'unknown',
    1,
  ],
];

describe('a connection that ends', () => {
  let carrier: SmtpCarrier;
  let proxy: CuttingProxy;
  let provider: Provider;
  beforeEach(async () => {
    carrier = await startSmtpCarrier();
  });
  afterEach(async () => {
    await provider.close();
    await proxy.close();
    await carrier.close();
  });

  test.each(CUTS)('%s', async (_, cut, kind, taken) => {
    proxy = await startCuttingProxy(carrier.port, cut, 1);
    provider = openSmtp(`smtp://127.0.0.1:${proxy.port}?tls=none`);
    const message = mail();
    expect(await provider.handOver([message])).toMatchObject([{ kind }]);
    expect(proxy.cuts).toBe(1);
    expect(carrier.delivered).toHaveLength(taken);
    // What is known not to have been offered is offered again, and arrives once.
    if (kind !== 'transient') return;
    await untilAccepted(message);
    expect(carrier.delivered).toEqual([message.id]);
  });

  test('within a message of which a part had not been written leaves no doubt', async () => {
    const cut: Cut = { after: 'client', pattern: /Subject: /, deliver: false };
    proxy = await startCuttingProxy(carrier.port, cut, 1);
    provider = openSmtp(`smtp://127.0.0.1:${proxy.port}?tls=none`);
    const large = mail({ html: `<p>${'All of it. '.repeat(2_000_000)}</p>` });
    expect(await provider.handOver([large])).toMatchObject([{ kind: 'transient' }]);
    expect(carrier.delivered).toEqual([]);
  });

  test('while it was idle costs the next message nothing', async () => {
    // The relay's own patience: it hangs up on whoever is silent.
    let hungUp = 0;
    await carrier.close();
    carrier = await startSmtpCarrier({ socketTimeout: 300, onClose: () => void hungUp++ });
    proxy = await startCuttingProxy(carrier.port, { after: 'connect', deliver: false }, 0);
    provider = openSmtp(`smtp://127.0.0.1:${proxy.port}?tls=none`);
    for (let i = 1; i <= 3; i++) {
      expect(await provider.handOver([mail()])).toMatchObject([{ kind: 'accepted' }]);
      expect(carrier.delivered).toHaveLength(i);
      await until('the relay to hang up', () => hungUp === i);
    }
  });

  test('at every other hand-over of many loses nothing and doubles nothing that is not in doubt', async () => {
    const cut: Cut = {
      after: 'server',
      pattern: /354 [^\r]*\r\n250 [\s\S]*354 [^\r]*\r\n250 /,
      deliver: false,
    };
    proxy = await startCuttingProxy(carrier.port, cut, Number.POSITIVE_INFINITY);
    provider = openSmtp(`smtp://127.0.0.1:${proxy.port}?tls=none`, { connections: 3 });
    const messages = Array.from({ length: 24 }, () => mail());
    const results = await provider.handOver(messages);
    const of = (kind: string) => messages.filter((_, i) => results[i]?.kind === kind).map(({ id }) => id);
    expect(of('unknown').length).toBeGreaterThan(0);
    expect([...of('accepted'), ...of('unknown')]).toHaveLength(messages.length);
    expect(new Set(carrier.delivered).size).toBe(carrier.delivered.length);
    expect([...carrier.delivered].sort()).toEqual(messages.map(({ id }) => id).sort());
  });

  async function untilAccepted(message: HandOver): Promise<void> {
    let attempt = 1;
    await until('the message to be accepted', async () => {
      const [result] = await provider.handOver([{ ...message, attempt: ++attempt }]);
      expect(['accepted', 'transient']).toContain(result?.kind);
      return result?.kind === 'accepted';
    });
  }
});
