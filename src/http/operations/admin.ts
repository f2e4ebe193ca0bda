import {
  apiKeyBody,
  clientBody,
  passwordBody,
  rotateBody,
  userBody,
  userChangeBody,
  workspaceBody,
} from '../../contracts/admin';
import {
  apiKeys,
  changedApiKey,
  changedClient,
  changedUser,
  clients,
  clientWithSecret,
  newApiKey,
  newWorkspace,
  users,
  userWithPassword,
} from '../../contracts/answers/identity';
import { emptyBody } from '../../contracts/campaigns';
import { json, jsonBody, type Operation, type RequestBody } from '../operation';
import { answered, EXAMPLE, page } from './examples';

const tag = 'Administration';
const NO_STORE = { 'cache-control': 'no-store' };
const EMPTY: RequestBody = { ...jsonBody(emptyBody, { empty: {} }), optional: true };
const paged = { page: '1', limit: '20' };

const USER = {
  id: EXAMPLE.colleague,
  email: 'grace@harbour-books.example',
  role: 'sender' as const,
  createdAt: EXAMPLE.at,
  disabledAt: null,
};
const A_USER = { tag, parameters: { id: EXAMPLE.colleague } } as const;

export const listUsers: Operation = {
  id: 'listUsers',
  access: { role: 'admin' },
  tag,
  summary: 'List users',
  description:
    'The users of the workspace, newest first. `search` finds a part of an email address. Passwords are never shown.',
  parameters: { ...paged, search: 'grace' },
  answers: {
    200: json('A page of users.', users, { ...answered(200, 'Users', [USER]), pagination: page(1) }),
  },
};

export const createUser: Operation = {
  id: 'createUser',
  access: { role: 'admin' },
  tag,
  summary: 'Create a user',
  description: 'Without a `password` a strong one is made; it is in this answer and nowhere else.',
  body: jsonBody(userBody, { colleague: { email: USER.email, role: 'sender' } }),
  answers: {
    201: json(
      'Created.',
      userWithPassword,
      answered(201, 'User created', { ...USER, password: 'mX4-tR9kLw2cQ7vBz1Ynd0Hs' }),
      NO_STORE,
    ),
  },
  errors: ['name_taken', 'limit_reached'],
};

export const changeUser: Operation = {
  ...A_USER,
  id: 'changeUser',
  access: { role: 'admin' },
  summary: 'Change a user’s role',
  description: 'Only an owner makes owners, or takes that from one.',
  body: jsonBody(userChangeBody, { promote: { role: 'admin' } }),
  answers: {
    200: json('Changed.', changedUser, answered(200, 'Role changed', { ...USER, role: 'admin' })),
  },
  errors: ['last_admin'],
};

export const disableUser: Operation = {
  ...A_USER,
  id: 'disableUser',
  access: { role: 'admin' },
  summary: 'Disable a user',
  description: 'Sessions end at once here, and within 5 seconds on every process.',
  body: EMPTY,
  answers: {
    200: json('Disabled.', changedUser, answered(200, 'User disabled', { ...USER, disabledAt: EXAMPLE.at })),
  },
  errors: ['last_admin'],
};

export const enableUser: Operation = {
  ...A_USER,
  id: 'enableUser',
  access: { role: 'admin' },
  summary: 'Enable a user again',
  description:
    'The user may log in again, with the password of before. Sessions that ended stay ended. Repeating it changes nothing.',
  body: EMPTY,
  answers: { 200: json('Enabled.', changedUser, answered(200, 'User enabled', USER)) },
};

export const resetPassword: Operation = {
  ...A_USER,
  id: 'resetPassword',
  access: { role: 'admin' },
  summary: 'Give a user a new password',
  description: 'Ends the user’s sessions. Without a `password` a strong one is made, and told once.',
  body: { ...jsonBody(passwordBody, { made: {} }), optional: true },
  answers: {
    200: json(
      'Reset.',
      userWithPassword,
      answered(200, 'Password reset', { ...USER, password: 'hT7-wQ2zKx9mRb4cVn1Lyd8F' }),
      NO_STORE,
    ),
  },
};

const CLIENT = {
  id: EXAMPLE.client,
  name: 'Shop backend',
  scopes: ['campaigns' as const, 'send' as const],
  createdAt: EXAMPLE.at,
  disabledAt: null,
  oldSecretValidTill: null,
};
const A_CLIENT = { tag, parameters: { id: EXAMPLE.client } } as const;

export const listClients: Operation = {
  id: 'listClients',
  access: { role: 'admin' },
  tag,
  summary: 'List clients of the token endpoint',
  description:
    'The clients of the workspace, newest first. Secrets are never shown: only their hashes are stored.',
  parameters: paged,
  answers: {
    200: json('A page of clients.', clients, { ...answered(200, 'Clients', [CLIENT]), pagination: page(1) }),
  },
};

export const createClient: Operation = {
  id: 'createClient',
  access: { role: 'admin' },
  tag,
  summary: 'Create a client of the token endpoint',
  description: 'Its secret is in this answer and nowhere else.',
  body: jsonBody(clientBody, { backend: { name: CLIENT.name, scopes: CLIENT.scopes } }),
  answers: {
    201: json(
      'Created.',
      clientWithSecret,
      answered(201, 'Client created', { ...CLIENT, secret: EXAMPLE.clientSecret }),
      NO_STORE,
    ),
  },
  errors: ['limit_reached'],
};

export const rotateSecret: Operation = {
  ...A_CLIENT,
  id: 'rotateSecret',
  access: { role: 'admin' },
  summary: 'Give a client a new secret',
  description:
    'The old one works on for `overlapHours`, so that backends can be changed one after the other. `revokeTokens` ends what was issued until now, as after a theft.',
  body: { ...jsonBody(rotateBody, { day: { overlapHours: 24 } }), optional: true },
  answers: {
    200: json(
      'Rotated.',
      clientWithSecret,
      answered(200, 'Secret rotated', {
        ...CLIENT,
        oldSecretValidTill: '2026-11-22T10:15:00.000Z',
        secret: 'ffs_x2Gk9VbQ5wRz1LmTc8NyHs4PdJf7AeUi0KoBtXyE3w6',
      }),
      NO_STORE,
    ),
  },
  errors: ['limit_reached'],
};

export const disableClient: Operation = {
  ...A_CLIENT,
  id: 'disableClient',
  access: { role: 'admin' },
  summary: 'Disable a client',
  description: 'Its tokens stop at once here, and within 5 seconds on every process.',
  body: EMPTY,
  answers: {
    200: json(
      'Disabled.',
      changedClient,
      answered(200, 'Client disabled', { ...CLIENT, disabledAt: EXAMPLE.at }),
    ),
  },
};

export const enableClient: Operation = {
  ...A_CLIENT,
  id: 'enableClient',
  access: { role: 'admin' },
  summary: 'Enable a client again',
  description: 'The client may fetch tokens again, with the secret of before. Repeating it changes nothing.',
  body: EMPTY,
  answers: { 200: json('Enabled.', changedClient, answered(200, 'Client enabled', CLIENT)) },
};

const KEY = {
  id: EXAMPLE.apiKeyId,
  name: 'Shop backend',
  prefix: EXAMPLE.apiKey.slice(0, 10),
  scopes: ['campaigns' as const, 'send' as const],
  createdAt: EXAMPLE.at,
  revokedAt: null,
};

export const listApiKeys: Operation = {
  id: 'listApiKeys',
  access: { role: 'admin' },
  tag,
  summary: 'List API keys',
  description:
    'The keys of the workspace, newest first, each by its prefix. Keys are never shown: only their hashes are stored.',
  parameters: paged,
  answers: {
    200: json('A page of keys.', apiKeys, { ...answered(200, 'API keys', [KEY]), pagination: page(1) }),
  },
};

export const createApiKey: Operation = {
  id: 'createApiKey',
  access: { role: 'admin' },
  tag,
  summary: 'Create an API key',
  description: 'The key itself is in this answer and nowhere else; lists show how it begins.',
  body: jsonBody(apiKeyBody, { backend: { name: KEY.name, scopes: KEY.scopes } }),
  answers: {
    201: json(
      'Created.',
      newApiKey,
      answered(201, 'API key created', { ...KEY, key: EXAMPLE.apiKey }),
      NO_STORE,
    ),
  },
};

export const revokeApiKey: Operation = {
  id: 'revokeApiKey',
  access: { role: 'admin' },
  tag,
  summary: 'Revoke an API key',
  description: 'At once here, and within 5 seconds on every process. Repeating it is harmless.',
  parameters: { id: EXAMPLE.apiKeyId },
  answers: {
    200: json('Revoked.', changedApiKey, answered(200, 'API key revoked', { ...KEY, revokedAt: EXAMPLE.at })),
  },
};

export const createWorkspace: Operation = {
  id: 'createWorkspace',
  access: { role: 'owner' },
  tag,
  summary: 'Create a workspace',
  description:
    'With everything that a newcomer needs to begin: a user, a client and a key. The secrets are in this answer and nowhere else. Only an owner may.',
  body: jsonBody(workspaceBody, { shop: { name: 'Harbour Books', email: EXAMPLE.email } }),
  answers: {
    201: json(
      'Created.',
      newWorkspace,
      {
        success: true,
        workspace: { id: EXAMPLE.workspace, name: 'Harbour Books' },
        user: { id: EXAMPLE.user, email: EXAMPLE.email, password: EXAMPLE.password },
        client: {
          id: 'cli_01kb7d3m8q2w6x0z4c9v5b1n7k',
          secret: 'ffs_n4Hq8TzRk2YwLc6GmJd0BxVs9PfAeUi3Ko7XtNyE1w5',
        },
        apiKey: 'ffk_t6Yb1WzQk8RmLc3VxJd5GsPf9AeUi2Ko7NtByE0n4Xh',
      },
      NO_STORE,
    ),
  },
  errors: ['name_taken'],
};
