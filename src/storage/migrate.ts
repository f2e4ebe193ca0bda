import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, Migrator, sql } from 'kysely';
import { LIMITS } from '../domain/limits';
import { isSmall } from './database-size';
import type { GradualUpdate } from './gradual-updates';
import * as initial from './migrations/0001-initial';
import * as campaigns from './migrations/0002-campaigns';
import * as callOptions from './migrations/0003-call-options';
import * as callRecords from './migrations/0004-call-records';
import * as webhooks from './migrations/0005-webhooks';
import * as optOut from './migrations/0006-opt-out';
import * as policy from './migrations/0007-policy';
import * as smsParts from './migrations/0008-sms-parts';
import * as softBounces from './migrations/0009-soft-bounces';
import * as webhookSecrets from './migrations/0010-webhook-secrets';
import * as policyFollowed from './migrations/0011-policy-followed';
import * as recipientsInPlace from './migrations/0012-recipients-in-place';
import * as lostIds from './migrations/0013-lost-ids';
import * as callPlaces from './migrations/0014-call-places';
import * as templateVersionCalls from './migrations/0015-template-version-calls';
import * as callFences from './migrations/0016-call-fences';
import * as waiting from './migrations/0017-waiting';
import * as audienceFreezes from './migrations/0018-audience-freezes';
import * as canceledAtOnce from './migrations/0019-canceled-at-once';
import * as flows from './migrations/0020-flows';
import * as expiringMessages from './migrations/0021-expiring-messages';
import * as controlApplied from './migrations/0050-control-applied';
import * as workspaceStops from './migrations/0051-workspace-stops';
import * as approvals from './migrations/0052-approvals';
import * as ownAudiences from './migrations/0053-own-audiences';
import * as explained from './migrations/0055-explained';
import * as peopleByAddress from './migrations/0056-people-by-address';
import * as releaseStages from './migrations/0057-release-stages';
import * as messageLists from './migrations/0060-message-lists';
import * as accounts from './migrations/0061-accounts';
import * as contactsFound from './migrations/0070-contacts-found';
import * as recipientsByCode from './migrations/0071-recipients-by-code';
import * as tagsAndNotes from './migrations/0080-tags-and-notes';
import * as runTimeline from './migrations/0081-run-timeline';
import * as erasures from './migrations/0082-erasures';
import * as messageMinutes from './migrations/0083-message-minutes';
import * as rolesAndScopes from './migrations/0085-roles-and-scopes';
import * as logInDelays from './migrations/0086-log-in-delays';
import * as audit from './migrations/0090-audit';
import * as sessionsListed from './migrations/0091-sessions-listed';
import * as totp from './migrations/0092-totp';
import * as callbacks from './migrations/0095-callbacks';
import * as vendorCalls from './migrations/0096-vendor-calls';
import * as doubts from './migrations/0097-doubts';
import * as registeredSenders from './migrations/0098-registered-senders';
import * as eventTokens from './migrations/0099-event-tokens';
import * as auditAppend from './migrations/0100-audit-append';
import * as accountCalls from './migrations/0103-account-calls';
import * as accountPauses from './migrations/0104-account-pauses';
import * as recipientCodes from './migrations/0105-recipient-codes';
import * as processes from './migrations/0106-processes';
import * as gradual from './migrations/0109-gradual-updates';
import * as runRetention from './migrations/0110-run-retention';
import * as roomForReceipts from './migrations/0111-room-for-receipts';
import * as accountSenders from './migrations/0114-account-senders';
import * as mixedCaseAddresses from './migrations/0116-mixed-case-addresses';
import * as campaignsInUse from './migrations/0117-campaigns-in-use';
import * as roomForOutcomes from './migrations/0118-room-for-outcomes';
import * as dueGroups from './migrations/0119-due-groups';
import * as narrowIndexes from './migrations/0121-narrow-indexes';
import * as plannedLaunches from './migrations/0122-planned-launches';
import * as unwantedMessages from './migrations/0123-unwanted-messages';
import * as holdChanges from './migrations/0124-hold-changes';
import * as inboundParts from './migrations/0125-inbound-parts';
import * as holdsAside from './migrations/0126-holds-aside';
import * as messagesInDoubt from './migrations/0127-messages-in-doubt';
import * as latestToMixedCase from './migrations/0128-latest-to-mixed-case';
import { splitStatements } from './split-statements';

/** Every migration, in order. A released one is never edited; a change of the schema is a new entry. */
export const MIGRATIONS: Record<string, string> = {
  '0001-initial': initial.UP,
  '0002-campaigns': campaigns.UP,
  '0003-call-options': callOptions.UP,
  '0004-call-records': callRecords.UP,
  '0005-webhooks': webhooks.UP,
  '0006-opt-out': optOut.UP,
  '0007-policy': policy.UP,
  '0008-sms-parts': smsParts.UP,
  '0009-soft-bounces': softBounces.UP,
  '0010-webhook-secrets': webhookSecrets.UP,
  '0011-policy-followed': policyFollowed.UP,
  '0012-recipients-in-place': recipientsInPlace.UP,
  '0013-lost-ids': lostIds.UP,
  '0014-call-places': callPlaces.UP,
  '0015-template-version-calls': templateVersionCalls.UP,
  '0016-call-fences': callFences.UP,
  '0017-waiting': waiting.UP,
  '0018-audience-freezes': audienceFreezes.UP,
  '0019-canceled-at-once': canceledAtOnce.UP,
  '0020-flows': flows.UP,
  '0021-expiring-messages': expiringMessages.UP,
  '0050-control-applied': controlApplied.UP,
  '0051-workspace-stops': workspaceStops.UP,
  '0052-approvals': approvals.UP,
  '0053-own-audiences': ownAudiences.UP,
  '0055-explained': explained.UP,
  '0056-people-by-address': peopleByAddress.UP,
  '0057-release-stages': releaseStages.UP,
  '0060-message-lists': messageLists.UP,
  '0061-accounts': accounts.UP,
  '0070-contacts-found': contactsFound.UP,
  '0071-recipients-by-code': recipientsByCode.UP,
  '0080-tags-and-notes': tagsAndNotes.UP,
  '0081-run-timeline': runTimeline.UP,
  '0082-erasures': erasures.UP,
  '0083-message-minutes': messageMinutes.UP,
  '0085-roles-and-scopes': rolesAndScopes.UP,
  '0086-log-in-delays': logInDelays.UP,
  '0090-audit': audit.UP,
  '0091-sessions-listed': sessionsListed.UP,
  '0092-totp': totp.UP,
  '0095-callbacks': callbacks.UP,
  '0096-vendor-calls': vendorCalls.UP,
  '0097-doubts': doubts.UP,
  '0098-registered-senders': registeredSenders.UP,
  '0099-event-tokens': eventTokens.UP,
  '0100-audit-append': auditAppend.UP,
  '0105-recipient-codes': recipientCodes.UP,
  '0106-processes': processes.UP,
  '0109-gradual-updates': gradual.UP,
  '0110-run-retention': runRetention.UP,
  '0111-room-for-receipts': roomForReceipts.UP,
  '0114-account-senders': accountSenders.UP,
  '0103-account-calls': accountCalls.UP,
  '0104-account-pauses': accountPauses.UP,
  '0116-mixed-case-addresses': mixedCaseAddresses.UP,
  '0117-campaigns-in-use': campaignsInUse.UP,
  '0118-room-for-outcomes': roomForOutcomes.UP,
  '0119-due-groups': dueGroups.UP,
  '0120-due-groups-filled': dueGroups.FILLED,
  '0121-narrow-indexes': narrowIndexes.UP,
  '0122-planned-launches': plannedLaunches.UP,
  '0123-unwanted-messages': unwantedMessages.UP,
  '0124-hold-changes': holdChanges.UP,
  '0125-inbound-parts': inboundParts.UP,
  '0126-holds-aside': holdsAside.UP,
  '0127-messages-in-doubt': messagesInDoubt.UP,
  '0128-latest-to-mixed-case': latestToMixedCase.UP,
};

/** Indexes of tables that may be large, by the migration that they belong to (online-indexes.ts). */
const ONLINE: Record<string, string> = {
  '0002-campaigns': campaigns.INDEXES,
  '0007-policy': policy.INDEXES,
  '0011-policy-followed': policyFollowed.INDEXES,
  '0012-recipients-in-place': recipientsInPlace.INDEXES,
  '0014-call-places': callPlaces.INDEXES,
  '0018-audience-freezes': audienceFreezes.INDEXES,
  '0055-explained': explained.INDEXES,
  '0056-people-by-address': peopleByAddress.INDEXES,
  '0060-message-lists': messageLists.INDEXES,
  '0070-contacts-found': contactsFound.INDEXES,
  '0071-recipients-by-code': recipientsByCode.INDEXES,
  '0080-tags-and-notes': tagsAndNotes.INDEXES,
  '0082-erasures': erasures.INDEXES,
  '0110-run-retention': runRetention.INDEXES,
  '0116-mixed-case-addresses': mixedCaseAddresses.INDEXES,
  '0117-campaigns-in-use': campaignsInUse.INDEXES,
  '0121-narrow-indexes': narrowIndexes.INDEXES,
  '0122-planned-launches': plannedLaunches.INDEXES,
  '0124-hold-changes': holdChanges.INDEXES,
  '0128-latest-to-mixed-case': latestToMixedCase.INDEXES,
};

/** Columns of tables that may be large, filled row by row, by the migration that they belong to (gradual-updates.ts). */
const GRADUAL: Record<string, readonly GradualUpdate[]> = {
  '0012-recipients-in-place': recipientsInPlace.UPDATES,
  '0020-flows': flows.UPDATES,
  '0060-message-lists': messageLists.UPDATES,
  '0119-due-groups': dueGroups.UPDATES,
};

/** Statements for the online indexes of all migrations, in order. */
export const onlineIndexes = (): string =>
  Object.entries(ONLINE)
    .filter(([migration]) => migration in MIGRATIONS)
    .map(([, indexes]) => indexes)
    .join('\n');

export const gradualUpdates = (): GradualUpdate[] =>
  Object.entries(GRADUAL).flatMap(([migration, updates]) => (migration in MIGRATIONS ? updates : []));

/** Indexes that only builds from before a migration use (online-indexes.ts). */
export interface Retired {
  migration: string;
  indexes: readonly string[];
  /** The gradual update that must be complete before. */
  once?: string;
}

export const retired = (): Retired[] =>
  [
    { migration: '0119-due-groups', ...dueGroups.RETIRED },
    { migration: '0121-narrow-indexes', ...narrowIndexes.RETIRED },
    { migration: '0128-latest-to-mixed-case', ...latestToMixedCase.RETIRED },
  ].filter(({ migration }) => migration in MIGRATIONS);

/** The newest migration of this build. */
export const NEWEST_MIGRATION = Object.keys(MIGRATIONS).sort().at(-1) ?? '';

/** Called with the migrations in the database that this build does not know. */
export type OnNewer = (migrations: readonly string[]) => void;

/**
 * Brings the schema up to date under a database lock, so that many processes may start at once. Migrations are
 * plain SQL and go forward only. A migration that would wait for a lock makes every later statement on the table
 * wait behind it. It therefore gives up after `LIMITS.migrationLockMs`, and is tried again.
 */
export async function migrateToLatest(
  kysely: Kysely<unknown>,
  onNewer: OnNewer = () => {},
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  let newer = await migrationsOfNewerBuilds(kysely);
  if (newer.length > 0) onNewer(newer);
  for (let tries = 1; ; ) {
    const known = newer;
    const error = await cancelable(kysely, signal, (connection) => tryToMigrate(connection, known, signal));
    signal.throwIfAborted();
    if (error === undefined) return;
    newer = await migrationsOfNewerBuilds(kysely);
    if (newer.length > known.length) {
      // A newer build went on while this one waited for the lock, and Kysely refuses to run beside what it does not know.
      onNewer(newer);
      continue;
    }
    if (!isLockedOut(error) || tries === LIMITS.migrationTries) throw error;
    tries++;
    await delay(LIMITS.migrationPauseMs, undefined, { signal });
  }
}

/** Cancels the statement that runs when the signal comes: one on a large table, or the wait for another process that migrates. */
async function cancelable<T>(
  kysely: Kysely<unknown>,
  signal: AbortSignal,
  work: (connection: Kysely<unknown>) => Promise<T>,
): Promise<T> {
  return kysely.connection().execute(async (connection) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(connection);
    const cancel = () =>
      void sql`select pg_cancel_backend(${rows[0]?.pid}::int)`.execute(kysely).catch(() => undefined);
    signal.addEventListener('abort', cancel);
    try {
      return await work(connection);
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  });
}

async function tryToMigrate(
  kysely: Kysely<unknown>,
  newer: readonly string[],
  signal: AbortSignal,
): Promise<unknown> {
  const migrator = new Migrator({
    db: kysely,
    // Numbers are assigned before the work begins, so that a lower number may come after a higher one. No
    // migration depends on one with a higher number.
    allowUnorderedMigrations: true,
    provider: {
      getMigrations: async () =>
        Object.fromEntries(
          [...Object.entries(MIGRATIONS), ...newer.map((name) => [name, ''] as const)].map(([name, text]) => [
            name,
            {
              up: async (db: Kysely<unknown>) => {
                await sql`select set_config('lock_timeout', ${String(LIMITS.migrationLockMs)}, true)`.execute(
                  db,
                );
                for (const statement of splitStatements(text)) {
                  signal.throwIfAborted();
                  await sql.raw(statement).execute(db);
                }
              },
            },
          ]),
        ),
    },
  });
  // A lock that a migration takes is held until its transaction ends, so that all of them in one would keep writers out of
  // a large table for as long as they take together. A small database is up to date at once, or not at all.
  if (await isSmall(kysely)) return (await migrator.migrateToLatest()).error;
  for (;;) {
    const { error, results = [] } = await migrator.migrateUp();
    if (error !== undefined || results.length === 0) return error;
  }
}

/**
 * Migrations that this build does not know. In an upgrade while messages are sent, processes of the earlier build go on
 * beside a schema that the newer one has made; one of them that is started again then finds these.
 */
async function migrationsOfNewerBuilds(kysely: Kysely<unknown>): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string | null }>`
    select to_regclass('kysely_migration')::text as name`.execute(kysely);
  if (!tables[0]?.name) return [];
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(kysely);
  return rows.map(({ name }) => name).filter((name) => !(name in MIGRATIONS));
}

/**
 * PostgreSQL's lock_not_available and deadlock_detected: a transaction that writes to two tables in another order than the
 * migration changes them may win.
 */
const isLockedOut = (error: unknown) =>
  ['55P03', '40P01'].includes(String((error as { code?: unknown }).code));
