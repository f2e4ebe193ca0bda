import type { Receipt } from '../../../src/providers/provider';
import { freePort } from '../../support/free-port';
import { startPostfix } from '../../support/postfix';
import { startSmtpSink } from '../../support/smtp-sink';
import { until } from '../../support/until';
import { mail, openSmtp } from './smtp-rig';

/** We give mail to a Postfix, which cannot deliver some of it, and tells our listener so. */
describe('a report of a real mail host', () => {
  test('names the message that could not be delivered, and why', async () => {
    const port = await freePort();
    const full = await startSmtpSink(['-f', 'rcpt', '-B', '550 5.1.1 <ann@nobody.example>: no such user']);
    const fine = await startSmtpSink();
    const provider = openSmtp(`smtp://127.0.0.1:${port}?tls=none`, {
      timeouts: { connectMs: 10_000, answerMs: 10_000 },
      returnPath: { domain: 'bounces.example.org', secret: 'secret' },
      listen: { host: '127.0.0.1', port: 0 },
    });
    const receipts: Receipt[] = [];
    await provider.start(async (some) => void receipts.push(...some));
    const postfix = await startPostfix(port, {
      'bounces.example.org': provider.inboundPort ?? 0,
      'nobody.example': full.port,
      'fine.example': fine.port,
    });
    try {
      const lost = mail({ to: 'ann@nobody.example' });
      const arrived = mail({ to: 'ann@fine.example' });
      const results = await provider.handOver([lost, arrived]);
      expect(results.map(({ kind }) => kind)).toEqual(['accepted', 'accepted']);
      await until('the report', () => receipts.length > 0, 30_000);
      await until('the other mail', () => fine.mails().length > 0, 30_000);
      const expected = { id: lost.id, type: 'undelivered', code: '5.1.1', data: { reply: '550' } };
      expect(receipts).toEqual([{ ...expected, at: expect.any(String) }]);
    } finally {
      await provider.close();
      await Promise.all([postfix.stop(), full.stop(), fine.stop()]);
    }
  }, 150_000);
});
