import { type Receiver, startReceiver } from '../messaging/webhooks/receiver';
import { type Authority, makeAuthority } from '../support/authority';
import { Installation } from '../support/installation';
import { freshNamespace } from '../support/namespaces';
import { until } from '../support/until';

const LIMIT_MS = 150_000;

describe('webhooks to a receiver whose certificate an authority of its own has signed', () => {
  let authority: Authority;
  let receiver: Receiver;
  let here: Installation;

  beforeAll(async () => {
    authority = makeAuthority();
    receiver = await startReceiver('127.0.0.1', 0, authority.issue('DNS:localhost'));
    const { address, namespace } = await freshNamespace();
    here = await Installation.start({
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      FANFARE_WEBHOOK_ALLOW_PRIVATE: 'true',
    });
  }, LIMIT_MS);
  afterAll(async () => {
    await here?.remove();
    await receiver.close();
    authority.remove();
  });

  test(
    'are told why nothing arrives, and arrive once NODE_EXTRA_CA_CERTS names the authority',
    async () => {
      const url = `https://localhost:${receiver.port}/told`;
      const { data: webhook } = await here.api.expect<{ data: { id: string } }>('POST', '/api/webhook', {
        url,
        events: ['*'],
      });
      const path = `/api/webhook/${webhook.id}`;
      await here.api.expect('POST', `${path}/test`, {});
      const tried = await until('the attempt has failed', async () => {
        const { data } = await here.api.expect<{ data: { id: string; code: string | null }[] }>(
          'GET',
          `${path}/deliveries`,
        );
        return data[0]?.code && data[0];
      });
      expect(tried.code).toBe('certificate_untrusted');
      expect(receiver.requests).toEqual([]);

      await here.fanfare.stop();
      here.place.env.NODE_EXTRA_CA_CERTS = authority.certFile;
      await here.run();
      await here.api.expect('POST', `${path}/deliveries/${tried.id}/redeliver`, {});
      await until('it is there', () => receiver.taken.has(tried.id));
      expect(receiver.taken.get(tried.id)?.servername).toBe('localhost');
    },
    LIMIT_MS,
  );
});
