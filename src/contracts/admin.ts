import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { email } from './addresses';
import { displayName, emptyAsAbsent, pageLimit, pageNumber, pageQuery } from './common';

/** What administrators write (api.md 11). All of it is ours, so all of it is strict. */

const role = z.enum(['owner', 'admin', 'member']);

/** Long rather than intricate: NIST SP 800-63B asks for no more than a length. */
const password = z.string().min(LIMITS.passwordCharsMin).max(LIMITS.passwordChars);

/** Without a password one is made, and told in the answer. */
export const userBody = z.strictObject({
  email,
  role: role.default('member'),
  password: password.optional(),
});

export const userChangeBody = z.strictObject({ role });

export const passwordBody = z.strictObject({ password: password.optional() }).prefault({});

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
