import type { Kysely } from 'kysely';
import type { NewWorkspace } from '../../src/messaging/access/workspaces';
import type { MessagingTables } from '../../src/messaging/model/tables';
import {
  basic,
  type CallOptions,
  type HttpAnswer,
  newWorkspace,
  startService,
  type TestService,
} from './service';

/** Two processes on one database, a clock of their own, and two workspaces with an administrator each. */
export interface AdminRig {
  service: TestService;
  /** Another process on the same database. */
  elsewhere: TestService;
  clock: { nowMs: number };
  /** The cookie of the owner of the installation, whose workspace is the service's. */
  owner: string;
  /** Another workspace, and its admin's cookie. */
  other: NewWorkspace;
  admin: string;
  cookieFor(user: { email: string; password: string }): Promise<string>;
  /** Below `/api/admin`; as the admin unless said. */
  call(
    method: string,
    path: string,
    body?: unknown,
    options?: CallOptions & { as?: string },
  ): Promise<HttpAnswer>;
  loginStatus(email: string, password: string): Promise<number>;
  askToken(client: { id: string; secret: string }): Promise<HttpAnswer>;
  stop(): Promise<void>;
}

export async function startAdministration(db: Kysely<MessagingTables>): Promise<AdminRig> {
  const clock = { nowMs: Date.now() };
  const now = () => clock.nowMs;
  const service = await startService(db, { now });
  const elsewhere = await startService(db, { now });
  const other = await newWorkspace(service.identity);
  const cookieFor: AdminRig['cookieFor'] = async (user) =>
    `session_token=${(await service.identity.login({ ...user, address: 'tests' })).token}`;
  const rig: AdminRig = {
    service,
    elsewhere,
    clock,
    other,
    owner: await cookieFor(service.workspace.user),
    admin: await cookieFor(other.user),
    cookieFor,
    call: (method, path, body, options = {}) =>
      service.call(method, `/api/admin${path}`, {
        headers: { cookie: options.as ?? rig.admin, ...options.headers },
        body,
      }),
    async loginStatus(email, password) {
      await db.deleteFrom('failed_attempts').execute();
      return (await service.call('POST', '/api/session', { body: { email, password } })).status;
    },
    askToken: (client) =>
      service.call('POST', '/api/v1/auth/token', {
        body: { grant_type: 'client_credentials' },
        headers: { authorization: basic(client.id, client.secret) },
      }),
    async stop() {
      await service.app.close();
      await elsewhere.app.close();
    },
  };
  return rig;
}
