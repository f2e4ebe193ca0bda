import { type Kysely, sql } from 'kysely';
import { type Account, providerName, type VendorKind } from '../../domain/account';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { CallbackAccount } from '../../providers/vendor/vendor';
import type { Sealing } from '../access/sealing';
import type { MessagingTables } from '../model/tables';
import { openAccountSecrets } from './account-secrets';
import { formerProofs } from './former-proofs';

/** Accounts as callbacks need them: by id, with every secret that may have signed. */
export interface CallbackAccounts {
  /**
   * Read for each callback, so that a change holds at once in every process. An account that was deleted is found for
   * some days more, because its carrier reports late.
   */
  find(kind: VendorKind | 'smtp', id: string): Promise<FoundAccount | undefined>;
}

export interface FoundAccount extends CallbackAccount {
  id: string;
  /** What the account's messages are stored with. */
  provider: string;
}

export function createCallbackAccounts(deps: {
  db: Kysely<MessagingTables>;
  sealing: Sealing;
  environment: readonly Account[];
  /** Secrets of an account of the environment. */
  secretsOf(account: Account): Record<string, unknown>;
}): CallbackAccounts {
  const { db, sealing, environment, secretsOf } = deps;
  return {
    async find(kind, id) {
      const own = environment.find((one) => one.id === id);
      if (own) {
        if (own.kind !== kind) return undefined;
        return {
          id,
          provider: providerName(own),
          settings: textsOf(own.settings),
          secrets: [textsOf(secretsOf(own))],
        };
      }
      const row = await db
        .selectFrom('accounts')
        .select(['id', 'kind', 'settings', 'secrets', 'key_id'])
        .select(['previous_secrets', 'previous_key_id', 'previous_until'])
        .where('id', '=', id)
        .where((where) =>
          where.or([
            where('deleted_at', 'is', null),
            where('deleted_at', '>', sql<Date>`now() - ${LIMITS.deletedAccountDays} * interval '1 day'`),
          ]),
        )
        .executeTakeFirst();
      if (!row || row.kind !== kind) return undefined;
      if (!sealing.keyIds.includes(row.key_id)) {
        // Another process may have it, and the carrier sends the callback again.
        const text = `This process lacks the key ${row.key_id} of the secrets of account ${id}; send the callback again`;
        throw new DomainError('dependency_down', text, { retryAfterSeconds: 30 });
      }
      return {
        id,
        provider: providerName({ id, kind: row.kind, source: 'api' }),
        settings: textsOf(row.settings),
        secrets: [openAccountSecrets(sealing, row), ...formerProofs(sealing, row)].map(textsOf),
      };
    },
  };
}

/**
 * All settings of vendors and of mail events are texts, because contracts/accounts.ts accepts nothing else.
 */
const textsOf = (values: Record<string, unknown>) => values as Record<string, string | undefined>;
