import { z } from 'zod';
import { ROLES, roleOf, SCOPES } from '../domain/access';
import { LIMITS } from '../domain/limits';
import { email } from './addresses';
import { displayName, emptyAsAbsent, pageLimit, pageNumber, pageQuery } from './common';

/** What administrators write (api.md 11). All of it is ours, so all of it is strict. */

/** `member` is what earlier versions called a sender. */
const role = z
  .enum([...ROLES, 'member'])
  .meta({ description: '`member` is taken as `sender`.' })
  .transform(roleOf);

const scopes = z
  .array(z.enum(SCOPES))
  .max(SCOPES.length)
  .optional()
  .meta({ description: 'Without them all but `suppression:lift` and `policy`.' });

/** Long rather than intricate: NIST SP 800-63B asks for no more than a length. */
const password = z.string().min(LIMITS.passwordCharsMin).max(LIMITS.passwordChars);

/** Without a password one is made, and told in the answer. */
export const userBody = z.strictObject({
  email,
  role: role.default('sender'),
  password: password.optional(),
});

export const userChangeBody = z.strictObject({ role });

export const passwordBody = z.strictObject({ password: password.optional() }).prefault({});

export const userListQuery = z.object(pageQuery);

export const adminListQuery = z.object({
  page: emptyAsAbsent(pageNumber.default(1)),
  limit: emptyAsAbsent(pageLimit().default(LIMITS.pageSizeDefault)),
});

export const clientBody = z.strictObject({ name: displayName, scopes });

export const rotateBody = z
  .strictObject({
    overlapHours: z.int().min(0).max(LIMITS.secretOverlapHoursMax).default(LIMITS.secretOverlapHoursDefault),
    revokeTokens: z.boolean().default(false),
  })
  .prefault({});

export const apiKeyBody = z.strictObject({ name: displayName, scopes });

export const workspaceBody = z.strictObject({ name: displayName, email });
