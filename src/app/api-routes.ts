import { createCampaigns } from '../campaigns/campaigns';
import { createContactLists } from '../campaigns/contact-lists';
import { createContactParams } from '../campaigns/contact-params';
import { createDurableSends } from '../campaigns/durable-sends';
import type {
  CampaignHolds,
  CampaignSchedules,
  RunLauncher,
  SendLauncher,
  TemplateLookup,
} from '../campaigns/ports';
import { createProgressFeed } from '../campaigns/progress-feed';
import type { CampaignTables } from '../campaigns/tables';
import { adminClientRoutes } from '../http/routes/admin-clients';
import { adminKeyRoutes } from '../http/routes/admin-keys';
import { adminUserRoutes } from '../http/routes/admin-users';
import { adminWorkspaceRoutes } from '../http/routes/admin-workspaces';
import { campaignProgressRoutes } from '../http/routes/campaign-progress';
import { campaignReportRoutes } from '../http/routes/campaign-reports';
import { campaignRoutes } from '../http/routes/campaigns';
import { contactListRoutes } from '../http/routes/contact-lists';
import { durableSendRoutes } from '../http/routes/durable-sends';
import { eventRoutes } from '../http/routes/events';
import { healthRoutes } from '../http/routes/health';
import { holdRoutes } from '../http/routes/holds';
import { inboundRoutes } from '../http/routes/inbound';
import { inboundKannelRoutes } from '../http/routes/inbound-kannel';
import { messageRoutes } from '../http/routes/messages';
import { sendRoutes } from '../http/routes/send';
import { senderLimitRoutes } from '../http/routes/sender-limits';
import { sessionRoutes } from '../http/routes/session';
import { suppressionRoutes } from '../http/routes/suppression';
import { templateTrialRoutes } from '../http/routes/template-trials';
import { templateRoutes } from '../http/routes/templates';
import { tokenRoutes } from '../http/routes/token';
import type { App } from '../http/routing';
import type { Log } from '../log';
import type { Delivery } from '../messaging/delivery';
import type { Identity } from '../messaging/identity';
import { createSuppressionList } from '../messaging/suppression';
import type { MessagingTables } from '../messaging/tables';
import type { TemplateVersions } from '../messaging/template-versions';
import { createTemplates } from '../messaging/templates';
import type { Storage } from '../storage/storage';
import { suppression } from './suppression-rule';

/** What the routes of the whole API are made on. */
export interface ApiParts {
  storage: Storage;
  identity: Identity;
  delivery: Delivery;
  versions: TemplateVersions;
  templateLookup: TemplateLookup;
  launcher: RunLauncher & SendLauncher;
  schedules: CampaignSchedules;
  holds?: CampaignHolds | undefined;
  /** Everything the process depends on, by name. */
  readiness: () => Promise<Record<string, boolean>>;
  inboundSecret: string;
  publicUrl: string | undefined;
  log: Log;
}

/**
 * Every route of the API, each group to be registered in a scope of its own. Tests that are about all routes
 * make their server of the same list.
 */
export function apiRoutes(parts: ApiParts): ((app: App) => void | Promise<void>)[] {
  const { storage, identity, delivery, versions, launcher, schedules, publicUrl, log } = parts;
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
    senderRate: delivery.senderRate,
    log,
  });
  return [
    healthRoutes(parts.readiness),
    tokenRoutes(identity),
    sessionRoutes({ sessions: identity, publicUrl }),
    adminUserRoutes(identity.users),
    adminClientRoutes(identity.clients),
    adminKeyRoutes(identity.apiKeys),
    adminWorkspaceRoutes(identity),
    templateRoutes(templates),
    templateTrialRoutes({
      templates,
      contactParams: createContactParams({ db: campaignsDb }),
      delivery,
    }),
    sendRoutes(delivery),
    messageRoutes(delivery),
    eventRoutes(delivery),
    holdRoutes(delivery),
    senderLimitRoutes(delivery.senderLimits),
    suppressionRoutes(createSuppressionList({ db: messagingDb })),
    inboundRoutes({ secret: parts.inboundSecret, takeReceipts: delivery.receiptsOf('http'), log }),
    inboundKannelRoutes({ secret: parts.inboundSecret, takeReceipts: delivery.receiptsOf('kannel'), log }),
    (scope) => contactListRoutes(scope, { contactLists }),
    (scope) => campaignRoutes(scope, { campaigns }),
    (scope) => campaignReportRoutes(scope, { campaigns }),
    (scope) => durableSendRoutes(scope, { sends: createDurableSends({ db: campaignsDb, launcher, log }) }),
    (scope) => campaignProgressRoutes(scope, { progress: createProgressFeed({ campaigns, log }) }),
  ];
}
