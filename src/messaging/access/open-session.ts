import type { Kysely } from 'kysely';
import type { AuditLog } from '../../audit/audit-log';
import type { AuditEvent } from '../../audit/entry';
import { LIMITS } from '../../domain/limits';
import type { MessagingTables } from '../model/tables';
import { hashSecret, newSecret } from './secrets';

export const IDLE_MS = LIMITS.sessionIdleHours * 3_600_000;
export const ABSOLUTE_MS = LIMITS.sessionDaysMax * 86_400_000;

/** Where a log-in comes from, as the user's list of sessions and the audit log show it. */
export interface LoginOrigin {
  address: string | null;
  userAgent: string | null;
  requestId: string | null;
}

export const UNKNOWN_ORIGIN: LoginOrigin = { address: null, userAgent: null, requestId: null };

/** By what users proved who they are. What a provider has asked of them beyond a password is not known here. */
export interface LoginProof extends Record<string, string> {
  by: 'password' | 'oidc';
}

/** Called when a log-in names a user or a client that there is not: no workspace has an audit log for it. */
export type OnUnknown = (kind: 'user' | 'client', requestId: string | null) => void;

interface LoginUser {
  id: string;
  workspace_id: string;
}

/**
 * Opens a session and writes an entry of the audit log in the same transaction. Also deletes the user's
 * expired sessions.
 *
 * Undefined if the user was disabled, or got another password, since they were found: checking a password takes
 * long enough for that. The user is locked, so that such a change either sees the session, and ends it, or is seen.
 */
export async function openSession(
  db: Kysely<MessagingTables>,
  audit: Pick<AuditLog, 'appendIn'>,
  user: LoginUser & { password_hash: string },
  { at, origin, proof }: { at: Date; origin: LoginOrigin; proof: LoginProof },
): Promise<string | undefined> {
  const token = newSecret('ffu');
  return db.transaction().execute(async (tx) => {
    const present = await tx
      .selectFrom('users')
      .select(['disabled_at', 'password_hash'])
      .where('id', '=', user.id)
      .forShare()
      .executeTakeFirst();
    if (!present || present.disabled_at) return undefined;
    if (proof.by === 'password' && present.password_hash !== user.password_hash) return undefined;
    await tx
      .deleteFrom('sessions')
      .where('user_id', '=', user.id)
      .where((on) =>
        on.or([
          on('last_seen_at', '<', new Date(at.getTime() - IDLE_MS)),
          on('created_at', '<', new Date(at.getTime() - ABSOLUTE_MS)),
        ]),
      )
      .execute();
    await tx
      .insertInto('sessions')
      .values({
        token_hash: hashSecret(token),
        user_id: user.id,
        workspace_id: user.workspace_id,
        created_at: at,
        last_seen_at: at,
        address: origin.address,
        user_agent: origin.userAgent,
        by_provider: proof.by === 'oidc',
      })
      .execute();
    await audit.appendIn(tx, loginEvent(user, origin, 'ok', { ...proof }));
    return token;
  });
}

/** Where a log-in was refused, the actor is the user that was named, and not one who has proved to be. */
export function loginEvent(
  user: LoginUser,
  { address, requestId }: LoginOrigin,
  result: 'ok' | 'refused',
  detail: AuditEvent['detail'],
): AuditEvent {
  return {
    workspaceId: user.workspace_id,
    actor: { kind: 'user', id: user.id },
    address,
    requestId,
    action: 'session.login',
    object: { kind: 'user', id: user.id },
    result,
    detail,
  };
}
