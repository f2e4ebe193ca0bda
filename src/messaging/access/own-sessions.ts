import type { Kysely } from 'kysely';
import { DomainError } from '../../domain/errors';
import type { MessagingTables } from '../model/tables';
import { type AttemptLimit, loginSubjects } from './attempt-limit';
import { ABSOLUTE_MS, IDLE_MS } from './open-session';
import { hashPassword, type PasswordCost, verifyPassword } from './passwords';

export interface OpenSession {
  id: string;
  createdAt: Date;
  lastSeenAt: Date;
  address: string | null;
  userAgent: string | null;
}

/** What users do with their own log-in (api.md 16). */
export interface OwnSessions {
  /** Newest first, without those that have expired. */
  sessionsOf(userId: string): Promise<OpenSession[]>;
  /** Ends a session at once on this process, within 5 seconds on every other. Fails with `not_found`. */
  endSession(userId: string, id: string): Promise<void>;
  /**
   * Ends all other sessions of the user. A wrong current password fails with `wrong_password` and counts as a
   * failed log-in.
   */
  changePassword(
    who: { userId: string; sessionId: string; address: string },
    passwords: { current: string; new: string },
  ): Promise<void>;
}

export interface OwnSessionsDeps {
  db: Kysely<MessagingTables>;
  now: () => number;
  passwordCost: PasswordCost;
  attempts: AttemptLimit;
  /** Called when sessions have ended. */
  onEnded(): void;
}

export function createOwnSessions({
  db,
  now,
  passwordCost,
  attempts,
  onEnded,
}: OwnSessionsDeps): OwnSessions {
  return {
    sessionsOf: (userId) =>
      db
        .selectFrom('sessions')
        .select([
          ...(['id', 'address'] as const),
          ...(['created_at as createdAt', 'last_seen_at as lastSeenAt', 'user_agent as userAgent'] as const),
        ])
        .where('user_id', '=', userId)
        .where('last_seen_at', '>', new Date(now() - IDLE_MS))
        .where('created_at', '>', new Date(now() - ABSOLUTE_MS))
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .execute(),

    async endSession(userId, id) {
      const ended = await db
        .deleteFrom('sessions')
        .where('user_id', '=', userId)
        .where('id', '=', id)
        .returning('id')
        .executeTakeFirst();
      if (!ended)
        throw new DomainError('not_found', `You have no session ${id}; GET /api/sessions lists yours`);
      onEnded();
    },

    async changePassword({ userId, sessionId, address }, { current, new: chosen }) {
      const user = await db
        .selectFrom('users')
        .select(['email', 'password_hash'])
        .where('id', '=', userId)
        .executeTakeFirst();
      const proved = await attempts.attempt(loginSubjects(user?.email ?? '', address), async () =>
        (await verifyPassword(current, user?.password_hash, passwordCost)) ? true : undefined,
      );
      if (!user || !proved) throw wrongPassword();
      const password_hash = await hashPassword(chosen, passwordCost);
      await db.transaction().execute(async (tx) => {
        // Only over the password that was proved, so that an administrator's reset meanwhile stays.
        const { numUpdatedRows } = await tx
          .updateTable('users')
          .set({ password_hash })
          .where('id', '=', userId)
          .where('password_hash', '=', user.password_hash)
          .executeTakeFirst();
        if (numUpdatedRows === 0n) throw wrongPassword();
        await tx.deleteFrom('sessions').where('user_id', '=', userId).where('id', '!=', sessionId).execute();
      });
      onEnded();
    },
  };
}

const wrongPassword = () =>
  new DomainError('wrong_password', 'The current password is wrong; nothing was changed');
