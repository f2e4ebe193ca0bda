import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { newPassword, role, workspace } from './admin';
import { id, success, successToo, time } from './envelope';

export const loginBody = z.strictObject({
  email: z.string().min(1).max(254),
  password: z.string().min(1).max(LIMITS.passwordChars),
  totp: z.string().max(64).optional().meta({ description: 'A one-time code or a recovery code.' }),
});

export const session = z.strictObject({
  success: z.literal(true),
  user: z.strictObject({ id, email: z.string(), role, workspace }).meta({ id: 'SessionUser' }),
});

export const endedSession = z.strictObject({ ...successToo, data: z.null() });

/** What users do with their own log-in (api.md 16, 17). */

export const passwordChangeBody = z.strictObject({
  current: z.string().min(1).max(LIMITS.passwordChars),
  new: newPassword,
});

export const totpBody = z
  .strictObject({
    code: z
      .string()
      .regex(/^\d{6}$/, 'This must be six digits')
      .optional(),
  })
  .prefault({});

export const ownSessions = success(
  z.array(
    z
      .strictObject({
        id,
        createdAt: time,
        lastSeenAt: time.meta({ description: 'To the minute.' }),
        address: z.string().nullable(),
        userAgent: z.string().nullable(),
        current: z.boolean().meta({ description: 'The session that asks.' }),
      })
      .meta({ id: 'OwnSession' }),
  ),
);

export const nothingMore = success(z.null());

/** Without a code the secret, with one the recovery codes: never shown again, either of them. */
export const totpSetUp = success(
  z.union([
    z.strictObject({ secret: z.string().meta({ description: 'Base 32.' }), otpauthUrl: z.string() }),
    z.strictObject({ recoveryCodes: z.array(z.string()) }),
  ]),
);
