import { type Receiver, startReceiver } from '../messaging/webhooks/receiver';
import { ApiClient } from '../support/api-client';
import { type Authority, makeAuthority } from '../support/authority';
import {
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';
import { freshNamespace } from '../support/services';
import { until } from '../support/until';

const LIMIT_MS = 150_000;

describe('webhooks to a receiver whose certificate an authority of its own has signed', () => {
  let authority: Authority;
  let receiver: Receiver;
  let place: Place;
  let fanfare: FanfareProcess | undefined;

  beforeAll(async () => {
    authority = makeAuthority();
    receiver = await startReceiver('127.0.0.1', 0, authority.issue('DNS:localhost'));
    const { address, namespace } = await freshNamespace();
    place = await makePlace({
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      FANFARE_WEBHOOK_ALLOW_PRIVATE: 'true',
    });
  }, LIMIT_MS);
  afterAll(async () => {
    await fanfare?.stop();
    await receiver.close();
    place.remove();
    authority.remove();
  });

  async function start(env: Record<string, string> = {}): Promise<ApiClient> {
    await fanfare?.stop();
    Object.assign(place.env, env);
    fanfare = startFanfare(place);
    await untilReady(fanfare);
    return new ApiClient(fanfare.baseUrl, readCredentials(place));
  }

  it(
    'are told why nothing arrives, and arrive once NODE_EXTRA_CA_CERTS names the authority',
    async () => {
      const before = await start();
      const url = `https://localhost:${receiver.port}/told`;
      const { data: webhook } = await before.expect<{ data: { id: string } }>('POST', '/api/webhook', {
        url,
        events: ['*'],
      });
      const path = `/api/webhook/${webhook.id}`;
      await before.expect('POST', `${path}/test`, {});
      const tried = await until('the attempt has failed', async () => {
        const { data } = await before.expect<{ data: { id: string; code: string | null }[] }>(
          'GET',
          `${path}/deliveries`,
        );
        return data[0]?.code && data[0];
      });
      expect(tried.code).toBe('certificate_untrusted');
      expect(receiver.requests).toEqual([]);
      await before.close();

      const after = await start({ NODE_EXTRA_CA_CERTS: authority.certFile });
      await after.expect('POST', `${path}/deliveries/${tried.id}/redeliver`, {});
      await until('it is there', () => receiver.taken.has(tried.id));
      expect(receiver.taken.get(tried.id)?.servername).toBe('localhost');
      await after.close();
    },
    LIMIT_MS,
  );
});
