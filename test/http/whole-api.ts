import diagnostics from 'node:diagnostics_channel';
import type { RouteOptions } from 'fastify';
import { type AccountsParts, apiRoutes } from '../../src/app/api-routes';
import { installationReader, type ProcessTables } from '../../src/app/processes';
import { createAuditLog, createAuditReader } from '../../src/audit/audit-log';
import type { AuditTables } from '../../src/audit/tables';
import type { TemplateLookup } from '../../src/campaigns/model/dependencies';
import type { Account } from '../../src/domain/account';
import type { SenderMode } from '../../src/domain/registered-sender';
import type { App } from '../../src/http/request/routing';
import { createLog, type Log } from '../../src/log';
import { createIdentity, type Identity } from '../../src/messaging/access/identity';
import { createSealing } from '../../src/messaging/access/sealing';
import { createIdempotency } from '../../src/messaging/idempotency';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { outboxDepth } from '../../src/messaging/outbox/outbox-overview';
import { createRegisteredSenders } from '../../src/messaging/senders/registered-senders';
import { createUnsubscribeTokens } from '../../src/messaging/suppression/unsubscribe-tokens';
import { createTemplateVersions } from '../../src/messaging/templates/template-versions';
import { createVendorCalls } from '../../src/messaging/vendor-calls';
import { createTargetGuard } from '../../src/messaging/webhooks/target-guard';
import { createWebhooks } from '../../src/messaging/webhooks/webhooks';
import { createMetrics } from '../../src/metrics/metrics';
import type { OidcProvider } from '../../src/oidc/oidc-provider';
import type { Storage } from '../../src/storage/storage';
import { ENVIRONMENT } from '../messaging/carriers/accounts-rig';
import { createOutboxRig, type OutboxRig } from '../messaging/outbox-rig';
import { listen, type TestServer } from './service';

/** A server with every route of the product, over scripted providers; runs are launched into the void, webhooks never told. */
export interface WholeApi extends TestServer {
  identity: Identity;
  rig: OutboxRig;
  /** Every route that the server has, whoever registered it. */
  routes: RouteOptions[];
  stop(): Promise<void>;
}

/** What vendors were given, and sign. */
export const PUBLIC_URL = 'https://fanfare.example';
/** An account whose callbacks are believed. */
const VENDOR: Account = {
  ...{ id: 'vendor', name: 'Vendor', kind: 'twilio', channels: ['sms'], settings: { accountSid: 'AC1' } },
  ...{ secretNames: [], workspaces: ['*'], ratePerSecond: undefined, disabled: false, source: 'environment' },
};
/** The token of a call at that account. */
export const CALL_TOKEN = 'a-call-that-is-known';
export const VENDOR_TOKEN = 'the vendor signs';
export const INBOUND_SECRET = 'the-carrier-knows';
/** What the beginning of a chain is sealed with after a cut. */
export const AUDIT_SEALING_KEY = Buffer.alloc(32, 3);
export const UNSUBSCRIBE_TOKENS = createUnsubscribeTokens('the installation knows');

export async function startWholeApi(
  storage: Storage,
  {
    log = createLog('silent'),
    senderMode = 'open',
    more = [],
    check = async () => ({ ok: true, detail: 'carrier.example:443: connected' }),
    audited = true,
    oidc = undefined,
  }: {
    /** Who vouches for users, and by which address browsers come back. */
    oidc?: { provider: OidcProvider; publicUrl: () => string } | undefined;
    log?: Log;
    /** False leaves the audit log out, to measure what it costs. */
    audited?: boolean;
    senderMode?: SenderMode /** Beside the API's. */;
    more?: ((app: App) => Promise<void>)[];
    check?: AccountsParts['check'];
  } = {},
): Promise<WholeApi> {
  const db = storage.tables<MessagingTables>();
  const rig = await createOutboxRig(storage, log);
  const sealing = createSealing([Buffer.alloc(32, 2)]);
  const senders = createRegisteredSenders({ db, sealing, mode: senderMode, log });
  await senders.start();
  const { delivery } = await rig.process({}, { senderRule: senders.refusalOf });
  const audit = createAuditLog({ db: storage.tables<AuditTables>(), log });
  const identity = createIdentity({ db, audit, passwordCost: { log2N: 10, r: 8, p: 1 } });
  const versions = createTemplateVersions(db);
  const templateLookup: TemplateLookup = {
    async find(workspaceId, channel, templateId, version) {
      const found = await versions.get(workspaceId, templateId, version);
      if (found?.channel !== channel) return undefined;
      const { body } = await db
        .selectFrom('template_versions')
        .select('body')
        .where('template_id', '=', templateId)
        .where('version', '=', version)
        .executeTakeFirstOrThrow();
      const text = channel === 'sms' ? body : undefined;
      return { name: templateId, version, placeholders: [...found.placeholders], text };
    },
  };
  await db
    .insertInto('vendor_calls')
    .values({
      ...{ message_id: 'msg_of_a_vendor', token: CALL_TOKEN, kind: 'twilio', account_id: VENDOR.id },
      ...{ provider: 'twilio', document: '<Response><Say>Hello</Say></Response>', options: '{}' },
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { server, routes } = await withRoutes(() =>
    listen({
      authenticator: identity,
      idempotency: createIdempotency({ db }),
      audit: audited ? audit : undefined,
      routes: [
        ...more,
        ...apiRoutes({
          storage,
          identity,
          delivery,
          versions,
          templateLookup,
          stories: {
            read: async (workspaceId, { uids }) => ({
              ...{ kind: 'told', events: true, held: false },
              stories: await delivery.stories(workspaceId, uids),
            }),
          },
          webhooks: createWebhooks({
            db,
            guard: createTargetGuard({ allowPrivate: false }),
            sealing: createSealing([Buffer.alloc(32, 1)]),
            onChanged: () => undefined,
          }),
          accounts: {
            ...{
              environment: [...ENVIRONMENT, VENDOR],
              sealing,
              secretsOf: () => ({ authToken: VENDOR_TOKEN }),
            },
            check,
          },
          senders,
          launcher: {
            launch: async () => undefined,
            controlChanged: async () => undefined,
            launchSend: async () => undefined,
            wakeSend: async () => undefined,
          },
          schedules: { keepSchedule: async () => undefined, removeSchedule: async () => undefined },
          readiness: async () => ({ database: true }),
          installation: installationReader({
            ...{ db: storage.tables<ProcessTables>(), processId: 'proc_of_this_server', isManaged: false },
            temporal: {
              ...{ address: 'temporal.example:7233', namespace: 'default', uiUrl: undefined },
              version: () => Promise.reject(new Error('no server')),
            },
          }),
          inboundSecret: INBOUND_SECRET,
          unsubscribeTokens: UNSUBSCRIBE_TOKENS,
          oidc: {
            provider: undefined,
            publicUrl: () => 'http://127.0.0.1',
            ...oidc,
            sealing: createSealing([Buffer.alloc(32, 4)]),
          },
          auditReader: createAuditReader(storage.tables<AuditTables>(), createSealing([AUDIT_SEALING_KEY])),
          metrics: createMetrics({
            outbox: () => outboxDepth(db),
            runs: async () => new Map(),
            connections: storage.connections,
            onError: () => undefined,
          }),
          publicUrl: undefined,
          reachableAt: () => PUBLIC_URL,
          vendorCalls: createVendorCalls({
            db,
            documents: { fetch: async () => ({ problem: 'document_unreachable' }) },
          }),
          log,
        }),
      ],
      log,
    }),
  );
  return {
    ...server,
    identity,
    rig,
    routes,
    async stop() {
      senders.stop();
      await server.app.close();
      await audit.stop();
      await rig.stop();
    },
  };
}

/** The framework tells of every server that it makes, before any route is registered there. */
async function withRoutes(
  start: () => Promise<TestServer>,
): Promise<{ server: TestServer; routes: RouteOptions[] }> {
  const routes: RouteOptions[] = [];
  const onServer = (message: unknown) => {
    const { fastify } = message as { fastify: App };
    fastify.addHook('onRoute', (route) => {
      routes.push(route);
    });
  };
  diagnostics.subscribe('fastify.initialization', onServer);
  try {
    return { server: await start(), routes };
  } finally {
    diagnostics.unsubscribe('fastify.initialization', onServer);
  }
}
