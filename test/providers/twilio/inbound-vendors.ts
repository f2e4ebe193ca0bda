import type { AddressInfo } from 'node:net';
import { type InboundVendorsDeps, inboundVendorRoutes } from '../../../src/http/inbound-vendors';
import { buildServer } from '../../../src/http/server';
import { createLog } from '../../../src/log';
import type { VendorCalls } from '../../../src/messaging/vendor-calls';
import type { MailEventTools } from '../../../src/providers/mail-events/mail-events';
import type { InboundSink, ReceiptSink } from '../../../src/providers/provider';
import type { VendorAccount } from '../../../src/providers/vendor/vendor';
import { VENDORS } from '../../../src/providers/vendor/vendors';
import { NO_CALLERS } from '../../support/no-callers';

export const NO_MAIL: MailEventTools = {
  now: Date.now,
  get: () => Promise.reject(new Error('Nothing is fetched here')),
  isFirstUse: async () => true,
};

const NO_CALLS: VendorCalls = {
  begin: async () => ({ path: 'token/start' }),
  drop: async () => undefined,
  accountOf: async () => undefined,
  next: async () => undefined,
  goOn: async () => undefined,
  hear: async () => ({ receipts: [], isOver: false }),
  ended: async () => undefined,
};

/** The route of vendors' callbacks for one account, without anything behind it. */
export async function startInboundVendors({
  account,
  takeReceipts,
  takeInbound = async () => undefined,
  before = [],
  publicUrl,
  mailTools = NO_MAIL,
  calls = {},
  sendersRefused = async () => undefined,
}: {
  account: VendorAccount;
  takeReceipts: ReceiptSink;
  takeInbound?: InboundSink;
  /** Secrets that hold for a while still. */
  before?: VendorAccount['secrets'][];
  publicUrl?: string;
  mailTools?: MailEventTools;
  calls?: Partial<VendorCalls>;
  sendersRefused?: InboundVendorsDeps['sendersRefused'];
}): Promise<{ url: string; close(): Promise<void> }> {
  let url = '';
  const app = await buildServer({
    authenticator: NO_CALLERS,
    log: createLog('silent'),
    routes: [
      inboundVendorRoutes({
        accounts: {
          async find(kind, id) {
            if (id !== account.id) return undefined;
            const { settings, secrets } = account;
            return { id, provider: `${kind}:${id}`, settings, secrets: [secrets, ...before] };
          },
        },
        sendersRefused,
        receiptsOf: () => takeReceipts,
        inboundOf: () => takeInbound,
        mailTools,
        publicUrl: () => publicUrl ?? url,
        calls: { ...NO_CALLS, ...calls },
        vendors: VENDORS,
        log: createLog('silent'),
      }),
    ],
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return { url, close: async () => void (await app.close()) };
}
