import type { AuditReader } from '../audit/audit-log';
import { createCallRecords } from '../campaigns/calls/call-records';
import { createCampaigns } from '../campaigns/campaigns';
import { createContactLists } from '../campaigns/contacts/contact-lists';
import { createContactTimeline } from '../campaigns/contacts/contact-timeline';
import { createContacts } from '../campaigns/contacts/contacts-api';
import { createContactParams } from '../campaigns/contacts/fill-params';
import { createExplanations } from '../campaigns/explain/explain';
import type {
  CampaignHolds,
  CampaignSchedules,
  MessageStories,
  RunLauncher,
  SendLauncher,
  TemplateLookup,
} from '../campaigns/model/dependencies';
import type { CampaignTables } from '../campaigns/model/tables';
import { followPolicy } from '../campaigns/policy/follow-policy';
import { createPolicies } from '../campaigns/policy/policy';
import { createProgressFeed } from '../campaigns/progress-feed';
import { createDurableSends } from '../campaigns/sends/durable-sends';
import { createStops } from '../campaigns/stops/stops';
import type { Account } from '../domain/account';
import type { OptedOutCodes } from '../domain/opted-out-codes';
import type { Speaks } from '../domain/voice/spoken-languages';
import { type AdminAccountsDeps, adminAccountRoutes } from '../http/admin-accounts';
import { adminClientRoutes } from '../http/admin-clients';
import { adminKeyRoutes } from '../http/admin-keys';
import { adminRouteRoutes } from '../http/admin-routes';
import { adminSenderRoutes } from '../http/admin-senders';
import { adminUserRoutes } from '../http/admin-users';
import { adminWorkspaceRoutes } from '../http/admin-workspaces';
import { auditRoutes } from '../http/audit';
import { callDocumentRoutes } from '../http/call-documents';
import { campaignApprovalRoutes } from '../http/campaign-approval';
import { campaignCallRoutes } from '../http/campaign-calls';
import { campaignControlRoutes } from '../http/campaign-control';
import { campaignProgressRoutes } from '../http/campaign-progress';
import { campaignRecipientRoutes } from '../http/campaign-recipients';
import { campaignReportRoutes } from '../http/campaign-reports';
import { campaignRunRoutes } from '../http/campaign-runs';
import { campaignRoutes } from '../http/campaigns';
import { contactListRoutes } from '../http/contact-lists';
import { contactRoutes } from '../http/contacts';
import { durableSendRoutes } from '../http/durable-sends';
import { eventRoutes } from '../http/events';
import { explainRoutes } from '../http/explain';
import { healthRoutes, type Installation, installationRoutes } from '../http/health';
import { holdRoutes } from '../http/holds';
import { inboundRoutes } from '../http/inbound';
import { inboundKannelRoutes } from '../http/inbound-kannel';
import { inboundVendorRoutes } from '../http/inbound-vendors';
import { messageRoutes } from '../http/messages';
import { metricsRoutes } from '../http/metrics';
import { type OidcRoutesDeps, oidcRoutes } from '../http/oidc';
import { overviewRoutes } from '../http/overview';
import { ownSessionRoutes } from '../http/own-sessions';
import { policyRoutes } from '../http/policy';
import type { App } from '../http/request/routing';
import { sendRoutes } from '../http/send';
import { senderLimitRoutes } from '../http/sender-limits';
import { sessionRoutes } from '../http/session';
import { stopRoutes } from '../http/stop';
import { suppressionRoutes } from '../http/suppression';
import { templateTrialRoutes } from '../http/template-trials';
import { templateRoutes } from '../http/templates';
import { tokenRoutes } from '../http/token';
import { unsubscribeRoutes } from '../http/unsubscribe';
import { webhookRoutes } from '../http/webhooks';
import type { Log } from '../log';
import type { Identity } from '../messaging/access/identity';
import type { Sealing } from '../messaging/access/sealing';
import { createAccounts } from '../messaging/carriers/accounts';
import { createCallbackAccounts } from '../messaging/carriers/callback-accounts';
import { createRoutes } from '../messaging/carriers/routes';
import type { Delivery } from '../messaging/delivery';
import type { MessagingTables } from '../messaging/model/tables';
import { isFirstUse } from '../messaging/receipts/event-tokens';
import type { RegisteredSenders } from '../messaging/senders/registered-senders';
import { createSuppressionList } from '../messaging/suppression/suppression';
import { createUnsubscribe } from '../messaging/suppression/unsubscribe';
import type { UnsubscribeTokens } from '../messaging/suppression/unsubscribe-tokens';
import type { TemplateVersions } from '../messaging/templates/template-versions';
import { createTemplates } from '../messaging/templates/templates';
import type { VendorCalls } from '../messaging/vendor-calls';
import type { Webhooks } from '../messaging/webhooks/webhooks';
import type { Metrics } from '../metrics/metrics';
import { getFromSns } from '../providers/mail-events/sns';
import { VENDORS } from '../providers/vendor/vendors';
import type { Tables } from '../storage/storage';
import { contactActivity, createOverview, isToldHowToOptOut, suppression } from './between-halves';
import { suppressErased } from './erasures';

/** Dependencies of the routes of the whole API. */
export interface ApiParts {
  storage: Tables;
  identity: Identity;
  delivery: Delivery;
  versions: TemplateVersions;
  /** Whether texts in a language can be spoken, where texts are spoken at all. */
  speaks?: Speaks | undefined;
  templateLookup: TemplateLookup;
  stories: MessageStories;
  webhooks: Webhooks;
  /** An erasure has begun (erasures.ts). */
  onErased?: (() => void) | undefined;
  accounts: AccountsParts;
  senders: RegisteredSenders;
  launcher: RunLauncher & SendLauncher;
  schedules: CampaignSchedules;
  holds?: CampaignHolds | undefined;
  /** Whether each dependency of the process works, by name. */
  readiness: () => Promise<Record<string, boolean>>;
  installation: () => Promise<Installation>;
  inboundSecret: string;
  smsOptedOut?: OptedOutCodes | undefined;
  unsubscribeTokens: UnsubscribeTokens;
  auditReader: AuditReader;
  oidc: Omit<OidcRoutesDeps, 'sessions' | 'log'>;
  publicUrl: string | undefined;
  /** The process itself speaks https. */
  tls?: boolean | undefined;
  /** Where carriers reach this installation: the public address, or else our own. */
  reachableAt(): string;
  vendorCalls: VendorCalls;
  /** Why marketing mail may not start, if it may not. */
  insecureLinks?: string | undefined;
  metrics: Pick<Metrics, 'read' | 'contentType'>;
  log: Log;
}

/** Accounts at carriers: the environment's, and what those of the API need. */
export interface AccountsParts {
  environment: readonly Account[];
  sealing: Sealing;
  check(
    account: Pick<Account, 'id' | 'kind' | 'settings'>,
    secrets: Record<string, unknown>,
  ): Promise<{ ok: boolean; detail: string }>;
  /** The secrets of an account that the environment made, as far as `check` needs them. */
  secretsOf(account: Account): Record<string, unknown>;
}

/**
 * Every route of the API, each group to be registered in its own scope. Tests over all routes build their
 * server from the same list.
 */
export function apiRoutes(parts: ApiParts): Routes {
  const { storage, delivery, log } = parts;
  const stops = createStops({ db: storage.tables<CampaignTables>(), changed: delivery.stopsChanged, log });
  return [...processRoutes(parts), ...messagingRoutes(parts, stops), ...campaignsRoutes(parts, stops)];
}

type Routes = ((app: App) => void | Promise<void>)[];
type Stops = ReturnType<typeof createStops>;

/** Routes about the process itself, and about its callers. */
function processRoutes(parts: ApiParts): Routes {
  const { storage, identity, delivery, senders, publicUrl, log } = parts;
  return [
    healthRoutes(parts.readiness, parts.delivery.accounts),
    installationRoutes(parts.installation),
    metricsRoutes(parts.metrics),
    tokenRoutes(identity),
    sessionRoutes({ sessions: identity, publicUrl, tls: parts.tls }),
    oidcRoutes({ ...parts.oidc, sessions: identity, log }),
    ownSessionRoutes({ sessions: identity, secondFactor: identity.secondFactor }),
    adminUserRoutes(identity.users),
    adminClientRoutes(identity.clients),
    adminKeyRoutes(identity.apiKeys),
    adminWorkspaceRoutes(identity),
    auditRoutes(parts.auditReader),
    adminAccountRoutes(accountsOf(parts)),
    adminRouteRoutes(
      createRoutes({
        db: storage.tables<MessagingTables>(),
        environment: parts.accounts.environment,
        onChanged: delivery.carriersChanged,
      }),
    ),
    adminSenderRoutes(senders),
  ];
}

/** Routes of the messaging service. */
function messagingRoutes(parts: ApiParts, stops: Stops): Routes {
  const { storage, identity, delivery, versions } = parts;
  const db = storage.tables<MessagingTables>();
  const templates = createTemplates({ db, versions });
  return [
    templateRoutes(templates, parts.speaks),
    templateTrialRoutes({
      templates,
      contactParams: createContactParams({ db: storage.tables<CampaignTables>() }),
      delivery,
      stops,
      isUserAddress: identity.users.isAddress,
    }),
    sendRoutes(delivery),
    messageRoutes(delivery, stops),
    eventRoutes(delivery),
    holdRoutes(delivery),
    senderLimitRoutes(delivery.senderLimits),
    suppressionRoutes(createSuppressionList({ db })),
    webhookRoutes(parts.webhooks),
    inboundRoutes({
      secret: parts.inboundSecret,
      takeReceipts: delivery.receiptsOf('http'),
      takeInbound: delivery.inboundOf('http'),
    }),
    inboundKannelRoutes({
      secret: parts.inboundSecret,
      takeReceipts: delivery.receiptsOf('kannel'),
      takeInbound: delivery.inboundOf('kannel'),
      sendersRefused: (receipts) => delivery.sendersRefused('kannel', receipts),
      optedOut: parts.smsOptedOut,
    }),
    inboundVendorRoutes(vendorsOf(parts)),
    callDocumentRoutes(vendorsOf(parts)),
    unsubscribeRoutes(createUnsubscribe({ db, tokens: parts.unsubscribeTokens })),
  ];
}

/** Routes of campaigns and their contacts. */
function campaignsRoutes(parts: ApiParts, stops: Stops): Routes {
  const { storage, delivery, launcher, log } = parts;
  const db = storage.tables<CampaignTables>();
  const contactLists = createContactLists({ db });
  const campaigns = createCampaigns({
    db,
    templates: parts.templateLookup,
    launcher,
    schedules: parts.schedules,
    holds: parts.holds,
    suppression,
    isToldHowToOptOut,
    senderRate: delivery.senderRate,
    insecureLinks: parts.insecureLinks,
    senderRule: parts.senders.refusalOf,
    log,
  });
  const activity = contactActivity(storage.tables<MessagingTables>());
  const timeline = createContactTimeline({ db, activity });
  return [
    stopRoutes({ stops }),
    overviewRoutes(createOverview({ storage, delivery, accounts: accountsOf(parts).store })),
    policyRoutes({
      policies: createPolicies({ db, changed: tellOfPolicy(parts) }),
      timeline,
    }),
    (scope) =>
      contactRoutes(scope, {
        contacts: createContacts({ db, timeline, activity, suppressErased, onErased: parts.onErased }),
      }),
    (scope) => contactListRoutes(scope, { contactLists }),
    (scope) => campaignRoutes(scope, { campaigns }),
    (scope) => campaignControlRoutes(scope, { campaigns }),
    (scope) => campaignRunRoutes(scope, { campaigns }),
    (scope) => campaignApprovalRoutes(scope, { campaigns }),
    (scope) => campaignRecipientRoutes(scope, { campaigns }),
    (scope) => campaignReportRoutes(scope, { campaigns }),
    (scope) =>
      explainRoutes(scope, {
        campaigns,
        explanations: createExplanations({ db, stories: parts.stories }),
      }),
    (scope) => campaignCallRoutes(scope, { calls: createCallRecords({ db }) }),
    (scope) => {
      const sends = createDurableSends({
        ...{ db, launcher, senderRule: parts.senders.refusalOf, log },
        check: parts.templateLookup.check,
      });
      durableSendRoutes(scope, { sends });
    },
    (scope) => campaignProgressRoutes(scope, { progress: createProgressFeed({ campaigns, log }) }),
  ];
}

/** Runs learn of a new policy at once, if they can be signalled. */
const tellOfPolicy =
  ({ storage, launcher, log }: ApiParts) =>
  (workspaceId: string) =>
    void followPolicy(storage.tables<CampaignTables>(), launcher, log, workspaceId).catch((error: unknown) =>
      log.warn(
        { err: error, workspaceId },
        'could not signal runs about a new policy; trying again within a minute',
      ),
    );

/** What requests of vendors need. */
const vendorsOf = ({ storage, accounts, delivery, reachableAt, vendorCalls, log }: ApiParts) => ({
  accounts: createCallbackAccounts({ db: storage.tables<MessagingTables>(), ...accounts }),
  receiptsOf: delivery.receiptsOf,
  inboundOf: delivery.inboundOf,
  sendersRefused: delivery.sendersRefused,
  publicUrl: reachableAt,
  calls: vendorCalls,
  vendors: VENDORS,
  mailTools: {
    ...{ now: Date.now, get: getFromSns },
    isFirstUse: (account: string, token: string, body: Buffer) =>
      isFirstUse(storage.tables<MessagingTables>(), account, token, body),
  },
  log,
});

/** The store of accounts with what only this process knows of them. */
function accountsOf({ storage, delivery, accounts }: ApiParts): AdminAccountsDeps {
  const { environment, sealing, check, secretsOf } = accounts;
  const db = storage.tables<MessagingTables>();
  const store = createAccounts({ db, sealing, environment, onChanged: delivery.carriersChanged });
  return {
    store,
    states: delivery.accountStates,
    faultOf: delivery.accountFault,
    async check(account) {
      const secrets =
        account.source === 'environment' ? secretsOf(account) : await store.secretsOf(account.id);
      const found = await check(account, secrets);
      if (found.ok) await delivery.probeAccount(account.id);
      return found;
    },
  };
}
