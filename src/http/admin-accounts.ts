import {
  type AccountChange,
  accountBody,
  accountChange,
  accounts,
  checkedAccount,
  deletedAccount,
  oneAccount,
  reopenBody,
} from '../contracts/accounts';
import { answer, idParams } from '../contracts/common';
import type { Account, AccountState } from '../domain/account';
import type { Accounts } from '../messaging/carriers/accounts';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { generatorOf } from './request/idempotency';
import type { App } from './request/routing';
import { invalidRequest, parseBody, problemsOf } from './request/validation';

export interface AdminAccountsDeps {
  store: Accounts;
  /** How they stand, as all processes know. */
  states(): Promise<AccountState[]>;
  /** Why nothing is handed over by an account, if it could not be opened. */
  faultOf(accountId: string): string | undefined;
  /** Connects, sends nothing; good, it lets a refused account be tried at once. */
  check(account: Account): Promise<{ ok: boolean; detail: string }>;
}

/** Accounts at carriers: the installation's, so that only an owner sees and changes them (api.md 15). */
export function adminAccountRoutes({ store, states, faultOf, check }: AdminAccountsDeps): (app: App) => void {
  const config = { auth: 'session' } as const;
  const once = { config: { ...config, idempotent: true } } as const;
  const presentAll = presenter({ store, states, faultOf });
  const unknownWorkspaces = (body: unknown) =>
    store.unknownWorkspaces((body as { workspaces?: unknown } | null)?.workspaces);
  const present = async (account: Account) => (await presentAll([account]))[0];
  return (app) => {
    app.get('/api/admin/accounts', { config, schema: { operation: listAccounts } }, async () =>
      answer(200, 'Accounts', await presentAll(await store.list())),
    );

    const creating = {
      ...once,
      attachValidation: true,
      schema: { operation: createAccount, body: accountBody },
    };
    app.post('/api/admin/accounts', creating, async (request, reply) => {
      const found = problemsOf(request);
      // Unknown workspaces are reported together with what is malformed, so that one answer has every finding.
      if (found.length > 0) throw invalidRequest([...found, ...(await unknownWorkspaces(request.body))]);
      const made = await store.create(request.body, generatorOf(request));
      return reply.code(201).send(answer(201, 'Account created', await present(made)));
    });

    const one = (operation: typeof getAccount) => ({ config, schema: { operation, params: idParams } });
    app.get('/api/admin/accounts/:id', one(getAccount), async ({ params }) =>
      answer(200, 'Account', await present(await store.read(params.id))),
    );

    app.patch(
      '/api/admin/accounts/:id',
      {
        ...{ config, attachValidation: true },
        schema: { operation: changeAccount, params: idParams, body: accountChange },
      },
      async (request) => {
        const { params, body } = request;
        const found = [...problemsOf(request), ...(await unknownWorkspaces(body))];
        // Report the errors of the change and of the resulting account together.
        const changed = await store.change(params.id, membersOf(body), (merged) =>
          parseBody(accountBody, merged, found),
        );
        return answer(200, 'Account changed', await present(changed));
      },
    );

    app.delete('/api/admin/accounts/:id', one(deleteAccount), async ({ params }) => {
      await store.remove(params.id);
      return answer(200, 'Account deleted', { id: params.id });
    });

    app.post(
      '/api/admin/accounts/:id/reopen',
      { config, schema: { operation: reopenSenders, params: idParams, body: reopenBody } },
      async ({ params, body }) =>
        answer(200, 'Senders reopened', await present(await store.reopen(params.id, body))),
    );

    app.post('/api/admin/accounts/:id/check', one(checkAccount), async ({ params }) => {
      const found = await check(await store.read(params.id));
      return answer(200, found.ok ? 'Connected' : 'Not connected', found);
    });
  };
}

/** Accounts as they are shown, with how each stands. */
function presenter({ store, states, faultOf }: Pick<AdminAccountsDeps, 'store' | 'states' | 'faultOf'>) {
  const startedAt = new Date().toISOString();
  return async (accounts: readonly Account[]) => {
    const closed = await store.closedSenders(accounts.map(({ id }) => id));
    const standings = await states();
    return accounts.map((account) => ({
      ...shown(account),
      ...standing(account, standings, faultOf(account.id), startedAt),
      closedSenders: closed.get(account.id) ?? [],
    }));
  };
}

/** The groups of a body that may be malformed. */
function membersOf(body: AccountChange): AccountChange {
  const isGroup = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isGroup(body)) return {};
  const { settings, secrets, ...others } = body;
  return {
    ...others,
    ...(isGroup(settings) ? { settings } : {}),
    ...(isGroup(secrets) ? { secrets } : {}),
  };
}

/** Shows the names of the secrets that are set, and never their values. */
function shown({ secretNames, ratePerSecond, ...account }: Account) {
  return { ...account, secrets: [...secretNames], ...(ratePerSecond === undefined ? {} : { ratePerSecond }) };
}

/** An account with several channels stands as its worst one. */
function standing(
  { id }: Account,
  states: readonly AccountState[],
  fault: string | undefined,
  startedAt: string,
): Pick<AccountState, 'state' | 'reason' | 'nextTryAt'> & { since: string } {
  if (fault !== undefined) return { state: 'paused', reason: fault, since: startedAt };
  const own = states.filter(({ account }) => account === id);
  const worst =
    own.find(({ state }) => state === 'paused') ?? own.find(({ state }) => state === 'throttled') ?? own[0];
  const { state = 'ok', reason, since = startedAt, nextTryAt } = worst ?? {};
  return { state, since, ...(reason ? { reason } : {}), ...(nextTryAt ? { nextTryAt } : {}) };
}

const tag = 'Carriers';
const ONE = { tag, parameters: { id: EXAMPLE.account } } as const;

const ACCOUNT = {
  id: EXAMPLE.account,
  name: 'Second SMS carrier',
  kind: 'http' as const,
  channels: ['sms' as const],
  settings: { url: 'https://carrier.example/send', idempotent: true },
  secrets: ['headers'],
  workspaces: ['*'],
  ratePerSecond: 50,
  disabled: false,
  source: 'api' as const,
  state: 'ok' as const,
  since: EXAMPLE.at,
  closedSenders: [],
};

const listAccounts: Operation = {
  id: 'listAccounts',
  access: { role: 'owner' },
  tag,
  summary: 'List accounts at carriers',
  description:
    'Those of the environment (`default-email`, `default-sms`, `default-voice`) come first. An account that the carrier refuses at any process is `paused`.',
  answers: { 200: json('All of them.', accounts, answered(200, 'Accounts', [ACCOUNT])) },
};

const createAccount: Operation = {
  id: 'createAccount',
  access: { role: 'owner' },
  tag,
  summary: 'Create an account at a carrier',
  description:
    'Used within 5 seconds by every process, as soon as a route names it. The secrets are sealed; no answer shows them again.',
  body: jsonBody(accountBody, {
    http: {
      name: ACCOUNT.name,
      kind: 'http',
      channels: ['sms'],
      settings: ACCOUNT.settings,
      secrets: { headers: { authorization: 'Bearer c4rr13r-t0k3n' } },
      ratePerSecond: 50,
    },
  }),
  answers: { 201: json('Created.', oneAccount, answered(201, 'Account created', ACCOUNT)) },
  errors: ['limit_reached', 'dependency_down'],
};

const getAccount: Operation = {
  ...ONE,
  id: 'getAccount',
  access: { role: 'owner' },
  summary: 'Read an account',
  description:
    'With its state at all processes, and the names of the secrets that are set, never their values.',
  answers: { 200: json('The account.', oneAccount, answered(200, 'Account', ACCOUNT)) },
};

const changeAccount: Operation = {
  ...ONE,
  id: 'changeAccount',
  access: { role: 'owner' },
  summary: 'Change an account',
  description:
    'Members of `settings` and `secrets` are changed one by one; null takes one away. A refused account is tried at once with one message, and opens when that is taken. A channel for which a route names the account cannot be taken away, nor the `url` or `idempotent` of a carrier that is to get messages again which it may have taken.',
  body: jsonBody(accountChange, { slower: { ratePerSecond: 20 } }),
  answers: {
    200: json('Changed.', oneAccount, answered(200, 'Account changed', { ...ACCOUNT, ratePerSecond: 20 })),
  },
  errors: ['environment_account', 'account_routed', 'account_busy', 'dependency_down'],
};

const deleteAccount: Operation = {
  ...ONE,
  id: 'deleteAccount',
  access: { role: 'owner' },
  summary: 'Delete an account',
  description: 'What its carrier reports later is taken for 7 days more.',
  answers: {
    200: json('Deleted.', deletedAccount, answered(200, 'Account deleted', { id: EXAMPLE.account })),
  },
  errors: ['environment_account', 'account_routed', 'account_busy'],
};

const reopenSenders: Operation = {
  ...ONE,
  id: 'reopenSenders',
  access: { role: 'owner' },
  summary: 'Reopen senders that an account’s carrier has refused',
  description:
    'A sender that the carrier refuses, such as a number that is not registered with it, is closed at this account alone: its messages go to the next account of a route with `failover`, or wait. Once the carrier takes it, reopen it here: one sender, those of a channel or, with neither member, all of the account. One that is open already stays so.',
  body: jsonBody(reopenBody, { one: { channel: 'sms', sender: '+12025550100' } }),
  answers: { 200: json('Reopened.', oneAccount, answered(200, 'Senders reopened', ACCOUNT)) },
};

const checkAccount: Operation = {
  ...ONE,
  id: 'checkAccount',
  access: { role: 'owner' },
  summary: 'See whether an account’s carrier can be reached',
  description: 'Connects and sends nothing. If it connects, a refused account is tried at once.',
  answers: {
    200: json(
      'What was found.',
      checkedAccount,
      answered(200, 'Connected', { ok: true, detail: 'carrier.example:443: connected' }),
    ),
  },
};
