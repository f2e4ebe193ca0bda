import { asUser } from '../support/as-user';
import type { Installation } from './installation';

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
