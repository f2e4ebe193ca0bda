import { z } from 'zod';
import { ROLES, SCOPES } from '../../domain/access';
import { CAPABILITIES } from '../token';
import { id, pageOf, success, successToo, time } from './envelope';

/** What the endpoints of tokens, sessions and administration answer (api.md 3, 11). */
const role = z.enum(ROLES).meta({ description: 'Each may what those after it may (docs/access.md).' });
const scopes = z.array(z.enum(SCOPES)).meta({ description: 'What it may do (docs/access.md).' });
const workspace = z.strictObject({ id, name: z.string() });
const secret = z.string().meta({ description: 'Told here and never again.' });

export const issuedToken = z
  .strictObject({
    access_token: z.string(),
    valid_till: z
      .string()
      .regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/)
      .meta({ description: 'UTC.' }),
    token_type: z.literal('Bearer'),
    expires_in: z.int().min(0).meta({ description: 'Seconds.' }),
    capabilities: z
      .array(z.enum(CAPABILITIES))
      .meta({ description: 'What this service does beyond the specification.' }),
  })
  .meta({ id: 'AccessToken' });

export const nothing = z.strictObject({});

export const session = z.strictObject({
  success: z.literal(true),
  user: z.strictObject({ id, email: z.string(), role, workspace }).meta({ id: 'SessionUser' }),
});

export const endedSession = z.strictObject({ ...successToo, data: z.null() });

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
        .meta({ description: 'If it was made for the user: told here and never again.' }),
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

export const newWorkspace = z.strictObject({
  success: z.literal(true),
  workspace,
  user: z.strictObject({ id, email: z.string(), password: secret }),
  client: z.strictObject({ id, secret }),
  apiKey: secret,
});
