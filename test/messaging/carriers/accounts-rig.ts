import { accountBody } from '../../../src/contracts/accounts';
import { type Account, defaultAccountId, providerName } from '../../../src/domain/account';
import { CHANNELS } from '../../../src/domain/channel';
import { createSealing } from '../../../src/messaging/access/sealing';
import { type Accounts, createAccounts } from '../../../src/messaging/carriers/accounts';
import type { CarriersDeps } from '../../../src/messaging/carriers/carriers';
import { createRoutes, type Routes } from '../../../src/messaging/carriers/routes';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import type { Storage } from '../../../src/storage/storage';
import { ScriptedProvider } from '../scripted-provider';

export const ENVIRONMENT: Account[] = CHANNELS.map((channel) => ({
  ...{ id: defaultAccountId(channel), name: channel, kind: 'simulator', channels: [channel], settings: {} },
  ...{ secretNames: [], workspaces: ['*'], ratePerSecond: undefined, disabled: false, source: 'environment' },
}));

export const SEALING = createSealing([Buffer.alloc(32, 7)]);

/** Accounts and routes as an owner at another process changes them: nobody is told, everybody has to find out. */
export interface AccountsRig {
  accounts: Accounts;
  routes: Routes;
  /** Of a carrier for SMS by HTTP. */
  make(more?: Record<string, unknown>): Promise<Account>;
  change(account: Account, change: Record<string, unknown>): Promise<Account>;
  /** What a process is made with: each account is this scripted provider, or a new one. */
  carriers(script?: (account: Account) => ScriptedProvider | undefined): CarriersDeps & Opened;
}

interface Opened {
  /** Every provider that was opened, by account, the newest last. */
  opened: Map<string, ScriptedProvider[]>;
  of(account: Account): ScriptedProvider;
}

export function createAccountsRig(storage: Storage): AccountsRig {
  const db = storage.tables<MessagingTables>();
  const deps = { db, sealing: SEALING, environment: ENVIRONMENT, onChanged: async () => undefined };
  const accounts = createAccounts(deps);
  return {
    accounts,
    routes: createRoutes(deps),
    make: (more = {}) =>
      accounts.create(
        accountBody.parse({
          ...{
            kind: 'http',
            name: 'Carrier',
            channels: ['sms'],
            settings: { url: 'https://carrier.example/' },
          },
          ...more,
        }),
      ),
    change: ({ id }, change) => accounts.change(id, change, (merged) => accountBody.parse(merged)),
    carriers(script = () => undefined) {
      const opened = new Map<string, ScriptedProvider[]>();
      return {
        ...{ sealing: SEALING, environment: ENVIRONMENT, opened },
        of(account) {
          const provider = opened.get(account.id)?.at(-1);
          if (!provider) throw new Error(`${account.id} is not open`);
          return provider;
        },
        async open(account) {
          const provider = script(account) ?? new ScriptedProvider('sms', {}, providerName(account));
          opened.set(account.id, [...(opened.get(account.id) ?? []), provider]);
          return [provider];
        },
      };
    },
  };
}
