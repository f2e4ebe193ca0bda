import type { AddressInfo } from 'node:net';
import type { Kysely } from 'kysely';
import { request } from 'undici';
import { type AuditLog, createAuditLog } from '../../src/audit/audit-log';
import type { AuditTables } from '../../src/audit/tables';
import { adminClientRoutes } from '../../src/http/admin-clients';
import { adminKeyRoutes } from '../../src/http/admin-keys';
import { adminUserRoutes } from '../../src/http/admin-users';
import { adminWorkspaceRoutes } from '../../src/http/admin-workspaces';
import { healthRoutes } from '../../src/http/health';
import { ownSessionRoutes } from '../../src/http/own-sessions';
import type { Authenticator } from '../../src/http/request/caller';
import type { RequestObserver } from '../../src/http/request/observer';
import type { RequestBounds } from '../../src/http/request/request-bounds';
import type { App } from '../../src/http/request/routing';
import { buildServer } from '../../src/http/server';
import { sessionRoutes } from '../../src/http/session';
import { templateRoutes } from '../../src/http/templates';
import { tokenRoutes } from '../../src/http/token';
import { createLog, type Log } from '../../src/log';
import { createIdentity, type Identity } from '../../src/messaging/access/identity';
import type { NewWorkspace } from '../../src/messaging/access/workspaces';
import { createIdempotency, type Idempotency } from '../../src/messaging/idempotency';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { createTemplateVersions } from '../../src/messaging/templates/template-versions';
import { createTemplates } from '../../src/messaging/templates/templates';
import type { OwnRequests } from '../../src/own-requests';

export interface HttpAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests are about.
  body: any;
}

export interface CallOptions {
  headers?: Record<string, string>;
  /** Sent as JSON, or as it is when it is text or bytes. */
  body?: unknown;
  type?: string;
}

export interface TestServer {
  app: App;
  url: string;
  call(method: string, path: string, options?: CallOptions): Promise<HttpAnswer>;
}

export async function listen(options: {
  authenticator: Authenticator;
  routes: ((app: App) => void)[];
  idempotency?: Idempotency | undefined;
  audit?: AuditLog | undefined;
  publicUrl?: string | undefined;
  trustProxy?: string[] | undefined;
  bodyWithinMs?: number | undefined;
  requestBounds?: RequestBounds | undefined;
  own?: OwnRequests | undefined;
  observe?: RequestObserver | undefined;
  log?: Log | undefined;
}): Promise<TestServer> {
  const app = await buildServer({ ...options, log: options.log ?? createLog('silent') });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return { app, url, call: (method, path, call) => callOver(url, method, path, call) };
}

async function callOver(
  url: string,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<HttpAnswer> {
  const { body, type = 'application/json' } = options;
  const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  const answer = await request(url + path, {
    method: method as 'GET',
    headers: { ...(body === undefined ? {} : { 'content-type': type }), ...options.headers },
    body: raw ? (body as string | undefined) : JSON.stringify(body),
  });
  const text = await answer.body.text();
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: text === '' ? undefined : isJson(answer.headers['content-type']) ? JSON.parse(text) : text,
  };
}

const isJson = (type: unknown): boolean => /[/+]json\b/.test(String(type));

/** A server of the messaging service's own routes, with one workspace and a token for it. */
export interface TestService extends TestServer {
  identity: Identity;
  workspace: NewWorkspace;
  bearer: string;
}

export async function startService(
  db: Kysely<MessagingTables>,
  options: {
    now?: () => number;
    publicUrl?: string;
    trustProxy?: string[];
    routes?: ((app: App) => void)[];
    speaks?: (language: string | undefined) => boolean;
    requireTotp?: 'none' | 'admin' | 'all';
    audited?: boolean;
  } = {},
): Promise<TestService> {
  const now = options.now ? { now: options.now } : {};
  const audit = createAuditLog({
    ...{ db: db as unknown as Kysely<AuditTables>, log: createLog('silent'), ...now },
  });
  const identity = createIdentity({
    ...{ db, passwordCost: CHEAP, requireTotp: options.requireTotp ?? 'none', ...now },
    ...(options.audited ? { audit } : {}),
  });
  const workspace = await newWorkspace(identity);
  const server = await listen({
    authenticator: identity,
    idempotency: createIdempotency({ db, ...now }),
    ...(options.audited ? { audit } : {}),
    publicUrl: options.publicUrl,
    trustProxy: options.trustProxy,
    routes: [
      tokenRoutes(identity),
      adminUserRoutes(identity.users),
      adminClientRoutes(identity.clients),
      adminKeyRoutes(identity.apiKeys),
      adminWorkspaceRoutes(identity),
      sessionRoutes({ sessions: identity, publicUrl: options.publicUrl }),
      ownSessionRoutes({ sessions: identity, secondFactor: identity.secondFactor }),
      templateRoutes(createTemplates({ db, versions: createTemplateVersions(db) }), options.speaks),
      healthRoutes(async () => ({ database: true })),
      ...(options.routes ?? []),
    ],
  });
  return { ...server, identity, workspace, bearer: await bearerFor(identity, workspace) };
}

/** What a password costs is not what these tests are about. */
const CHEAP = { log2N: 10, r: 8, p: 1 };

let workspaces = 0;

export function newWorkspace(identity: Identity): Promise<NewWorkspace> {
  workspaces += 1;
  const email = `owner-${process.pid}-${workspaces}@example.com`;
  return identity.createWorkspace({ name: `Workspace ${workspaces}`, email });
}

export async function bearerFor(identity: Identity, { client }: NewWorkspace): Promise<string> {
  const known = await identity.checkClient({ ...client, address: 'tests' });
  return `Bearer ${(await identity.issueToken(known, 24)).accessToken}`;
}

export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
