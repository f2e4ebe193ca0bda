import { ApiClient } from '../support/api-client';
import { asUser } from '../support/as-user';
import type { Installation } from './installation';
import { sendersOf } from './workspaces';

/**
 * Two accounts for email and two for SMS, of which the second takes what the first one certainly did not. Each is a carrier
 * of its own (carrier.ts): what the first has taken, the second would take once more.
 */
export async function makeAccounts({ baseUrl, owner, carrierUrl }: Installation): Promise<void> {
  const ask = <Body>(method: string, path: string, body: object) =>
    asUser<Body>(baseUrl, owner, method, path, body);
  const make = async (channel: string, path: string, idempotent: boolean) => {
    const { data } = await ask<{ data: { id: string } }>('POST', '/api/admin/accounts', {
      ...{ name: path, kind: 'http', channels: [channel], workspaces: ['*'] },
      settings: { url: carrierUrl + path, idempotent },
    });
    return { account: data.id };
  };
  const email = [await make('email', '/once/a', true), await make('email', '/once/b', true)];
  const sms = [await make('sms', '/each/a', false), await make('sms', '/each/b', false)];
  await ask('PUT', '/api/admin/routes', {
    routes: [
      { channel: 'email', accounts: email, failover: true },
      { channel: 'sms', accounts: sms, failover: true },
    ],
  });
}

/** Each of a workspace's senders has a rate that a campaign reaches, and a few calls at once. */
export async function limitSenders({ baseUrl, workspaces }: Installation): Promise<void> {
  for (const [number, workspace] of workspaces.entries()) {
    const api = new ApiClient(baseUrl, workspace);
    for (const [channel, sender] of Object.entries(sendersOf(number))) {
      const limit = channel === 'voice' ? { rate: 40, concurrentCalls: 20 } : { rate: 300, burst: 50 };
      await api.expect('PUT', '/api/sender-limit', { channel, sender, ...limit });
    }
    await api.close();
  }
}
