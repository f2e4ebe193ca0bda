import type { AddressInfo } from 'node:net';
import { sql } from 'kysely';
import type { Config } from '../config';
import type { Credentials } from '../credentials/credentials';
import type { App } from '../http/routing';
import { buildServer } from '../http/server';
import { createDelivery } from '../messaging/delivery';
import { keepExpiring } from '../messaging/expiry';
import { createIdempotency } from '../messaging/idempotency';
import { createIdentity } from '../messaging/identity';
import { keepRetention } from '../messaging/retention';
import { newSecret } from '../messaging/secrets';
import { createSmsParts } from '../messaging/sms-parts';
import type { MessagingTables } from '../messaging/tables';
import { createTemplateVersions } from '../messaging/template-versions';
import { type NewWorkspace, planWorkspace } from '../messaging/workspaces';
import { StartupError } from '../startup-error';
import type { Storage } from '../storage/storage';
import type { Temporal } from '../temporal/connection';
import { createLauncher } from '../temporal/launcher';
import { createSchedules } from '../temporal/schedules';
import { apiRoutes } from './api-routes';
import type { AppOptions } from './app';
import type { Closers } from './closers';
import { openProviders } from './providers';
import { campaignHolds, type GatewayFor, templateLookup } from './service-gateway';

export interface HttpPart {
  baseUrl: string;
  /** In the path that carriers report to. */
  inboundSecret: string;
  /** The secrets of a first workspace; `undefined` when the installation has one already. */
  planFirstWorkspace(): Promise<NewWorkspace | undefined>;
  insertFirstWorkspace(planned: NewWorkspace): Promise<void>;
  /** From now on `/readyz` asks the dependencies; before, it says that we are starting. */
  markReady(): void;
}

export interface HttpPartOptions extends AppOptions {
  storage: Storage;
  temporal: Temporal;
  gatewayFor: GatewayFor;
  credentials: Credentials | undefined;
}

/** A name to log in with; no mail is sent to it. */
const FIRST_USER = 'admin@fanfare.local';

/** The messaging service and the campaigns' API, delivering and listening. */
export async function openHttpPart(options: HttpPartOptions, closers: Closers): Promise<HttpPart> {
  const { config, log, storage, temporal } = options;
  const messagingDb = storage.tables<MessagingTables>();
  const { publicUrl, trustProxy } = config.http;
  const inboundSecret = config.inboundSecret ?? options.credentials?.inboundSecret ?? newSecret('ffi');
  // Nothing is handed over before the outbox is open, and hardly anything before the server listens.
  let baseUrl = addressOf(config.http, config.http.port);
  const identity = createIdentity({ db: messagingDb });
  const versions = createTemplateVersions(messagingDb);
  const delivery = createDelivery({
    db: messagingDb,
    engine: storage.engine,
    templates: versions,
    providers: await openProviders(config, {
      log,
      smsParts: (provider) => createSmsParts({ db: messagingDb, provider }),
      inboundUrl: (provider) => `${publicUrl ?? baseUrl}/inbound/${provider}/${inboundSecret}`,
    }),
    senderLimits: config.senderLimits,
    log,
  });
  closers.add('delivery', () => delivery.stop());
  await delivery.start();

  const expiry = keepExpiring({ db: messagingDb, log });
  closers.add('expiry', () => expiry.stop());
  const retention = keepRetention({ db: messagingDb, days: config.retentionDays, log });
  closers.add('retention', () => retention.stop());

  let started = false;
  const readiness = async (): Promise<Record<string, boolean>> => ({
    started,
    database: await answers(() => sql`select 1`.execute(messagingDb)),
    temporal: await answers(() =>
      temporal.connection.withDeadline(Date.now() + 2_000, () =>
        temporal.connection.workflowService.getSystemInfo({}),
      ),
    ),
  });
  const app = await buildServer({
    authenticator: identity,
    log,
    publicUrl,
    trustProxy,
    idempotency: createIdempotency({ db: messagingDb, engine: storage.engine }),
    routes: apiRoutes({
      storage,
      identity,
      delivery,
      versions,
      templateLookup: templateLookup(options.gatewayFor),
      launcher: createLauncher(temporal.client),
      schedules: createSchedules(temporal.client),
      holds: campaignHolds(options.gatewayFor),
      readiness,
      inboundSecret,
      publicUrl,
      log,
    }),
  });
  closers.add('http', () => app.close());
  baseUrl = await listen(app, config.http);

  return {
    baseUrl,
    inboundSecret,
    async planFirstWorkspace() {
      if (!(await identity.isEmpty())) return undefined;
      return planWorkspace({ name: 'First workspace', email: FIRST_USER });
    },
    insertFirstWorkspace: (planned) => identity.insertWorkspace(planned),
    markReady() {
      started = true;
    },
  };
}

async function answers(question: () => Promise<unknown>): Promise<boolean> {
  return question().then(
    () => true,
    () => false,
  );
}

async function listen(app: App, { host, port }: Config['http']): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new StartupError(
      code === 'EADDRINUSE'
        ? `Port ${port} on ${host} is in use`
        : `Cannot listen on ${host}:${port}: ${message}`,
      'Stop the program that uses it, or set FANFARE_HTTP_PORT (0 takes any free port) and FANFARE_HTTP_HOST.',
      { cause: error },
    );
  }
  return addressOf({ host }, (app.server.address() as AddressInfo).port);
}

function addressOf({ host }: Pick<Config['http'], 'host'>, listening: number): string {
  // Listening everywhere includes the loopback, where our own workers reach us.
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${listening}`;
}
