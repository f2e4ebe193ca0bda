import { accountBody, accountChange } from '../../contracts/accounts';
import { answer, idParams } from '../../contracts/common';
import type { Account } from '../../domain/account';
import type { Accounts } from '../../messaging/carriers/accounts';
import type { AccountState } from '../../messaging/outbox/deliver/account-breaker';
import { generatorOf } from '../idempotency';
import {
  changeAccount,
  checkAccount,
  createAccount,
  deleteAccount,
  getAccount,
  listAccounts,
} from '../operations/carriers';
import type { App } from '../routing';
import { parseBody } from '../validation';

export interface AdminAccountsDeps {
  store: Accounts;
  /** How they stand, as this process knows. */
  states(): AccountState[];
  /** Why nothing is handed over by an account, if it could not be opened. */
  faultOf(accountId: string): string | undefined;
  /** Connects, sends nothing; good, it lets a refused account be tried at once. */
  check(account: Account): Promise<{ ok: boolean; detail: string }>;
}

/** Accounts at carriers: the installation's, so that only an owner sees and changes them (api.md 15). */
export function adminAccountRoutes({ store, states, faultOf, check }: AdminAccountsDeps): (app: App) => void {
  const config = { auth: 'session' } as const;
  const startedAt = new Date().toISOString();
  const present = (account: Account) => ({
    ...shown(account),
    ...standing(account, states(), faultOf(account.id), startedAt),
  });
  return (app) => {
    app.get('/api/admin/accounts', { config, schema: { operation: listAccounts } }, async () =>
      answer(200, 'Accounts', (await store.list()).map(present)),
    );

    app.post(
      '/api/admin/accounts',
      { config: { ...config, idempotent: true }, schema: { operation: createAccount, body: accountBody } },
      async (request, reply) => {
        const made = await store.create(request.body, generatorOf(request));
        return reply.code(201).send(answer(201, 'Account created', present(made)));
      },
    );

    const one = (operation: typeof getAccount) => ({ config, schema: { operation, params: idParams } });
    app.get('/api/admin/accounts/:id', one(getAccount), async ({ params }) =>
      answer(200, 'Account', present(await store.read(params.id))),
    );

    app.patch(
      '/api/admin/accounts/:id',
      { config, schema: { operation: changeAccount, params: idParams, body: accountChange } },
      async ({ params, body }) => {
        const changed = await store.change(params.id, body, (merged) => parseBody(accountBody, merged));
        return answer(200, 'Account changed', present(changed));
      },
    );

    app.delete('/api/admin/accounts/:id', one(deleteAccount), async ({ params }) => {
      await store.remove(params.id);
      return answer(200, 'Account deleted', { id: params.id });
    });

    app.post('/api/admin/accounts/:id/check', one(checkAccount), async ({ params }) => {
      const found = await check(await store.read(params.id));
      return answer(200, found.ok ? 'Connected' : 'Not connected', found);
    });
  };
}

/** Of the secrets only the names that are set. */
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
