import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Config } from '../config';
import { dataDirectoryKey, secretsKeyFile } from '../credentials/secrets-key';
import { DomainError } from '../domain/errors';
import type { Log } from '../log';
import {
  installationSecret,
  knownInstallationSecret,
  sealInstallationSecrets,
} from '../messaging/access/installation-secret';
import { createSealing, type Sealing } from '../messaging/access/sealing';
import { sealAccountsAnew } from '../messaging/carriers/account-secrets';
import type { MessagingTables } from '../messaging/model/tables';
import { sealSendersAnew } from '../messaging/senders/registered-senders';
import { missingKeys, sealStoredSecrets } from '../messaging/webhooks/sealed-secrets';
import { StartupError } from '../startup-error';

/**
 * How secrets in the database are encrypted (decision 19). With configured keys, all of them are. Without,
 * those of webhooks are under a key of the installation, which is in the same database. When keys are
 * configured later, that key is kept, itself encrypted, for the secrets under it.
 */
export interface Secrets {
  ofInstallation(name: string): Promise<string>;
  ofWebhooks: Sealing;
  /** Also of senders. By keys from the configuration, or the data directory's: never by one that the same database holds. */
  ofAccounts: Sealing;
}

export async function openSecretsModule(
  config: Config,
  db: Kysely<MessagingTables>,
  log: Log,
): Promise<Secrets> {
  const [first, ...others] = config.secretsKeys;
  const outer = first && createSealing([first, ...others]);
  await refuseMissing(db, 'installation_secrets', outer?.keyIds ?? []);
  const ofWebhooks = first
    ? createSealing([first, ...others, ...(await ownKeys(db, outer))])
    : await ownSealing(db);
  await refuseMissing(db, 'webhooks', ofWebhooks.keyIds);

  if (outer) await sealInstallationSecrets(db, outer);
  const { sealed, unreadable } = await sealStoredSecrets(db, ofWebhooks);
  if (sealed > 0) log.info({ webhooks: sealed, keyId: ofWebhooks.keyId }, 'Sealed the secrets of webhooks');
  if (unreadable.length > 0) {
    const message =
      'The secrets of these webhooks were changed from outside; rotate them: nothing is delivered';
    log.warn({ webhookIds: unreadable }, message);
  }
  const ofAccounts = await sealingOfAccounts(config, db, log);
  return { ofWebhooks, ofAccounts, ofInstallation: (name) => installationSecret(db, name, outer) };
}

async function sealingOfAccounts(config: Config, db: Kysely<MessagingTables>, log: Log): Promise<Sealing> {
  const kept = await dataDirectoryKey(config.dataDir, { make: false });
  // Before a key is made: where the data directory was lost, a new one would pass for the one that sealed them.
  for (const table of KEPT_BY_DIRECTORY) {
    const refusal = await missingOfAccounts(config, db, table, kept);
    if (refusal) throw refusal;
  }
  const make = config.secretsKeys.length === 0;
  const file = kept ?? (make ? await dataDirectoryKey(config.dataDir, { make }) : undefined);
  const [first, ...others] = [...config.secretsKeys, ...(file ? [file] : [])];
  const sealing = first && createSealing([first, ...others]);
  if (!sealing) return NO_KEY;
  const unreadable = await sealAccountsAnew(db, sealing);
  if (unreadable.length > 0) {
    const message = 'The secrets of these accounts cannot be opened; set them anew: nothing is sent';
    log.warn({ accountIds: unreadable }, message);
  }
  const senders = await sealSendersAnew(db, sealing);
  if (senders.length > 0) {
    const message =
      'The DKIM keys of these senders were changed from outside; set them anew: mail leaves unsigned';
    log.warn({ senderIds: senders }, message);
  }
  return sealing;
}

/** Where the data directory cannot be written. Accounts of the environment need no key. */
const NO_KEY: Sealing = {
  keyId: '',
  keyIds: [],
  seal() {
    const text = 'There is no key to seal secrets with: set FANFARE_SECRETS_KEY, and restart';
    throw new DomainError('dependency_down', text);
  },
  open(_, keyId, about) {
    throw new Error(`The key ${keyId} is not there, with which the ${about} is sealed`);
  },
};

const OWN_KEY = 'sealing';
const keyOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

async function ownSealing(db: Kysely<MessagingTables>): Promise<Sealing> {
  return createSealing([keyOf(await installationSecret(db, OWN_KEY, undefined))]);
}

/** The installation's own key, if one was created before keys were configured. */
async function ownKeys(db: Kysely<MessagingTables>, outer: Sealing | undefined): Promise<Buffer[]> {
  const secret = await knownInstallationSecret(db, OWN_KEY, outer);
  return secret === undefined ? [] : [keyOf(secret)];
}

/** Tables whose secrets the key of the data directory opens as well. */
const KEPT_BY_DIRECTORY = ['accounts', 'registered_senders'] as const;
type SealedTable = 'installation_secrets' | 'webhooks' | (typeof KEPT_BY_DIRECTORY)[number];

/** What keeps a process with this configuration from starting, for want of a key. Changes nothing. */
export async function refusalsForKeys(config: Config, db: Kysely<MessagingTables>): Promise<StartupError[]> {
  const [first, ...others] = config.secretsKeys;
  const outer = first && createSealing([first, ...others]);
  const ofInstallation = await missingIn(db, 'installation_secrets', outer?.keyIds ?? []);
  // The key of the installation is one of these secrets.
  if (ofInstallation) return [ofInstallation];
  const file = await dataDirectoryKey(config.dataDir, { make: false });
  const found = [
    await missingIn(db, 'webhooks', keyIdsOf([...config.secretsKeys, ...(await ownKeys(db, outer))])),
    await missingOfAccounts(config, db, 'accounts', file),
    await missingOfAccounts(config, db, 'registered_senders', file),
  ];
  const refusals = found.filter((one) => one !== undefined);
  return [...new Map(refusals.map((one) => [one.message, one])).values()];
}

function keyIdsOf([first, ...others]: readonly Buffer[]): readonly string[] {
  return first ? createSealing([first, ...others]).keyIds : [];
}

async function refuseMissing(
  db: Kysely<MessagingTables>,
  table: SealedTable,
  keyIds: readonly string[],
): Promise<void> {
  const refusal = await missingIn(db, table, keyIds);
  if (refusal) throw refusal;
}

/** Where the variable was never set, it is the file that was lost or replaced. */
async function missingOfAccounts(
  config: Config,
  db: Kysely<MessagingTables>,
  table: (typeof KEPT_BY_DIRECTORY)[number],
  file: Buffer | undefined,
): Promise<StartupError | undefined> {
  const keyIds = keyIdsOf([...config.secretsKeys, ...(file ? [file] : [])]);
  if (config.secretsKeys.length > 0) return missingIn(db, table, keyIds);
  const missing = await missingKeys(db, table, keyIds);
  if (missing.length === 0) return undefined;
  const found = keyIds.length === 0 ? 'is not there' : `holds another one (${keyIds.join()})`;
  return new StartupError(
    `Secrets of ${table === 'accounts' ? 'accounts' : 'senders'} are sealed with the key ${missing.join(' and ')}, and ${secretsKeyFile(config.dataDir)} ${found}`,
    `Put the file back from its copy; docs/operating.md (Secrets in the database) tells what to do when a key is lost.`,
  );
}

async function missingIn(
  db: Kysely<MessagingTables>,
  table: SealedTable,
  keyIds: readonly string[],
): Promise<StartupError | undefined> {
  const missing = await missingKeys(db, table, keyIds);
  if (missing.length === 0) return undefined;
  const [noun, verb] = missing.length === 1 ? ['key', 'is'] : ['keys', 'are'];
  const sealed = `Secrets in the database are sealed with the ${noun} ${missing.join(' and ')}`;
  const more = 'docs/operating.md (Secrets in the database) tells how, and what to do when a key is lost.';
  if (keyIds.length === 0)
    return new StartupError(`${sealed}, and FANFARE_SECRETS_KEY is not set`, `Set it to that key; ${more}`);
  return new StartupError(
    `${sealed}, which ${verb} not in FANFARE_SECRETS_KEY (it has ${keyIds.join(' and ')})`,
    `Name the earlier key in FANFARE_SECRETS_KEY, behind the new one; ${more}`,
  );
}
