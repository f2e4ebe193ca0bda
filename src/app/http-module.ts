import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { createAuditLog, createAuditReader } from '../audit/audit-log';
import { keepAuditRetention, sealStartsAnew } from '../audit/retention';
import type { AuditTables } from '../audit/tables';
import type { CampaignTables } from '../campaigns/model/tables';
import { keepCampaignRetention } from '../campaigns/retention';
import { createDurableSends } from '../campaigns/sends/durable-sends';
import { stoppedWorkspaces } from '../campaigns/stops/stops';
import type { Config } from '../config';
import type { Credentials } from '../credentials/credentials';
import type { Foreground } from '../foreground';
import { consoleRoutes } from '../http/console';
import { createReadiness } from '../http/health';
import type { App } from '../http/request/routing';
import { buildServer } from '../http/server';
import { createIdentity } from '../messaging/access/identity';
import { sealTotpAnew } from '../messaging/access/second-factor';
import { newSecret } from '../messaging/access/secrets';
import { type NewWorkspace, planWorkspace } from '../messaging/access/workspaces';
import { createDelivery } from '../messaging/delivery';
import { createIdempotency } from '../messaging/idempotency';
import { createInboundParts } from '../messaging/inbound/inbound-parts';
import type { MessagingTables } from '../messaging/model/tables';
import { createListUnsubscribe } from '../messaging/outbox/deliver/list-unsubscribe';
import { createSmsParts } from '../messaging/receipts/sms-parts';
import { keepExpiring, keepRetention } from '../messaging/retention';
import { createRegisteredSenders } from '../messaging/senders/registered-senders';
import { createUnsubscribe } from '../messaging/suppression/unsubscribe';
import { createUnsubscribeTokens } from '../messaging/suppression/unsubscribe-tokens';
import { createTemplateVersions } from '../messaging/templates/template-versions';
import { createVendorCalls } from '../messaging/vendor-calls';
import type { Webhooks } from '../messaging/webhooks/webhooks';
import type { Metrics } from '../metrics/metrics';
import { createOidcProvider } from '../oidc/oidc-provider';
import type { OwnRequests } from '../own-requests';
import { StartupError } from '../startup-error';
import { requireWrites } from '../storage/require-writes';
import type { Storage } from '../storage/storage';
import type { Temporal } from '../temporal/connection';
import type { Launcher } from '../temporal/launcher';
import { createSchedules } from '../temporal/schedules';
import type { Tracing } from '../tracing/tracing';
import {
  checkAccount,
  environmentAccounts,
  environmentSecrets,
  inabilitiesOf,
  openAccount,
} from './accounts';
import { apiRoutes } from './api-routes';
import type { AppOptions } from './app';
import { policySource } from './between-halves';
import { keepErasing } from './erasures';
import type { Https } from './https';
import { installationReader, type ProcessTables } from './processes';
import { callDocumentsOf, openProviders, type ProviderParts, unsubscribeAddress } from './providers';
import { openSecretsModule, type Secrets } from './secrets-module';
import { campaignHolds, messageStories, type ServiceGateways, templateLookup } from './service-gateway';
import type { Shutdown } from './shutdown';
import { openSpeech } from './speech';
import { openWebhookModule } from './webhook-module';

export interface HttpModule {
  /** Where the server listens. */
  baseUrl: string;
  /** The same for callers of this machine, which need no certificate there. */
  localUrl: string;
  /** Wanted, and built. */
  servesConsole: boolean;
  /** Part of the path that carriers report to. */
  inboundSecret: string;
  /** The secrets of a first workspace; `undefined` when the installation has one already. */
  planFirstWorkspace(): Promise<NewWorkspace | undefined>;
  insertFirstWorkspace(planned: NewWorkspace): Promise<void>;
  isForeign(workspaceId: string): Promise<boolean>;
  /** From now on `/readyz` checks the dependencies; before, it reports that the process is starting. */
  markReady(): void;
}

export interface HttpModuleOptions extends AppOptions {
  storage: Storage;
  temporal: Temporal;
  launcher: Launcher;
  /** Where that server is, and the address of its web UI if it is known. */
  temporalAt: { address: string; uiUrl: string | undefined };
  processId: string;
  service: ServiceGateways;
  credentials: Credentials | undefined;
  https: Https | undefined;
  metrics: Metrics;
  foreground: Foreground;
  own: OwnRequests;
  tracing: Tracing | undefined;
}

/** A name to log in with; no mail is sent to it. */
const FIRST_USER = 'admin@fanfare.local';

/** Opens the messaging service and the campaigns' API, with delivery and the listening port. */
export async function openHttpModule(options: HttpModuleOptions, shutdown: Shutdown): Promise<HttpModule> {
  const { config, log, storage, https } = options;
  const { insecureLinks, http } = config;
  if (insecureLinks) log.warn(`campaigns of marketing mail do not start: ${insecureLinks}`);
  const place: Place = {
    inboundSecret: config.inboundSecret ?? options.credentials?.inboundSecret ?? newSecret('ffi'),
    reachableAt: http.publicUrl ?? addressOf(http),
  };
  const access = await openAccess(options, shutdown);
  const messaging = await openMessaging(options, access, place);
  shutdown.add('delivery', () => messaging.delivery.stop());
  await messaging.delivery.start();
  keepTidy(options, access.secrets, shutdown);
  const sealing = access.secrets.ofWebhooks;
  const webhooks = await openWebhookModule({ config, storage, sealing, log }, shutdown);
  const state = { started: false };
  const app = await openServer(options, { ...access, ...messaging, place, webhooks, state }, shutdown);
  shutdown.add('http', () => app.close());
  const baseUrl = await listen(app, http);
  place.reachableAt ??= baseUrl;
  const localUrl = app.loopback ? await listenBeside(app.loopback, http) : baseUrl;
  https?.follow(app);

  return {
    baseUrl,
    localUrl,
    servesConsole: servesConsole(config),
    inboundSecret: place.inboundSecret,
    async planFirstWorkspace() {
      if (!(await access.identity.isEmpty())) return undefined;
      return planWorkspace({ name: 'First workspace', email: FIRST_USER });
    },
    insertFirstWorkspace: (planned) => access.identity.insertWorkspace(planned),
    isForeign: access.identity.isForeign,
    markReady() {
      state.started = true;
    },
  };
}

/** Where carriers report to. One object that parts share, because a free port is known only when the server listens. */
interface Place {
  inboundSecret: string;
  /** Known when the server listens, at the latest. */
  reachableAt: string | undefined;
}

type Access = Awaited<ReturnType<typeof openAccess>>;
type Messaging = Awaited<ReturnType<typeof openMessaging>>;

/** Who may call, what secrets are sealed with, and which senders belong to whom. */
async function openAccess({ config, storage, log }: HttpModuleOptions, shutdown: Shutdown) {
  const db = storage.tables<MessagingTables>();
  const requestsDb = storage.forRequests.tables<MessagingTables>();
  const audit = createAuditLog({ db: storage.forRequests.tables<AuditTables>(), log });
  shutdown.add('audit log', () => audit.stop());
  const secrets = await openSecretsModule(config, db, log);
  await sealLaterSecretsAnew(storage, secrets, log);
  const identity = createIdentity({
    ...{ db: requestsDb, audit, sealing: secrets.ofAccounts, requireTotp: config.requireTotp },
    onUnknown: (kind, requestId) => log.info({ kind, requestId }, 'A log-in that names no one was refused'),
  });
  const senders = createRegisteredSenders({
    ...{ db: requestsDb, sealing: secrets.ofAccounts, mode: config.senderMode, log },
  });
  shutdown.add('senders', async () => senders.stop());
  await senders.start();
  return { audit, secrets, identity, senders };
}

/** The messaging service's delivery with its providers, not started yet. */
async function openMessaging(options: HttpModuleOptions, { secrets, senders }: Access, place: Place) {
  const { config, log, storage } = options;
  const db = storage.tables<MessagingTables>();
  const requestDb = storage.forRequests.tables<MessagingTables>();
  const unsubscribeTokens = createUnsubscribeTokens(await secrets.ofInstallation('unsubscribe'));
  const synthesizer = await openSpeech(config);
  const versions = createTemplateVersions(db);
  const calls = createVendorCalls({ db: requestDb, documents: callDocumentsOf(config) });
  const unsubscribe = createUnsubscribe({ db, tokens: unsubscribeTokens });
  const parts: ProviderParts = {
    returnPathSecret: await secrets.ofInstallation('return_path'),
    async unsubscribe(token) {
      const subscriber = unsubscribe.subscriberOf(token);
      if (subscriber) await unsubscribe.unsubscribe(subscriber);
    },
    ...{ synthesizer, dkimOf: senders.dkimOf, log, calls },
    smsParts: (provider) => createSmsParts({ db, provider, observer: options.metrics.delivery }),
    inboundParts: (provider) => createInboundParts({ db, provider }),
    publicUrl: () => place.reachableAt ?? '',
    inboundUrl: (provider) => `${place.reachableAt}/inbound/${provider}/${place.inboundSecret}`,
  };
  const environment = environmentAccounts(config);
  const delivery = createDelivery({
    ...{ db, requestDb, templates: versions, log },
    policyOf: policySource(storage.tables<CampaignTables>()),
    senderRule: senders.refusalOf,
    stops: stoppedWorkspaces,
    providers: await openProviders(config, parts),
    carriers: {
      ...{ environment, sealing: secrets.ofAccounts },
      open: (account, accountSecrets) => openAccount(config, parts, account, accountSecrets),
      unable: inabilitiesOf,
    },
    senderLimits: config.senderLimits,
    listUnsubscribe: createListUnsubscribe({
      tokens: unsubscribeTokens,
      publicUrl: () => place.reachableAt,
      mailto: config.unsubscribeMailto ?? unsubscribeAddress(config.smtp),
    }),
    observer: options.metrics.delivery,
    traces: options.tracing?.messages,
    foreground: options.foreground,
  });
  return {
    delivery,
    versions,
    environment,
    unsubscribeTokens,
    vendorCalls: calls,
    speaks: synthesizer?.speaks,
  };
}

interface Served extends Access, Messaging {
  place: Place;
  webhooks: Webhooks;
  state: { started: boolean };
}

/** The HTTP server with every route, not listening yet. */
async function openServer(options: HttpModuleOptions, served: Served, shutdown: Shutdown): Promise<App> {
  const { config, log, storage, temporal, launcher, https } = options;
  const { audit, delivery, identity, place } = served;
  const { publicUrl, trustProxy } = config.http;
  const sends = createDurableSends({ db: storage.tables<CampaignTables>(), launcher, log });
  const erasures = keepErasing({ storage, delivery, cancelSend: sends.cancel, log });
  shutdown.add('erasures', () => erasures.stop());
  return buildServer({
    ...{ authenticator: identity, audit, log, publicUrl, trustProxy },
    tls: https?.current,
    observe: options.metrics.requests,
    traces: options.tracing?.requests,
    requestBounds: config.requestBounds,
    ...{ foreground: options.foreground, own: options.own },
    idempotency: createIdempotency({ db: storage.forRequests.tables<MessagingTables>() }),
    routes: [
      ...consoleOf(options),
      ...apiRoutes({
        ...served,
        ...{ launcher, publicUrl, log, storage: storage.forRequests, metrics: options.metrics },
        templateLookup: templateLookup(options.service),
        stories: messageStories(options.service),
        accounts: {
          ...{ environment: served.environment, sealing: served.secrets.ofAccounts, check: checkAccount },
          secretsOf: (account) => environmentSecrets(config, account),
        },
        onErased: () => void erasures.look().catch(() => undefined),
        schedules: createSchedules(temporal.client),
        holds: campaignHolds(options.service),
        readiness: readinessOf(options, served.state),
        installation: installationOf(options),
        inboundSecret: place.inboundSecret,
        smsOptedOut: config.smsOptedOut,
        oidc: {
          provider: config.oidc && createOidcProvider(config.oidc),
          sealing: served.secrets.ofWebhooks,
          publicUrl: () => place.reachableAt ?? '',
        },
        auditReader: createAuditReader(storage.forRequests.tables<AuditTables>(), served.secrets.ofWebhooks),
        tls: https !== undefined,
        reachableAt: () => place.reachableAt ?? '',
        insecureLinks: config.insecureLinks,
      }),
    ],
  });
}

/** Whether each dependency works now, by name. */
function readinessOf({ storage, temporal }: HttpModuleOptions, state: { started: boolean }) {
  const ready = createReadiness({
    database: () => requireWrites(storage.tables()),
    temporal: () => temporal.version(),
  });
  return async () => ({ started: state.started, ...(await ready()) });
}

function installationOf({ config, storage, temporal, temporalAt, processId }: HttpModuleOptions) {
  return installationReader({
    ...{ db: storage.forRequests.tables<ProcessTables>(), processId },
    isManaged: config.databaseUrl === undefined,
    temporal: { ...temporal, ...temporalAt, uiUrl: config.temporal.uiUrl ?? temporalAt.uiUrl },
  });
}

/** Periodic cleanups, because rows that are no longer wanted would otherwise stay for ever. */
function keepTidy(
  { config, storage, log, service }: HttpModuleOptions,
  secrets: Secrets,
  shutdown: Shutdown,
): void {
  const messagingDb = storage.tables<MessagingTables>();
  const expiry = keepExpiring({ db: messagingDb, log });
  shutdown.add('expiry', () => expiry.stop());
  const retention = keepRetention({ db: messagingDb, days: config.retentionDays, log });
  shutdown.add('retention', () => retention.stop());
  const runs = keepCampaignRetention({
    ...{ db: storage.tables<CampaignTables>(), days: config.retentionDays },
    held: campaignHolds(service),
    log,
  });
  shutdown.add('retention of runs', () => runs.stop());

  const auditRetention = keepAuditRetention({
    ...{ db: storage.tables<AuditTables>(), sealing: secrets.ofWebhooks, days: config.auditRetentionDays },
    log,
  });
  shutdown.add('audit retention', () => auditRetention.stop());
}

/** Built beside the program; it may be missing, because a checkout can run from its sources. */
const CONSOLE = resolve(
  __dirname,
  __dirname.endsWith(join('dist', 'src', 'app')) ? '../..' : '../../dist',
  'console',
);

const servesConsole = ({ http }: AppOptions['config']): boolean =>
  http.console && existsSync(join(CONSOLE, 'index.html'));

function consoleOf({ config, log }: AppOptions): ((app: App) => Promise<void>)[] {
  if (servesConsole(config)) return [consoleRoutes(CONSOLE, { oidc: !!config.oidc })];
  if (config.http.console)
    log.warn('The console is not built and therefore left out; npm run build makes it');
  return [];
}

/** Nothing waits for these, so that one which cannot be opened keeps nothing from starting. */
async function sealLaterSecretsAnew(
  storage: Storage,
  secrets: Secrets,
  log: AppOptions['log'],
): Promise<void> {
  const unreadable = await sealTotpAnew(storage.tables<MessagingTables>(), secrets.ofAccounts);
  if (unreadable.length > 0) {
    const message = 'The one-time codes of these users cannot be checked; they need a recovery code';
    log.warn({ userIds: unreadable }, message);
  }
  await sealStartsAnew(storage.tables<AuditTables>(), secrets.ofWebhooks).catch((error: unknown) =>
    log.warn(
      { err: error },
      'Where the audit log was cut cannot be read; it was changed, or its key is gone',
    ),
  );
}

async function listen(app: App, { host, port, tls }: Config['http']): Promise<string> {
  const wayOut =
    'Stop the program that uses it, or set FANFARE_HTTP_PORT (0 takes any free port) and FANFARE_HTTP_HOST.';
  await app.listen({ host, port }).catch((error) => cannotListen(error, host, port, wayOut));
  return baseUrlOf(host, (app.server.address() as AddressInfo).port, tls);
}

const LOOPBACK = '127.0.0.1';

async function listenBeside(server: Server, { tls }: Config['http']): Promise<string> {
  const port = tls?.loopbackPort ?? 0;
  const wayOut = 'Stop the program that uses it, or set FANFARE_LOOPBACK_PORT (0 takes any free port).';
  server.listen(port, LOOPBACK);
  await once(server, 'listening').catch((error) => cannotListen(error, LOOPBACK, port, wayOut));
  return baseUrlOf(LOOPBACK, (server.address() as AddressInfo).port, undefined);
}

function cannotListen(error: unknown, host: string, port: number, wayOut: string): never {
  const { code, message } = error as NodeJS.ErrnoException;
  throw new StartupError(
    code === 'EADDRINUSE'
      ? `Port ${port} on ${host} is in use`
      : `Cannot listen on ${host}:${port}: ${message}`,
    wayOut,
    { cause: error },
  );
}

/**
 * The address is known before the server listens, unless any free port will do. What a dead process left unsent
 * can therefore leave at once.
 */
const addressOf = ({ host, port, tls }: Config['http']): string | undefined =>
  port === 0 ? undefined : baseUrlOf(host, port, tls);

function baseUrlOf(host: string, port: number, tls: Config['http']['tls']): string {
  // A server that listens on all addresses also listens on the loopback, where our own workers reach it.
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `${tls ? 'https' : 'http'}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
