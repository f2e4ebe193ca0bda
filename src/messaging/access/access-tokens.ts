import type { Kysely, Transaction } from 'kysely';
import type { AuditLog } from '../../audit/audit-log';
import type { AuditEvent } from '../../audit/entry';
import { type Scope, scopesOf } from '../../domain/access';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { type MaybePromise, whenDone } from '../../domain/maybe-promise';
import type { MessagingTables } from '../model/tables';
import type { AttemptLimit } from './attempt-limit';
import { createCredentialCache } from './credential-cache';
import { type LoginOrigin, type OnUnknown, UNKNOWN_ORIGIN } from './open-session';
import { hashSecret, matchesHash, newSecret } from './secrets';

const HOUR_MS = 3_600_000;

export interface ClientCredentials {
  id: string;
  secret: string;
  /** Network address that the attempt comes from. */
  address: string;
  origin?: LoginOrigin;
}

/** A client that has proved its identity. */
export interface KnownClient {
  clientId: string;
  workspaceId: string;
  /** Of the secret that proved it. */
  secretHash: string;
  origin?: LoginOrigin | undefined;
}

export interface IssuedToken {
  accessToken: string;
  validTill: Date;
  expiresInSeconds: number;
}

export interface TokenCaller {
  workspaceId: string;
  clientId: string;
  scopes: readonly Scope[];
  via: 'bearer';
}

export interface AccessTokens {
  /**
   * Fails with `invalid_client` for a client that is unknown, disabled or has another secret, without saying
   * which. Fails with `too_many_attempts` after too many of these failures.
   */
  checkClient(credentials: ClientCredentials): Promise<KnownClient>;
  /** Fails with `invalid_client` if the client was disabled, or its secret replaced, since it was checked. */
  issueToken(client: KnownClient, validHours: number): Promise<IssuedToken>;
  byAccessToken(token: string): MaybePromise<TokenCaller | undefined>;
  /** Ends a token of this client. Any other text is no token of this client, and nothing happens. */
  revokeToken(client: KnownClient, token: string): Promise<void>;
  /** Drops all cached tokens, because some of them were ended. */
  forgetTokens(): void;
}

export interface AccessTokensDeps {
  db: Kysely<MessagingTables>;
  now: () => number;
  attempts: AttemptLimit;
  audit: Pick<AuditLog, 'appendIn' | 'recordRepeated'>;
  onUnknown: OnUnknown;
}

export function createAccessTokens({ db, now, attempts, audit, onUnknown }: AccessTokensDeps): AccessTokens {
  const cache = createCredentialCache({
    now,
    load: (hash) => loadToken(db, hash),
  });

  return {
    async checkClient({ id, secret, address, origin }) {
      // A secret of 256 bits cannot be guessed. A client's failures are counted per address. Otherwise a
      // stranger who knows only its id could lock its owner out, and stop all campaigns.
      const subjects = [
        { name: `client ${id} from ${address}`, failuresMax: LIMITS.loginFailuresMax },
        { name: `clients from ${address}`, failuresMax: LIMITS.loginFailuresPerAddressMax },
      ];
      const client = await attempts.attempt(subjects, () => clientOf(db, { id, secret, now: now() }));
      // A caller who knows the secret is not guessing, so that a client that is enabled again need not wait.
      if (!client || client.disabled) {
        // Not waited for, so that the time of the answer does not reveal which clients exist.
        void recordRefusal({ db, audit, onUnknown }, id, origin);
        throw invalidClient();
      }
      return { clientId: id, workspaceId: client.workspaceId, secretHash: hashSecret(secret), origin };
    },
    async issueToken(client, validHours) {
      // The answer has whole seconds, and a token is valid exactly as long as the answer says.
      const validTill = new Date(Math.ceil(now() / 1_000) * 1_000 + validHours * HOUR_MS);
      const accessToken = newSecret('fft');
      const isIssued = await storeToken(db, client, { accessToken, validTill, nowMs: now() });
      if (!isIssued) {
        await audit.recordRepeated(tokenEvent(client, 'token.issue', 'refused'));
        throw invalidClient();
      }
      // A backend may ask for a token before each message, so that this is counted like what is refused.
      await audit.recordRepeated(tokenEvent(client, 'token.issue', 'ok'));
      return { accessToken, validTill, expiresInSeconds: (validHours * HOUR_MS) / 1_000 };
    },
    byAccessToken: (token) =>
      whenDone(cache.find(token), (held): TokenCaller | undefined => {
        if (!held || now() >= held.valid_till.getTime()) return undefined;
        const { workspace_id: workspaceId, client_id: clientId, scopes } = held;
        return { workspaceId, clientId, scopes, via: 'bearer' };
      }),
    async revokeToken(client, token) {
      await db.transaction().execute(async (tx) => {
        const { numUpdatedRows } = await tx
          .updateTable('access_tokens')
          .set({ revoked_at: new Date(now()) })
          .where('token_hash', '=', hashSecret(token))
          .where('client_id', '=', client.clientId)
          .where('revoked_at', 'is', null)
          .executeTakeFirst();
        if (numUpdatedRows > 0n) await audit.appendIn(tx, tokenEvent(client, 'token.revoke', 'ok'));
      });
      cache.forget(token);
    },
    forgetTokens: () => cache.forgetAll(),
  };
}

const invalidClient = () =>
  new DomainError('invalid_client', 'Client id or secret is wrong, or the client is disabled');

/** False when what the client has proved no longer holds; then nothing is stored. */
function storeToken(
  db: Kysely<MessagingTables>,
  client: KnownClient,
  { accessToken, validTill, nowMs }: { accessToken: string; validTill: Date; nowMs: number },
): Promise<boolean> {
  const { clientId, workspaceId } = client;
  return db.transaction().execute(async (tx) => {
    if (!(await lockProved(tx, client, nowMs))) return false;
    await tx
      .insertInto('access_tokens')
      .values({
        token_hash: hashSecret(accessToken),
        client_id: clientId,
        workspace_id: workspaceId,
        valid_till: validTill,
        created_at: new Date(nowMs),
      })
      .execute();
    return true;
  });
}

/**
 * Whether what the client has proved still holds. A client is checked before its request's body is read, which can
 * take long, so that its secret may be gone by now. The client is locked, so that a change that ends its tokens
 * either sees the one that is issued, and ends it, or is seen.
 */
async function lockProved(
  tx: Transaction<MessagingTables>,
  { clientId, secretHash }: KnownClient,
  nowMs: number,
): Promise<boolean> {
  const enabled = await tx
    .selectFrom('api_clients')
    .select('id')
    .where('id', '=', clientId)
    .where('disabled_at', 'is', null)
    .forShare()
    .executeTakeFirst();
  if (!enabled) return false;
  const proof = await tx
    .selectFrom('api_client_secrets')
    .select('client_id')
    .where('client_id', '=', clientId)
    .where('secret_hash', '=', secretHash)
    .where((on) => on.or([on('valid_till', 'is', null), on('valid_till', '>', new Date(nowMs))]))
    .executeTakeFirst();
  return proof !== undefined;
}

async function loadToken(db: Kysely<MessagingTables>, hash: string) {
  const token = await db
    .selectFrom('access_tokens as t')
    .innerJoin('api_clients as c', 'c.id', 't.client_id')
    .select(['t.workspace_id', 't.client_id', 't.valid_till', 'c.scopes'])
    .where('t.token_hash', '=', hash)
    .where('t.revoked_at', 'is', null)
    .where('c.disabled_at', 'is', null)
    .executeTakeFirst();
  return token && { ...token, scopes: scopesOf(token.scopes) };
}

/** Writes a refusal into the audit log of the client's workspace, if there is such a client. */
async function recordRefusal(
  { db, audit, onUnknown }: Pick<AccessTokensDeps, 'db' | 'audit' | 'onUnknown'>,
  clientId: string,
  origin: LoginOrigin | undefined,
): Promise<void> {
  const client = await db
    .selectFrom('api_clients')
    .select('workspace_id')
    .where('id', '=', clientId)
    .executeTakeFirst()
    .catch(() => null);
  if (client === null) return;
  if (!client) return onUnknown('client', origin?.requestId ?? null);
  const known = { clientId, workspaceId: client.workspace_id, origin };
  await audit.recordRepeated(tokenEvent(known, 'token.issue', 'refused'));
}

function tokenEvent(
  { clientId, workspaceId, origin = UNKNOWN_ORIGIN }: Omit<KnownClient, 'secretHash'>,
  action: 'token.issue' | 'token.revoke',
  result: 'ok' | 'refused',
): AuditEvent {
  const { address, requestId } = origin;
  const client = { kind: 'client' as const, id: clientId };
  return { workspaceId, actor: client, address, requestId, action, object: client, result, detail: {} };
}

/** `undefined` unless the client exists, is enabled, and has this secret among its valid ones. */
async function clientOf(
  db: Kysely<MessagingTables>,
  { id, secret, now }: { id: string; secret: string; now: number },
): Promise<{ workspaceId: string; disabled: boolean } | undefined> {
  const live = await db
    .selectFrom('api_clients as c')
    .innerJoin('api_client_secrets as s', 's.client_id', 'c.id')
    .select(['c.workspace_id', 'c.disabled_at', 's.secret_hash'])
    .where('c.id', '=', id)
    .where((on) => on.or([on('s.valid_till', 'is', null), on('s.valid_till', '>', new Date(now))]))
    .orderBy('s.created_at', 'desc')
    .limit(LIMITS.clientSecretsMax)
    .execute();
  // An unknown client costs the same work, so that the time of the answer does not reveal it.
  if (live.length === 0) matchesHash(secret, undefined);
  const [match] = live.filter(({ secret_hash }) => matchesHash(secret, secret_hash));
  return match && { workspaceId: match.workspace_id, disabled: match.disabled_at !== null };
}
