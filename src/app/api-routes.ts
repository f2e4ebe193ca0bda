import { createCallRecords } from '../campaigns/calls/call-records';
import { createCampaigns } from '../campaigns/campaigns';
import { createContactLists } from '../campaigns/contacts/contact-lists';
import { createContactParams } from '../campaigns/contacts/contact-params';
import { createContactTimeline } from '../campaigns/contacts/contact-timeline';
import { createContacts } from '../campaigns/contacts/contacts-api';
import { createExplanations } from '../campaigns/explain/explain';
import { followPolicy } from '../campaigns/policy/follow-policy';
import { createPolicies } from '../campaigns/policy/policy';
import type {
  CampaignHolds,
  CampaignSchedules,
  MessageStories,
  RunLauncher,
  SendLauncher,
  TemplateLookup,
} from '../campaigns/ports';
import { createProgressFeed } from '../campaigns/progress-feed';
import { createDurableSends } from '../campaigns/sends/durable-sends';
import { createStops } from '../campaigns/stops/stops';
import type { CampaignTables } from '../campaigns/tables';
import type { Account } from '../domain/account';
import type { OptedOutCodes } from '../domain/opted-out-codes';
import type { Speaks } from '../domain/voice/spoken-languages';
import { type AdminAccountsDeps, adminAccountRoutes } from '../http/routes/admin-accounts';
import { adminClientRoutes } from '../http/routes/admin-clients';
import { adminKeyRoutes } from '../http/routes/admin-keys';
import { adminRouteRoutes, adminSenderRoutes } from '../http/routes/admin-routes';
import { adminUserRoutes } from '../http/routes/admin-users';
import { adminWorkspaceRoutes } from '../http/routes/admin-workspaces';
import { callDocumentRoutes } from '../http/routes/call-documents';
import { campaignApprovalRoutes } from '../http/routes/campaign-approval';
import { campaignCallRoutes } from '../http/routes/campaign-calls';
import { campaignProgressRoutes } from '../http/routes/campaign-progress';
import { campaignRecipientRoutes } from '../http/routes/campaign-recipients';
import { campaignReportRoutes } from '../http/routes/campaign-reports';
import { campaignRoutes } from '../http/routes/campaigns';
import { contactListRoutes } from '../http/routes/contact-lists';
import { contactRoutes } from '../http/routes/contacts';
import { durableSendRoutes } from '../http/routes/durable-sends';
import { eventRoutes } from '../http/routes/events';
import { explainRoutes } from '../http/routes/explain';
import { healthRoutes } from '../http/routes/health';
import { holdRoutes } from '../http/routes/holds';
import { inboundRoutes } from '../http/routes/inbound';
import { inboundKannelRoutes } from '../http/routes/inbound-kannel';
import { inboundVendorRoutes } from '../http/routes/inbound-vendors';
import { messageRoutes } from '../http/routes/messages';
import { metricsRoutes } from '../http/routes/metrics';
import { policyRoutes } from '../http/routes/policy';
import { sendRoutes } from '../http/routes/send';
import { senderLimitRoutes } from '../http/routes/sender-limits';
import { sessionRoutes } from '../http/routes/session';
import { stopRoutes } from '../http/routes/stop';
import { suppressionRoutes } from '../http/routes/suppression';
import { templateTrialRoutes } from '../http/routes/template-trials';
import { templateRoutes } from '../http/routes/templates';
import { tokenRoutes } from '../http/routes/token';
import { unsubscribeRoutes } from '../http/routes/unsubscribe';
import { webhookRoutes } from '../http/routes/webhooks';
import type { App } from '../http/routing';
import type { Log } from '../log';
import type { Identity } from '../messaging/access/identity';
import type { Sealing } from '../messaging/access/sealing';
import { createAccounts } from '../messaging/carriers/accounts';
import { createCallbackAccounts } from '../messaging/carriers/callback-accounts';
import { createRoutes } from '../messaging/carriers/routes';
import type { Delivery } from '../messaging/delivery';
import { isFirstUse } from '../messaging/receipts/event-tokens';
import type { RegisteredSenders } from '../messaging/senders/registered-senders';
import { createSuppressionList } from '../messaging/suppression/suppression';
import { createUnsubscribe } from '../messaging/suppression/unsubscribe';
import type { UnsubscribeTokens } from '../messaging/suppression/unsubscribe-tokens';
import type { MessagingTables } from '../messaging/tables';
import type { TemplateVersions } from '../messaging/templates/template-versions';
import { createTemplates } from '../messaging/templates/templates';
import type { VendorCalls } from '../messaging/vendor-calls';
import type { Webhooks } from '../messaging/webhooks/webhooks';
import type { Metrics } from '../metrics/metrics';
import { getFromSns } from '../providers/mail-events/sns';
import type { Tables } from '../storage/storage';
import { contactNews } from './contact-news';
import { isToldHowToOptOut } from './notice-rule';
import { suppression } from './suppression-rule';

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
  accounts: AccountsParts;
  senders: RegisteredSenders;
  launcher: RunLauncher & SendLauncher;
  schedules: CampaignSchedules;
  holds?: CampaignHolds | undefined;
  /** Whether each dependency of the process works, by name. */
  readiness: () => Promise<Record<string, boolean>>;
  inboundSecret: string;
  smsOptedOut?: OptedOutCodes | undefined;
  unsubscribeTokens: UnsubscribeTokens;
  publicUrl: string | undefined;
  /** Where carriers reach this installation: the public address, or else our own. */
  reachableAt(): string;
  vendorCalls: VendorCalls;
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
  /** Of an account of the environment, as far as `check` needs them. */
  secretsOf(account: Account): Record<string, unknown>;
}

/**
 * Every route of the API, each group to be registered in its own scope. Tests over all routes build their
 * server from the same list.
 */
export function apiRoutes(parts: ApiParts): ((app: App) => void | Promise<void>)[] {
  const { storage, identity, delivery, versions, launcher, schedules, senders, publicUrl, log } = parts;
  const senderRule = senders.refusalOf;
  const messagingDb = storage.tables<MessagingTables>();
  const campaignsDb = storage.tables<CampaignTables>();
  const templates = createTemplates({ db: messagingDb, versions });
  const contactLists = createContactLists({ db: campaignsDb });
  const campaigns = createCampaigns({
    db: campaignsDb,
    templates: parts.templateLookup,
    launcher,
    schedules,
    holds: parts.holds,
    suppression,
    isToldHowToOptOut,
    senderRate: delivery.senderRate,
    senderRule,
    log,
  });
  const timeline = createContactTimeline({ db: campaignsDb, news: contactNews(messagingDb) });
  const stops = createStops({ db: campaignsDb, changed: delivery.stopsChanged, log });
  const tellOfPolicy = (workspaceId: string) =>
    void followPolicy(campaignsDb, launcher, log, workspaceId).catch((error: unknown) =>
      log.warn(
        { err: error, workspaceId },
        'could not signal runs about a new policy; trying again within a minute',
      ),
    );
  return [
    healthRoutes(parts.readiness, parts.delivery.accounts),
    metricsRoutes(parts.metrics),
    tokenRoutes(identity),
    sessionRoutes({ sessions: identity, publicUrl }),
    adminUserRoutes(identity.users),
    adminClientRoutes(identity.clients),
    adminKeyRoutes(identity.apiKeys),
    adminWorkspaceRoutes(identity),
    adminAccountRoutes(accountsOf(parts)),
    adminRouteRoutes(
      createRoutes({
        db: messagingDb,
        environment: parts.accounts.environment,
        onChanged: delivery.carriersChanged,
      }),
    ),
    adminSenderRoutes(senders),
    templateRoutes(templates, parts.speaks),
    templateTrialRoutes({
      templates,
      contactParams: createContactParams({ db: campaignsDb }),
      delivery,
      stops,
    }),
    sendRoutes(delivery),
    messageRoutes(delivery, stops),
    eventRoutes(delivery),
    holdRoutes(delivery),
    senderLimitRoutes(delivery.senderLimits),
    suppressionRoutes(createSuppressionList({ db: messagingDb })),
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
      optedOut: parts.smsOptedOut,
    }),
    inboundVendorRoutes(vendorsOf(parts)),
    callDocumentRoutes(vendorsOf(parts)),
    unsubscribeRoutes(createUnsubscribe({ db: messagingDb, tokens: parts.unsubscribeTokens })),
    stopRoutes({ stops }),
    policyRoutes({
      policies: createPolicies({ db: campaignsDb, changed: tellOfPolicy }),
      timeline,
    }),
    (scope) => contactRoutes(scope, { contacts: createContacts({ db: campaignsDb, timeline }) }),
    (scope) => contactListRoutes(scope, { contactLists }),
    (scope) => campaignRoutes(scope, { campaigns }),
    (scope) => campaignApprovalRoutes(scope, { campaigns }),
    (scope) => campaignRecipientRoutes(scope, { campaigns }),
    (scope) => campaignReportRoutes(scope, { campaigns }),
    (scope) =>
      explainRoutes(scope, {
        campaigns,
        explanations: createExplanations({ db: campaignsDb, stories: parts.stories }),
      }),
    (scope) => campaignCallRoutes(scope, { calls: createCallRecords({ db: campaignsDb }) }),
    (scope) =>
      durableSendRoutes(scope, { sends: createDurableSends({ db: campaignsDb, launcher, senderRule, log }) }),
    (scope) => campaignProgressRoutes(scope, { progress: createProgressFeed({ campaigns, log }) }),
  ];
}

/** What requests of vendors need. */
const vendorsOf = ({ storage, accounts, delivery, reachableAt, vendorCalls, log }: ApiParts) => ({
  accounts: createCallbackAccounts({ db: storage.tables<MessagingTables>(), ...accounts }),
  receiptsOf: delivery.receiptsOf,
  inboundOf: delivery.inboundOf,
  publicUrl: reachableAt,
  calls: vendorCalls,
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
    states: delivery.accounts,
    faultOf: delivery.accountFault,
    async check(account) {
      const secrets =
        account.source === 'environment' ? secretsOf(account) : await store.secretsOf(account.id);
      const found = await check(account, secrets);
      if (found.ok) delivery.probeAccount(account.id);
      return found;
    },
  };
}
