import { isDeepStrictEqual } from 'node:util';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { AccountChange, AccountInput } from '../../contracts/accounts';
import { type Account, defaultAccountId, providerName } from '../../domain/account';
import { CHANNELS, type Channel } from '../../domain/channel';
import { DomainError, type FieldError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { type IdGenerator, RANDOM } from '../access/id-generator';
import { LOST_KEY, type Sealing } from '../access/sealing';
import { allDue } from '../model/due-groups';
import type { MessagingTables } from '../model/tables';
import { openAccountSecrets, sealAccountSecrets } from './account-secrets';
import { type ClosedSender, closedSendersOf, reopenSenders } from './closed-senders';
import { keptFormer, proofsOf } from './former-proofs';
import { raiseRevision } from './revision';

/** Accounts made by the API, as owners of the installation see and change them. All fail with `not_found`. */
export interface Accounts {
  list(): Promise<Account[]>;
  read(id: string): Promise<Account>;
  create(input: AccountInput, generator?: IdGenerator): Promise<Account>;
  /** Those of a request that do not exist. It may be malformed; what is no list names none. */
  unknownWorkspaces(given: unknown): Promise<FieldError[]>;
  /** `check` checks the resulting account like a new one. Throws `account_routed` and `account_busy`. */
  change(id: string, change: AccountChange, check: (body: unknown) => AccountInput): Promise<Account>;
  secretsOf(id: string): Promise<Record<string, unknown>>;
  /** Senders that the carriers of these accounts refuse, by account. */
  closedSenders(ids: readonly string[]): Promise<Map<string, ClosedSender[]>>;
  reopen(id: string, which: { channel?: Channel | undefined; sender?: string | undefined }): Promise<Account>;
  /** Throws `account_routed` and `account_busy`. */
  remove(id: string): Promise<void>;
}

type Row = Selectable<MessagingTables['accounts']>;
type Tx = Transaction<MessagingTables>;

export function createAccounts(deps: {
  db: Kysely<MessagingTables>;
  sealing: Sealing;
  /** The environment's, one for each channel. */
  environment: readonly Account[];
  /** This process need not wait to learn of the change. */
  onChanged(): Promise<void>;
}): Accounts {
  const { db, sealing, environment, onChanged } = deps;

  async function inOrder<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const result = await db.transaction().execute(async (tx) => {
      await raiseRevision(tx);
      return work(tx);
    });
    await onChanged();
    return result;
  }

  return {
    async list() {
      const rows = await live(db).orderBy('id').execute();
      return [...environment, ...rows.map(toAccount)];
    },
    async read(id) {
      return environment.find((one) => one.id === id) ?? toAccount(await find(db, id));
    },
    secretsOf: async (id) => openAccountSecrets(sealing, await find(db, id)),
    create: (input, generator = RANDOM) => inOrder((tx) => insert(tx, sealing, generator.id('acc'), input)),
    unknownWorkspaces: (given) => unknownIn(db, Array.isArray(given) ? given : []),
    change: (id, change, check) => {
      refuseEnvironment(id);
      return inOrder((tx) => update(tx, sealing, id, (row, secrets) => check(changed(row, secrets, change))));
    },
    closedSenders: (ids) => closedSendersOf(db, ids),
    async reopen(id, which) {
      const account = environment.find((one) => one.id === id) ?? toAccount(await find(db, id));
      await reopenSenders(db, id, which);
      await onChanged();
      return account;
    },
    async remove(id) {
      refuseEnvironment(id);
      await inOrder((tx) => remove(tx, id));
    },
  };
}

/** A repeated call with the same id finds its account. */
async function insert(tx: Tx, sealing: Sealing, id: string, input: AccountInput): Promise<Account> {
  const known = await live(tx).where('id', '=', id).executeTakeFirst();
  if (known) return toAccount(known);
  await refuseUnknownWorkspaces(tx, input.workspaces);
  const { count } = await tx
    .selectFrom('accounts')
    .select((on) => on.fn.countAll<number>().as('count'))
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (count >= LIMITS.accounts) {
    throw new DomainError(
      'limit_reached',
      `An installation has at most ${LIMITS.accounts} accounts; delete one first`,
    );
  }
  const row = await tx
    .insertInto('accounts')
    .values({ id, kind: input.kind, ...columnsOf(sealing, id, input) })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toAccount(row);
}

async function update(
  tx: Tx,
  sealing: Sealing,
  id: string,
  inputOf: (row: Row, secrets: Record<string, unknown>) => AccountInput,
): Promise<Account> {
  const row = await find(tx, id);
  const secrets = secretsUnlessLost(sealing, row);
  const before = proofsOf(row.settings, secrets);
  const input = inputOf(row, secrets);
  await refuseUnknownWorkspaces(tx, input.workspaces);
  await refuseRoutedChannels(tx, row, input.channels);
  if (leavesCarrier(row.settings, input.settings)) {
    const remedy =
      'disable it, and change it when they are done, or make another account for another carrier';
    await refuseBusy(tx, toAccount(row), remedy);
  }
  const proofsStay = isDeepStrictEqual(before, proofsOf(input.settings, input.secrets));
  const after = await tx
    .updateTable('accounts')
    .set({
      ...columnsOf(sealing, id, input),
      ...(proofsStay ? {} : keptFormer(sealing, row, before)),
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return toAccount(after);
}

/** Empty where the key was lost and given up (docs/operating.md), so that all of them can be set anew. */
const secretsUnlessLost = (sealing: Sealing, row: Row): Record<string, unknown> =>
  row.key_id === LOST_KEY ? {} : openAccountSecrets(sealing, row);

async function remove(tx: Tx, id: string): Promise<void> {
  const account = toAccount(await find(tx, id));
  await refuseRoutedChannels(tx, { id, channels: [...CHANNELS] }, []);
  await refuseBusy(tx, account, 'disable it, and delete it when they are done');
  await tx.deleteFrom('account_pauses').where('account_id', '=', id).execute();
  await tx.deleteFrom('account_senders').where('account_id', '=', id).execute();
  await tx.updateTable('accounts').set({ deleted_at: sql<Date>`now()` }).where('id', '=', id).execute();
}

/**
 * What a carrier has perhaps taken is given again with its key. No other carrier knows that, and one that is idempotent no longer
 * would send it twice.
 */
function leavesCarrier(before: Record<string, unknown>, after: Record<string, unknown>): boolean {
  if (before.idempotent === true && after.idempotent !== true) return true;
  return after.idempotent === true && before.url !== after.url;
}

/** A call is steered by its account until it ends, which is within its lease even if no end is reported. */
async function refuseBusy(tx: Tx, account: Account, remedy: string): Promise<void> {
  const { id, settings } = account;
  const provider = providerName(account);
  // What may have been taken there and is tried again waits for this account alone (domain/route.ts).
  const awaits = sql`exists (select from ${allDue(NEVER_MORE)} where m.provider = ${provider} and m.attempt > 0)`;
  const { rows } = await sql<{ messages: boolean; calls: boolean }>`
    select exists (select from handover_batches where provider = ${provider})
      or ${settings.idempotent === true ? awaits : sql`false`} as messages, exists (
      select from vendor_calls
      where account_id = ${id} and ended_at is null and created_at > now() - ${LIMITS.callLeaseSeconds} * interval '1 second'
    ) as calls`.execute(tx);
  const [busy] = rows;
  if (!busy?.messages && !busy?.calls) return;
  const what = busy.messages ? 'Messages' : 'Calls';
  throw new DomainError('account_busy', `${what} are under way by account ${id}; ${remedy}`);
}

export const live = (db: Kysely<MessagingTables>) =>
  db.selectFrom('accounts').selectAll().where('deleted_at', 'is', null);

async function find(db: Kysely<MessagingTables>, id: string): Promise<Row> {
  const row = await live(db).where('id', '=', id).executeTakeFirst();
  if (!row)
    throw new DomainError(
      'not_found',
      `No account ${id} in this installation; GET /api/admin/accounts lists those that there are`,
    );
  return row;
}

const ENVIRONMENT = CHANNELS.map(defaultAccountId);

function refuseEnvironment(id: string): void {
  if (!ENVIRONMENT.includes(id)) return;
  const text = `The account ${id} is made by the variables of the environment; change these and restart`;
  throw new DomainError('environment_account', text);
}

/** Members of settings and secrets one by one; null takes away. */
function changed(row: Row, secrets: Record<string, unknown>, change: AccountChange): unknown {
  const merged = (before: Record<string, unknown>, after: Record<string, unknown> = {}) =>
    Object.fromEntries(Object.entries({ ...before, ...after }).filter(([, value]) => value !== null));
  return {
    kind: row.kind,
    name: change.name ?? row.name,
    channels: change.channels ?? row.channels,
    // Accounts of earlier versions may name workspaces beside `*`.
    workspaces: change.workspaces ?? (row.workspaces.includes('*') ? ['*'] : row.workspaces),
    ratePerSecond: change.ratePerSecond === undefined ? row.rate_per_second : change.ratePerSecond,
    ...callsMaxOf(row, change),
    disabled: change.disabled ?? row.disabled,
    settings: merged(row.settings, change.settings),
    secrets: merged(secrets, change.secrets),
  };
}

/** Left out where there is none, because most kinds have no such member. */
function callsMaxOf({ max_concurrent_calls: before }: Row, { maxConcurrentCalls: after }: AccountChange) {
  const callsMax = after === undefined ? before : after;
  return callsMax === null ? {} : { maxConcurrentCalls: callsMax };
}

function columnsOf(sealing: Sealing, id: string, input: AccountInput) {
  return {
    name: input.name,
    channels: [...input.channels],
    settings: JSON.stringify(input.settings),
    ...sealAccountSecrets(sealing, id, input.secrets),
    workspaces: input.workspaces,
    rate_per_second: input.ratePerSecond ?? null,
    max_concurrent_calls: ('maxConcurrentCalls' in input ? input.maxConcurrentCalls : null) ?? null,
    disabled: input.disabled,
  };
}

/** Later than any message is due. */
const NEVER_MORE = new Date('9999-12-31');

async function refuseUnknownWorkspaces(tx: Tx, workspaces: readonly string[]): Promise<void> {
  const errors = await unknownIn(tx, workspaces);
  if (errors.length > 0)
    throw new DomainError('invalid_request', `${errors[0]?.path}: ${errors[0]?.message}`, { errors });
}

async function unknownIn(db: Kysely<MessagingTables>, workspaces: readonly unknown[]): Promise<FieldError[]> {
  const ids = workspaces.filter((one) => typeof one === 'string' && one !== '*') as string[];
  // A longer list is refused for its length.
  if (ids.length === 0 || ids.length > LIMITS.accountWorkspaces) return [];
  const rows = await db.selectFrom('workspaces').select('id').where('id', 'in', ids).execute();
  const known = new Set<unknown>(['*', ...rows.map((row) => row.id)]);
  return workspaces.flatMap((one, i): FieldError[] =>
    typeof one !== 'string' || known.has(one)
      ? []
      : [
          {
            path: `workspaces.${i}`,
            code: 'not_found',
            message: `There is no workspace ${one.slice(0, LIMITS.idChars)}`,
          },
        ],
  );
}

/** As routes to an account without their channel cannot be put, a change cannot make them. */
async function refuseRoutedChannels(
  tx: Tx,
  { id, channels: before }: Pick<Row, 'id' | 'channels'>,
  after: readonly Channel[],
): Promise<void> {
  const lost = before.filter((one) => !after.includes(one));
  if (lost.length === 0) return;
  const { routes } = await tx.selectFrom('carrier_settings').select('routes').executeTakeFirstOrThrow();
  const route = routes.find(
    ({ channel, accounts }) => lost.includes(channel) && accounts.some(({ account }) => account === id),
  );
  if (!route) return;
  throw new DomainError(
    'account_routed',
    `A route for ${route.channel} names the account ${id}; change the routes first`,
  );
}

export function toAccount(row: Row): Account {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    channels: row.channels,
    settings: row.settings,
    secretNames: row.secret_names,
    workspaces: row.workspaces,
    ratePerSecond: row.rate_per_second ?? undefined,
    ...(row.max_concurrent_calls === null ? {} : { maxConcurrentCalls: row.max_concurrent_calls }),
    disabled: row.disabled,
    source: 'api',
  };
}
