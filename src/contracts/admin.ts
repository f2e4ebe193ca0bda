import { z } from 'zod';
import { ROLES, roleOf, SCOPES } from '../domain/access';
import { isCommonPassword } from '../domain/common-passwords';
import { LIMITS } from '../domain/limits';
import { email } from './addresses';
import { displayName, emptyAsAbsent, pageLimit, pageNumber, pageQuery } from './common';
import { id, pageOf, success, time } from './envelope';
import { refused } from './validation-issue';

/** What administrators write (api.md 11). All of it is ours, so all of it is strict. */

export const role = z.enum(ROLES).meta({ description: 'Each may what those after it may (docs/access.md).' });

/** `member` is what earlier versions called a sender. */
const roleGiven = z
  .enum([...ROLES, 'member'])
  .meta({ description: '`member` is taken as `sender`.' })
  .transform(roleOf);

const scopes = z.array(z.enum(SCOPES)).meta({ description: 'What it may do (docs/access.md).' });
const scopesGiven = z
  .array(z.enum(SCOPES))
  .max(SCOPES.length)
  .optional()
  .meta({ description: 'Without them all but `suppression:lift` and `policy`.' });

/** Long and not common rather than intricate, as NIST SP 800-63B asks for. */
export const newPassword = z
  .string()
  .min(LIMITS.passwordCharsMin)
  .max(LIMITS.passwordChars)
  .refine(
    (value) => !isCommonPassword(value),
    refused('too_common', 'Many people use this password; choose another one'),
  );

/** Without a password one is generated, and the answer shows it. */
export const userBody = z.strictObject({
  email,
  role: roleGiven.default('sender'),
  password: newPassword.optional(),
});

export const userChangeBody = z.strictObject({ role: roleGiven });

export const passwordBody = z.strictObject({ password: newPassword.optional() }).prefault({});

export const userListQuery = z.object(pageQuery);

export const adminListQuery = z.object({
  page: emptyAsAbsent(pageNumber.default(1)),
  limit: emptyAsAbsent(pageLimit().default(LIMITS.pageSizeDefault)),
});

export const clientBody = z.strictObject({ name: displayName, scopes: scopesGiven });

export const rotateBody = z
  .strictObject({
    overlapHours: z.int().min(0).max(LIMITS.secretOverlapHoursMax).default(LIMITS.secretOverlapHoursDefault),
    revokeTokens: z.boolean().default(false),
  })
  .prefault({});

export const apiKeyBody = z.strictObject({ name: displayName, scopes: scopesGiven });

export const workspaceBody = z.strictObject({ name: displayName, email });

export const workspace = z.strictObject({ id, name: z.string() });
const secret = z.string().meta({ description: 'Shown here and never again.' });

const userMembers = { id, email: z.string(), role, createdAt: time, disabledAt: time.nullable() };
const user = z.strictObject(userMembers).meta({ id: 'User' });
export const users = pageOf(user);
export const changedUser = success(user);
export const userWithPassword = success(
  z
    .strictObject({
      ...userMembers,
      password: secret
        .optional()
        .meta({ description: 'If it was made for the user: shown here and never again.' }),
    })
    .meta({ id: 'UserWithPassword' }),
);

const clientMembers = {
  id,
  name: z.string(),
  scopes,
  createdAt: time,
  disabledAt: time.nullable(),
  oldSecretValidTill: time
    .nullable()
    .meta({ description: 'Until when a secret that was replaced works on, if one does.' }),
};
const client = z.strictObject(clientMembers).meta({ id: 'Client' });
export const clients = pageOf(client);
export const changedClient = success(client);
export const clientWithSecret = success(
  z.strictObject({ ...clientMembers, secret }).meta({ id: 'ClientWithSecret' }),
);

const keyMembers = {
  id,
  name: z.string(),
  prefix: z.string(),
  scopes,
  createdAt: time,
  revokedAt: time.nullable(),
};
const apiKey = z.strictObject(keyMembers).meta({ id: 'ApiKey' });
export const apiKeys = pageOf(apiKey);
export const changedApiKey = success(apiKey);
export const newApiKey = success(z.strictObject({ ...keyMembers, key: secret }).meta({ id: 'NewApiKey' }));

export const workspaces = pageOf(
  z.strictObject({ id, name: z.string(), createdAt: time }).meta({ id: 'ListedWorkspace' }),
);
export const newWorkspace = z.strictObject({
  success: z.literal(true),
  workspace,
  user: z.strictObject({ id, email: z.string(), password: secret }),
  client: z.strictObject({ id, secret }),
  apiKey: secret,
});
