import type { CampaignHolds } from '../campaigns/ports';
import type { Config } from '../config';
import type { Credentials } from '../credentials/credentials';
import { DomainError } from '../domain/errors';
import type { Gateway } from '../gateway/gateway';
import { openGateway } from '../gateway/http-gateway';
import { serviceAccess } from '../gateway/service-access';
import type { Closers } from './closers';

export type GatewayFor = (workspaceId: string) => Gateway;

/**
 * The gateway to the messaging service, opened at its first use: the credentials of our own are known
 * only once it listens. They are those of one workspace, and a campaign of another is refused rather
 * than sent in the wrong name.
 */
export function lazyGateway(
  config: Config,
  credentials: () => Credentials | undefined,
  closers: Closers,
): GatewayFor {
  let gateway: Gateway | undefined;
  closers.add('gateway', () => gateway?.close());
  return (workspaceId) => {
    const own = credentials();
    if (own && own.workspace.id !== workspaceId) {
      throw new DomainError(
        'forbidden',
        `Campaigns of workspace ${workspaceId} cannot be sent: this installation holds the credentials of another`,
      );
    }
    gateway ??= openGateway(serviceAccess(config.service, own));
    return gateway;
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
