import type { AddressInfo } from 'node:net';
import type { Kysely } from 'kysely';
import { createContactLists } from '../../src/campaigns/contacts/contact-lists';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { SCOPES } from '../../src/domain/access';
import { contactListRoutes } from '../../src/http/contact-lists';
import type { App } from '../../src/http/request/routing';
import { buildServer } from '../../src/http/server';
import { createLog } from '../../src/log';

/** Who the test server takes a Bearer token for: `ws_a` is workspace a's, and so on. */
const authenticator = {
  bySession: async () => undefined,
  byAccessToken: async (token: string) => ({ workspaceId: token, scopes: SCOPES, via: 'bearer' as const }),
  byApiKey: async () => undefined,
};

export interface TestServer {
  url: string;
  /** Sends JSON, or text of another type, as workspace `as` (default `ws_a`); answers status and JSON. */
  call(
    method: string,
    path: string,
    body?: unknown,
    options?: { as?: string; type?: string },
  ): Promise<{ status: number; body: Answer }>;
  close(): Promise<void>;
}

/** What any answer may hold; tests look at the parts they expect. */
export interface Answer {
  status: number;
  code: string;
  message: string;
  phase?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests are about.
  data: any;
  next: string | null;
  errors: { path: string; code: string; message: string }[];
  pagination: { page: number; limit: number; total: number };
}

export async function startServer(
  db: Kysely<CampaignTables>,
  routes: ((app: App) => void)[] = [],
): Promise<TestServer> {
  const app = await buildServer({
    authenticator,
    log: createLog('silent'),
    routes: [(scope) => contactListRoutes(scope, { contactLists: createContactLists({ db }) }), ...routes],
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return {
    url,
    async call(method, path, body, { as = 'ws_a', type = 'application/json' } = {}) {
      const text = body === undefined || type !== 'application/json' ? body : JSON.stringify(body);
      const response = await fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${as}`, ...(body === undefined ? {} : { 'content-type': type }) },
        ...(body === undefined ? {} : { body: text, duplex: 'half' }),
      } as RequestInit);
      return { status: response.status, body: (await response.json()) as Answer };
    },
    close: () => app.close(),
  };
}
