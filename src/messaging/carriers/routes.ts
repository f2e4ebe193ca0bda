import type { Kysely } from 'kysely';
import type { Account } from '../../domain/account';
import { DomainError, type FieldError } from '../../domain/errors';
import type { Route } from '../../domain/route';
import type { MessagingTables } from '../tables';
import { live, toAccount } from './accounts';
import { raiseRevision } from './revision';

/** Which account a message leaves by, as owners of the installation set it: one list, changed as a whole. */
export interface Routes {
  read(): Promise<Route[]>;
  /** Throws `invalid_request` for accounts and workspaces that are not there. */
  put(routes: readonly Route[]): Promise<Route[]>;
}

export function createRoutes(deps: {
  db: Kysely<MessagingTables>;
  environment: readonly Account[];
  onChanged(): Promise<void>;
}): Routes {
  const { db, environment, onChanged } = deps;
  return {
    async read() {
      const { routes } = await db.selectFrom('carrier_settings').select('routes').executeTakeFirstOrThrow();
      return routes;
    },
    async put(routes) {
      await db.transaction().execute(async (tx) => {
        // Raised first, so that no account is deleted while it is being named here.
        await raiseRevision(tx);
        const accounts = [...environment, ...(await live(tx).execute()).map(toAccount)];
        const workspaces = await tx.selectFrom('workspaces').select('id').execute();
        const errors = findings(routes, accounts, new Set(workspaces.map(({ id }) => id)));
        if (errors.length > 0) {
          throw new DomainError('invalid_request', 'A route names what is not there', { errors });
        }
        await tx
          .updateTable('carrier_settings')
          .set({ routes: JSON.stringify(routes) })
          .execute();
      });
      await onChanged();
      return [...routes];
    },
  };
}

function findings(
  routes: readonly Route[],
  accounts: readonly Account[],
  workspaces: ReadonlySet<string>,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, { channel, workspace, accounts: named }] of routes.entries()) {
    const at = `routes.${i}`;
    if (workspace !== undefined && !workspaces.has(workspace)) {
      errors.push({ path: `${at}.workspace`, code: 'not_found', message: 'There is no such workspace' });
    }
    for (const [j, { account: id }] of named.entries()) {
      const path = `${at}.accounts.${j}.account`;
      const account = accounts.find((one) => one.id === id);
      if (!account) errors.push({ path, code: 'not_found', message: 'There is no such account' });
      else if (!account.channels.includes(channel)) {
        errors.push({ path, code: 'not_applicable', message: `The account has no channel ${channel}` });
      }
    }
  }
  return errors;
}
