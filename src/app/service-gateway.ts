import type { Kysely } from 'kysely';
import type { CampaignHolds, OutcomeNews, TemplateLookup } from '../campaigns/ports';
import type { Config } from '../config';
import type { Credentials } from '../credentials/credentials';
import { DomainError, ERRORS, isDomainError } from '../domain/errors';
import type { Gateway } from '../gateway/gateway';
import { openGateway } from '../gateway/http-gateway';
import { serviceAccess } from '../gateway/service-access';
import { admitCampaigns, campaignAccess } from '../messaging/access/campaign-access';
import type { MessagingTables } from '../messaging/tables';
import type { Closers } from './closers';

export type GatewayFor = (workspaceId: string) => Gateway;

/**
 * The gateways to the messaging service, each opened at its first use: the credentials of our own are known
 * only once it listens. At our own service every workspace's campaigns have access of their own. An account
 * that the variables name is that of the first workspace, and a campaign of another is refused rather than
 * sent in the wrong name.
 */
export function lazyGateways(
  config: Config,
  credentials: () => Credentials | undefined,
  db: Kysely<MessagingTables>,
  closers: Closers,
): GatewayFor {
  const opened = new Map<string, Gateway>();
  closers.add('gateways', async () => {
    await Promise.all([...opened.values()].map((gateway) => gateway.close()));
  });

  const keep = (key: string, open: () => Gateway): Gateway => {
    const gateway = opened.get(key) ?? open();
    opened.set(key, gateway);
    return gateway;
  };

  return (workspaceId) => {
    const own = credentials();
    if (!own || own.workspace.id === workspaceId) {
      return keep('', () => openGateway(serviceAccess(config.service, own)));
    }
    if (config.service.clientId) {
      throw new DomainError(
        'forbidden',
        `Campaigns of workspace ${workspaceId} cannot be sent: FANFARE_CLIENT_ID is the account of another`,
      );
    }
    const access = campaignAccess(own.client.secret, workspaceId);
    return keep(workspaceId, () =>
      openGateway({
        ...serviceAccess(config.service, own),
        ...access,
        beforeToken: () => admitCampaigns(db, workspaceId, access),
      }),
    );
  };
}

/**
 * Campaigns ask the service that they are sent through, which need not be this one. That it refuses us is no
 * fault of the caller, who would take a 401 for his own.
 */
export function templateLookup(gatewayFor: GatewayFor): TemplateLookup {
  return {
    find: (workspaceId, ...template) =>
      gatewayFor(workspaceId)
        .findTemplate(...template)
        .catch((error: unknown) => {
          if (!isDomainError(error) || ERRORS[error.code].retry !== 'account') throw error;
          throw new DomainError('dependency_down', error.message, { cause: error });
        }),
  };
}

export function outcomeNews(gatewayFor: GatewayFor): OutcomeNews {
  return {
    isTold: async (workspaceId) => (await gatewayFor(workspaceId).capabilities()).has('events'),
    read: (workspaceId, after, { limit, waitSeconds }) =>
      gatewayFor(workspaceId).readEvents(after, limit, waitSeconds),
  };
}

/** Nothing at a service that cannot hold. */
export function campaignHolds(gatewayFor: GatewayFor): CampaignHolds {
  const ableTo = async (workspaceId: string) => {
    const gateway = gatewayFor(workspaceId);
    return (await gateway.capabilities()).has('holds') ? gateway : undefined;
  };
  return {
    hold: async (workspaceId, campaignId) => (await ableTo(workspaceId))?.hold(campaignId),
    release: async (workspaceId, campaignId) => (await ableTo(workspaceId))?.release(campaignId),
  };
}
