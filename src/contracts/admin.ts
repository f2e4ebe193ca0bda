import { z } from 'zod';
import { isCommonPassword } from '../domain/common-passwords';
import { LIMITS } from '../domain/limits';
import { email } from './addresses';
import { displayName, emptyAsAbsent, pageLimit, pageNumber, pageQuery } from './common';
import { refused } from './finding';

/** What administrators write (api.md 11). All of it is ours, so all of it is strict. */

const role = z.enum(['owner', 'admin', 'member']);

/** Long and not common rather than intricate, as NIST SP 800-63B asks for. */
export const newPassword = z
  .string()
  .min(LIMITS.passwordCharsMin)
  .max(LIMITS.passwordChars)
  .refine(
    (value) => !isCommonPassword(value),
    refused('too_common', 'Many people use this password; choose another one'),
  );

/** Without a password one is made, and told in the answer. */
export const userBody = z.strictObject({
  email,
  role: role.default('member'),
  password: newPassword.optional(),
});

export const userChangeBody = z.strictObject({ role });

export const passwordBody = z.strictObject({ password: newPassword.optional() }).prefault({});

export const userListQuery = z.object(pageQuery);

export const adminListQuery = z.object({
  page: emptyAsAbsent(pageNumber.default(1)),
  limit: emptyAsAbsent(pageLimit().default(LIMITS.pageSizeDefault)),
});

export const clientBody = z.strictObject({ name: displayName });

export const rotateBody = z
  .strictObject({
    overlapHours: z.int().min(0).max(LIMITS.secretOverlapHoursMax).default(LIMITS.secretOverlapHoursDefault),
    revokeTokens: z.boolean().default(false),
  })
  .prefault({});

export const apiKeyBody = z.strictObject({ name: displayName });

export const workspaceBody = z.strictObject({ name: displayName, email });
