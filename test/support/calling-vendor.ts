import type { AddressInfo } from 'node:net';
import { callDocumentRoutes } from '../../src/http/call-documents';
import { inboundVendorRoutes } from '../../src/http/inbound-vendors';
import { buildServer } from '../../src/http/server';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { createVendorCalls, type VendorCalls } from '../../src/messaging/vendor-calls';
import type { Provider, Receipt } from '../../src/providers/provider';
import type { VendorAccount, VendorOptions } from '../../src/providers/vendor/vendor';
import { VENDORS } from '../../src/providers/vendor/vendors';
import type { Storage } from '../../src/storage/storage';
import { NO_MAIL } from '../providers/twilio/inbound-vendors';
import { NO_CALLERS } from './no-callers';

/** A vendor's calls with what they need of the service: the ledger of calls, its documents and its callbacks over HTTP. */
export interface CallingVendor {
  provider: Provider;
  calls: VendorCalls;
  receipts: Receipt[];
  /** Texts of documents that calls continue with, by their addresses elsewhere; all others answer 404. */
  elsewhere: Record<string, string>;
  /** What was asked for there. */
  fetched: { url: string; fields: Readonly<Record<string, string>> }[];
  close(): Promise<void>;
}

export async function startCallingVendor(
  storage: Storage,
  kind: 'twilio' | 'telnyx' | 'vonage',
  { settings, secrets }: Pick<VendorAccount, 'settings' | 'secrets'>,
  open: (options: VendorOptions) => Provider,
): Promise<CallingVendor> {
  const receipts: Receipt[] = [];
  const elsewhere: CallingVendor['elsewhere'] = {};
  const fetched: CallingVendor['fetched'] = [];
  const calls = createVendorCalls({
    db: storage.tables<MessagingTables>(),
    documents: {
      async fetch({ url, fields }) {
        fetched.push({ url, fields });
        const text = elsewhere[url];
        return text === undefined ? { problem: 'document_404' } : { url, text };
      },
    },
  });
  const account = { id: 'acc_1', provider: `${kind}:acc_1`, settings, secrets };
  let publicUrl = '';
  const deps = {
    accounts: { find: async () => ({ ...account, secrets: [secrets] }) },
    sendersRefused: async () => undefined,
    receiptsOf: () => async (some: Receipt[]) => void receipts.push(...some),
    inboundOf: () => async () => undefined,
    mailTools: NO_MAIL,
    publicUrl: () => publicUrl,
    calls,
    vendors: VENDORS,
    log: createLog('silent'),
  };
  const app = await buildServer({
    authenticator: NO_CALLERS,
    log: createLog('silent'),
    routes: [inboundVendorRoutes(deps), callDocumentRoutes(deps)],
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  publicUrl = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const provider = open({
    ...{ channel: 'voice', account, calls },
    addresses: {
      callback: (id) => `${publicUrl}/inbound/${kind}/acc_1?m=${id}`,
      document: (path) => `${publicUrl}/calls/${path}`,
    },
  });
  return {
    provider,
    calls,
    receipts,
    elsewhere,
    fetched,
    async close() {
      await app.close();
      await provider.close();
    },
  };
}
