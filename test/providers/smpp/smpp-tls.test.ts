import { pino } from 'pino';
import { type Certificate, makeCertificate } from '../../support/certificate';
import { until } from '../../support/until';
import { centre, message, one, open } from './smpp-rig';

describe('a centre that is reached with TLS', () => {
  let own: Certificate;
  let byName: Certificate;
  beforeAll(() => {
    own = makeCertificate();
    byName = makeCertificate('DNS:localhost');
  });
  afterAll(() => {
    own?.remove();
    byName?.remove();
  });

  test('takes messages, by its name and by its address, when its certificate is trusted', async () => {
    for (const [certificate, host] of [
      [own, '127.0.0.1'],
      [byName, 'localhost'],
    ] as const) {
      const smsc = await centre({ tls: certificate });
      const url = smsc.url.replace('127.0.0.1', host);
      expect(await one(open({ url }, { ca: certificate.cert }), message())).toMatchObject({
        kind: 'accepted',
      });
    }
  });

  test('is answered when it ends the session', async () => {
    const smsc = await centre({ tls: own });
    const provider = open(smsc, { ca: own.cert });
    await one(provider, message());
    smsc.unbindAll();
    await until('another session', () => smsc.binds === 2);
    expect(smsc.unbound).toBe(1);
  });

  test.each([
    [
      'is not trusted',
      () => own,
      (): Buffer | undefined => undefined,
      /is not trusted: set NODE_EXTRA_CA_CERTS/,
    ],
    ['is for another name', () => byName, () => byName.cert, /is for another name: write the host/],
  ] as const)(
    'with a certificate that %s pauses the account and says what to do',
    async (_what, tls, ca, text) => {
      const lines: string[] = [];
      const smsc = await centre({ tls: tls() });
      const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
      const provider = open(smsc, { ca: ca(), log });
      const results = await provider.handOver(Array.from({ length: 20 }, () => message()));
      expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
      expect(results[0]).toMatchObject({
        kind: 'account',
        code: 'smpp_certificate',
        message: expect.stringMatching(text),
      });
      await until('the log to say so', () => lines.some((line) => text.test(line)));
      expect(lines.join('')).not.toMatch(/secret|BEGIN|pubkey|"raw"/);
      // The messages of everybody are one try, and the next comes when its time has come; on a busy machine the
      // first may not come to stand.
      expect(smsc.connections).toBeLessThan(5);
      expect(smsc.binds).toBe(0);
    },
  );
});
