import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql, type Transaction } from 'kysely';
import { appendIn } from '../audit/chain';
import type {
  AskedStories,
  CampaignHolds,
  EventSource,
  FeedHeads,
  HeldMessages,
  MessageStories,
  TemplateLookup,
  ToldStories,
} from '../campaigns/model/dependencies';
import type { Config } from '../config';
import type { Credentials } from '../credentials/credentials';
import { readServiceAccounts, type ServiceAccount } from '../credentials/service-accounts';
import { DomainError, ERRORS, isDomainError } from '../domain/errors';
import { inParallel } from '../domain/in-parallel';
import { LIMITS } from '../domain/limits';
import type { Capability, Gateway } from '../gateway/gateway';
import { type GatewayOptions, openGateway } from '../gateway/http-gateway';
import { SendThread } from '../gateway/send-thread';
import { serviceAccess } from '../gateway/service-access';
import type { Log } from '../log';
import { admitCampaigns, campaignClient, type ReplacedKey } from '../messaging/access/installation-secret';
import type { MessagingTables } from '../messaging/model/tables';
import type { OwnRequests } from '../own-requests';
import type { Shutdown } from './shutdown';

export type GatewayFor = (workspaceId: string) => Gateway;

/** The messaging service for each workspace, with its own credentials. */
export interface ServiceGateways {
  gatewayFor: GatewayFor;
  /** False where this process has no credentials for the workspace: it refuses the workspace's campaigns. */
  hasAccess(workspaceId: string): Promise<boolean>;
  /** Positions of the feeds of our own service. */
  heads: FeedHeads;
  /** Equal in processes that have access to the same workspaces; one of them reads their feeds. */
  scope: string;
}

interface ServiceParts {
  config: Config;
  /** Credentials of the installation's first workspace. They are known only after our own service listens. */
  credentials(): Credentials | undefined;
  db: Kysely<MessagingTables>;
  traceHeaders?: (() => Record<string, string>) | undefined;
  own: OwnRequests;
  log: Log;
}

/**
 * Gateways to the messaging service, each opened at its first use. A workspace's credentials come from the
 * first of these sources. Its entry in FANFARE_SERVICE_CREDENTIALS_FILE. The account that the variables name,
 * if it belongs to this workspace. Without such variables, at our own service, credentials derived from those
 * of the first workspace. A workspace without any is refused, because its messages would leave in another
 * workspace's name.
 */
export function openServiceGateways(parts: ServiceParts, shutdown: Shutdown): ServiceGateways {
  const accounts = readServiceAccounts(parts.config.service.credentialsFile);
  const belongs = accountOfVariables(parts);
  const opened = new Map<string, Gateway>();
  const sendThread = new SendThread();
  shutdown.add('gateways', async () => {
    await Promise.all([...opened.values()].map((gateway) => gateway.close()));
  });

  const hasAccess = async (workspaceId: string): Promise<boolean> => {
    if (accounts.has(workspaceId)) return true;
    return parts.config.service.clientId === undefined ? !isOfOthers() : belongs(workspaceId);
  };
  /** All credentials are in the file, and this workspace is not in it. */
  const isOfOthers = () => accounts.size > 0 && parts.credentials() === undefined;
  const open = (workspaceId: string): Gateway => {
    const account = accounts.get(workspaceId);
    if (!account && parts.config.service.clientId === undefined && isOfOthers()) throw noAccess(workspaceId);
    const beforeToken = async () => {
      if (!(await hasAccess(workspaceId))) throw noAccess(workspaceId);
      return undefined;
    };
    const { traceHeaders, own } = parts;
    const isOwn = !isElsewhere(parts.config.service) && !isElsewhere(account);
    return openGateway({
      ...{ beforeToken, traceHeaders, sendThread, ownHeaders: isOwn ? own.headers : undefined },
      ...gatewayOptions(parts, workspaceId, account),
    });
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
  { config, credentials, db, log }: ServiceParts,
  workspaceId: string,
  account: ServiceAccount | undefined,
): GatewayOptions {
  const own = credentials();
  const { service } = config;
  if (account) return serviceAccess({ ...service, sessionCookie: undefined, ...account }, own);
  if (service.clientId !== undefined || !own || own.workspace.id === workspaceId)
    return serviceAccess(service, own);
  const { secret } = own.client;
  return {
    ...serviceAccess(service, own),
    ...campaignClient(secret, workspaceId),
    beforeToken: async () => {
      const { apiKey, replaced } = await admitCampaigns(db, workspaceId, secret, (tx, key) =>
        recordReplaced(tx, workspaceId, key),
      );
      if (replaced) log.warn({ workspaceId, keyId: replaced.id, replaces: replaced.replaces }, KEY_REPLACED);
      return { apiKey };
    },
  };
}

const KEY_REPLACED =
  'The API key of the campaigns of a workspace was revoked, and they have made themselves another; to stop them, disable the client Campaigns or stop the workspace';

const recordReplaced = (
  tx: Transaction<MessagingTables>,
  workspaceId: string,
  { id, replaces }: ReplacedKey,
): Promise<void> =>
  appendIn(tx, {
    workspaceId,
    actor: { kind: 'system', id: null },
    address: null,
    requestId: null,
    action: 'key.create',
    object: { kind: 'key', id },
    result: 'ok',
    detail: { replaces },
  });

/**
 * Whether the account of FANFARE_CLIENT_ID belongs to this workspace. The operator names its workspace, or our
 * own service does if it knows the client. An account elsewhere belongs to the first workspace.
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
    // Not cached before there is a workspace, because a worker may start before the first one is created.
    known ??= await find();
    return known === workspaceId;
  };
}

const CORRECT_ACCESS =
  'it refuses the credentials of this installation, which an operator corrects (FANFARE_API_KEY, FANFARE_CLIENT_ID and FANFARE_CLIENT_SECRET, or credentials.json; `fanfare doctor` finds which); then send the request again';

/**
 * Asks about templates at the service that the workspace's campaigns use, which may be another one. If that
 * service refuses us, the caller must not get a 401, because they would take it for their own.
 */
export function templateLookup({ gatewayFor, hasAccess }: ServiceGateways): TemplateLookup {
  const orElse = (workspaceId: string) => async (error: unknown) => {
    if (!isDomainError(error) || ERRORS[error.code].retry !== 'account') throw error;
    // Our own refusal concerns the caller's workspace.
    if (!(await hasAccess(workspaceId))) throw error;
    const toDo = error.code === 'unauthenticated' ? `; ${CORRECT_ACCESS}` : '';
    throw new DomainError('dependency_down', `${error.message}${toDo}`, { cause: error });
  };
  return {
    find: (workspaceId, ...template) =>
      gatewayFor(workspaceId)
        .findTemplate(...template)
        .catch(orElse(workspaceId)),
    check: (workspaceId, messages) =>
      gatewayFor(workspaceId).checkSending(messages).catch(orElse(workspaceId)),
  };
}

/** A workspace without credentials in this process has no feed here: a process that has them reads its feed. */
export function eventSource({
  gatewayFor,
  hasAccess,
}: Omit<ServiceGateways, 'scope' | 'heads'>): EventSource {
  return {
    async feedOf(workspaceId) {
      if (!(await hasAccess(workspaceId))) return undefined;
      const gateway = gatewayFor(workspaceId);
      return (await gateway.capabilities()).has('events') ? gateway : undefined;
    },
  };
}

/**
 * Reads stories from the service. If it has none or does not answer in time, the person who asks gets the
 * ledger's part only. For a recipient with more messages than one request can name, the latest are read.
 */
export function messageStories({ gatewayFor, hasAccess }: Omit<ServiceGateways, 'scope'>): MessageStories {
  const ask = async (workspaceId: string, { uids, heldCampaign }: AskedStories): Promise<ToldStories> => {
    if (!(await hasAccess(workspaceId))) return AWAY;
    const gateway = gatewayFor(workspaceId);
    const able = await gateway.capabilities();
    const events = able.has('events');
    if (!able.has('stories')) return { kind: 'untold', events, held: false, stories: [] };
    const [stories, held] = await Promise.all([
      uids.length > 0 && gateway.stories(uids.slice(-LIMITS.storyUids)),
      heldCampaign !== undefined && able.has('holds') && gateway.isHeld(heldCampaign),
    ]);
    return { kind: 'told', events, held, stories: stories || [] };
  };
  return {
    async read(workspaceId, asked) {
      const given = new AbortController();
      const tooLate = delay(LIMITS.storyTimeoutMs, AWAY, { signal: given.signal, ref: false });
      try {
        // A token may have to be fetched first, which has a longer timeout of its own.
        return await Promise.race([ask(workspaceId, asked), tooLate]);
      } catch {
        return AWAY;
      } finally {
        tooLate.catch(() => undefined);
        given.abort();
      }
    },
  };
}

const AWAY = { kind: 'away', events: true, held: false, stories: [] } as const;

/** Does nothing at a service that cannot hold. */
export function campaignHolds({
  gatewayFor,
  hasAccess,
}: Pick<ServiceGateways, 'gatewayFor' | 'hasAccess'>): CampaignHolds & HeldMessages {
  const ableTo = async (workspaceId: string, ...needed: Capability[]) => {
    const gateway = gatewayFor(workspaceId);
    const able = await gateway.capabilities();
    return needed.every((one) => able.has(one)) ? gateway : undefined;
  };
  return {
    hold: async (workspaceId, campaignId) => (await ableTo(workspaceId, 'holds'))?.hold(campaignId),
    release: async (workspaceId, campaignId) => (await ableTo(workspaceId, 'holds'))?.release(campaignId),
    async cancelWaiting(workspaceId, campaignId) {
      if (!(await hasAccess(workspaceId))) return false;
      const gateway = await ableTo(workspaceId, 'holds', 'stories');
      if (!gateway) return true;
      for (;;) {
        const uids = await gateway.waitingOf(campaignId);
        if (uids.length === 0) return true;
        const answers = await inParallel(uids, CANCELS_AT_ONCE, (uid) => gateway.cancel(uid));
        if (!answers.includes('canceled')) return false;
      }
    },
  };
}

const CANCELS_AT_ONCE = 8;
