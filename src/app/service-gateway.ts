import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import type {
  CampaignHolds,
  FeedHeads,
  MessageStories,
  OutcomeNews,
  TemplateLookup,
  ToldStories,
} from '../campaigns/ports';
import type { Config } from '../config';
import type { Credentials } from '../credentials/credentials';
import { readServiceAccounts, type ServiceAccount } from '../credentials/service-accounts';
import { DomainError, ERRORS, isDomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { Gateway } from '../gateway/gateway';
import { type GatewayOptions, openGateway } from '../gateway/http-gateway';
import { serviceAccess } from '../gateway/service-access';
import { admitCampaigns, campaignAccess } from '../messaging/access/campaign-access';
import type { MessagingTables } from '../messaging/tables';
import type { Shutdown } from './shutdown';

export type GatewayFor = (workspaceId: string) => Gateway;

/** The messaging service as this process reaches it, for each workspace with credentials of its own. */
export interface ServiceGateways {
  gatewayFor: GatewayFor;
  /** False where this process has no credentials for the workspace: it refuses the workspace's campaigns. */
  hasAccess(workspaceId: string): Promise<boolean>;
  /** How far the feeds of our own service have come. */
  heads: FeedHeads;
  /** The same in processes that have access to the same workspaces: one of them reads their feeds. */
  scope: string;
}

interface ServiceParts {
  config: Config;
  /** Of the installation's first workspace, once they are known: only after our own service listens. */
  credentials(): Credentials | undefined;
  db: Kysely<MessagingTables>;
}

/**
 * Gateways to the messaging service, each opened at its first use. A workspace's credentials are, in this order:
 * its entry in FANFARE_SERVICE_CREDENTIALS_FILE; the account that the variables name, if it is this workspace's;
 * and without such variables, at our own service, credentials derived from those of the first workspace. A
 * workspace that has none of these is refused, because its messages would leave in another workspace's name.
 */
export function openServiceGateways(parts: ServiceParts, shutdown: Shutdown): ServiceGateways {
  const accounts = readServiceAccounts(parts.config.service.credentialsFile);
  const belongs = accountOfVariables(parts);
  const opened = new Map<string, Gateway>();
  shutdown.add('gateways', async () => {
    await Promise.all([...opened.values()].map((gateway) => gateway.close()));
  });

  const hasAccess = async (workspaceId: string): Promise<boolean> => {
    if (accounts.has(workspaceId)) return true;
    return parts.config.service.clientId === undefined ? !isOfOthers() : belongs(workspaceId);
  };
  /** All credentials are in the file, which does not have this workspace. */
  const isOfOthers = () => accounts.size > 0 && parts.credentials() === undefined;
  const open = (workspaceId: string): Gateway => {
    const account = accounts.get(workspaceId);
    if (!account && parts.config.service.clientId === undefined && isOfOthers()) throw noAccess(workspaceId);
    const beforeToken = async () => {
      if (!(await hasAccess(workspaceId))) throw noAccess(workspaceId);
    };
    return openGateway({ beforeToken, ...gatewayOptions(parts, workspaceId, account) });
  };

  const { clientId, workspace } = parts.config.service;
  const scope = JSON.stringify([clientId ?? '', workspace ?? '', ...[...accounts.keys()].sort()]);

  return {
    hasAccess,
    heads: feedHeads(parts.db, (id) => !isElsewhere(parts.config.service) && !isElsewhere(accounts.get(id))),
    scope: createHash('sha256').update(scope).digest('hex').slice(0, 16),
    gatewayFor: (workspaceId) => {
      const gateway = opened.get(workspaceId) ?? open(workspaceId);
      opened.set(workspaceId, gateway);
      return gateway;
    },
  };
}

/** A workspace whose messages go to another address than our own has its feed there. */
const isElsewhere = (at: Pick<ServiceAccount, 'authUrl' | 'sendUrl'> | Config['service'] | undefined) =>
  at?.authUrl !== undefined || at?.sendUrl !== undefined;

export function feedHeads(db: Kysely<MessagingTables>, isOf: FeedHeads['isOf']): FeedHeads {
  return {
    isOf,
    stamp: sql<string>`(select count(*) || ' ' || coalesce(sum(next_seq), 0) from event_heads)`,
    async read() {
      const rows = await db.selectFrom('event_heads').select(['workspace_id', 'next_seq']).execute();
      return new Map(rows.map(({ workspace_id: id, next_seq: seq }) => [id, seq]));
    },
  };
}

const noAccess = (workspaceId: string) =>
  new DomainError(
    'forbidden',
    `This process has no credentials to send for workspace ${workspaceId}, only those of others; FANFARE_SERVICE_CREDENTIALS_FILE can hold those of several workspaces`,
  );

function gatewayOptions(
  { config, credentials, db }: ServiceParts,
  workspaceId: string,
  account: ServiceAccount | undefined,
): GatewayOptions {
  const own = credentials();
  const { service } = config;
  if (account) return serviceAccess({ ...service, sessionCookie: undefined, ...account }, own);
  if (service.clientId !== undefined || !own || own.workspace.id === workspaceId)
    return serviceAccess(service, own);
  const access = campaignAccess(own.client.secret, workspaceId);
  return {
    ...serviceAccess(service, own),
    ...access,
    beforeToken: () => admitCampaigns(db, workspaceId, access),
  };
}

/**
 * Whether the account that FANFARE_CLIENT_ID names is this workspace's. The operator says whose it is, or our own
 * service does if it knows the client. An account elsewhere is the first workspace's.
 */
function accountOfVariables({ config, credentials, db }: ServiceParts): (id: string) => Promise<boolean> {
  let known = config.service.workspace;
  const find = async (): Promise<string | undefined> => {
    const client = await db
      .selectFrom('api_clients')
      .select('workspace_id')
      .where('id', '=', config.service.clientId ?? '')
      .executeTakeFirst();
    if (client) return client.workspace_id;
    const own = credentials();
    if (own) return own.workspace.id;
    const first = await db
      .selectFrom('workspaces')
      .select('id')
      .orderBy('created_at')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
    return first?.id;
  };
  return async (workspaceId) => {
    // Not kept before there is a workspace: a worker may be up before the first one is made.
    known ??= await find();
    return known === workspaceId;
  };
}

/**
 * Campaigns ask the service that they are sent through, which need not be this one. That it refuses us is no
 * fault of the caller, who would take a 401 for his own.
 */
export function templateLookup({ gatewayFor, hasAccess }: ServiceGateways): TemplateLookup {
  return {
    find: (workspaceId, ...template) =>
      gatewayFor(workspaceId)
        .findTemplate(...template)
        .catch(async (error: unknown) => {
          if (!isDomainError(error) || ERRORS[error.code].retry !== 'account') throw error;
          // Our own refusal is about the caller's workspace.
          if (!(await hasAccess(workspaceId))) throw error;
          throw new DomainError('dependency_down', error.message, { cause: error });
        }),
  };
}

/** Nothing of a workspace that this process has no credentials for: a process that has them follows its feed. */
export function outcomeNews({
  gatewayFor,
  hasAccess,
}: Omit<ServiceGateways, 'scope' | 'heads'>): OutcomeNews {
  return {
    isTold: async (workspaceId) =>
      (await hasAccess(workspaceId)) && (await gatewayFor(workspaceId).capabilities()).has('events'),
    read: (workspaceId, after, { limit, waitSeconds }) =>
      gatewayFor(workspaceId).readEvents(after, limit, waitSeconds),
  };
}

/**
 * A person who asks is answered by the ledger alone where the service cannot tell, or does not answer in time. A
 * recipient with more messages than one request names has the latest of them told.
 */
export function messageStories({ gatewayFor, hasAccess }: Omit<ServiceGateways, 'scope'>): MessageStories {
  const ask = async (workspaceId: string, uids: readonly string[]): Promise<ToldStories> => {
    if (!(await hasAccess(workspaceId))) return AWAY;
    const gateway = gatewayFor(workspaceId);
    const able = await gateway.capabilities();
    const events = able.has('events');
    if (!able.has('stories')) return { kind: 'untold', events, stories: [] };
    const stories = uids.length === 0 ? [] : await gateway.stories(uids.slice(-LIMITS.storyUids));
    return { kind: 'told', events, stories };
  };
  return {
    async read(workspaceId, uids) {
      const given = new AbortController();
      const tooLate = delay(LIMITS.storyTimeoutMs, AWAY, { signal: given.signal, ref: false });
      try {
        // A token may have to be fetched first, which has a longer time-out of its own.
        return await Promise.race([ask(workspaceId, uids), tooLate]);
      } catch {
        return AWAY;
      } finally {
        tooLate.catch(() => undefined);
        given.abort();
      }
    },
  };
}

const AWAY = { kind: 'away', events: true, stories: [] } as const;

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
