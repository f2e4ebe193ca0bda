import { type Kysely, sql } from 'kysely';
import { type Account, defaultAccountId } from '../../domain/account';
import { CHANNELS, type Channel } from '../../domain/channel';
import { LIMITS } from '../../domain/limits';
import {
  chooseAccount,
  type Reach,
  type Route,
  type Routed,
  reachOf,
  reachOfMessage,
} from '../../domain/route';
import type { Log } from '../../log';
import type { Provider } from '../../providers/provider';
import type { Inability, Wish } from '../../providers/vendor/vendor';
import type { Sealing } from '../access/sealing';
import type { MessagingTables } from '../model/tables';
import { openAccountSecrets } from './account-secrets';
import { live, toAccount } from './accounts';
import { type ClosedSender, ClosedSenderMemory, type SenderRefusal } from './closed-senders';

/**
 * What this process knows of accounts and routes: it opens a provider for each account and channel, and says by which
 * of them a message leaves. One row tells whether anything was changed, by this process or another; it is read every
 * `LIMITS.carriersPollMs`.
 */
export interface Carriers {
  /** The way of a message, or NO_WAY while its route leads nowhere. Memory only. */
  wayOf(message: Routed): string;
  /** The way that it would have if every account were up. */
  preferredWayOf(message: Routed): string;
  /** The same as `wayOf`, and `undefined` for the channel's default. */
  flowWayOf(message: Routed): string | undefined;
  /** By which accounts messages to any recipient may leave. Memory only. */
  reachOf(message: Pick<Routed, 'workspaceId' | 'channel' | 'from' | 'class'>): Reached[];
  /** By which accounts this message may leave. Memory only. */
  reachOfMessage(message: Routed): Reached;
  /** Why an account of the table has no way here; `undefined` for one that has, or is disabled. */
  faultOf(accountId: string): string | undefined;
  /** The carrier refuses the sender at this account: no message of it goes there until an owner reopens it. */
  closeSender(refusal: SenderRefusal): void;
  /** Whether the account's carrier refuses the message's sender. Memory only. */
  isClosed(accountId: string, message: Pick<Routed, 'channel' | 'from'>): boolean;
  /** Why the message waits, where every account that it may leave by is closed to its sender. */
  closedFor(message: Routed): (ClosedSender & { account: Account }) | undefined;
  refresh(): Promise<void>;
  start(): Promise<void>;
  stop(): void;
}

export type Reached = Pick<Reach, 'toPrefix'> & Record<'usual' | 'spare', Account[]>;

/** One account on one channel, as the outbox has it. */
export interface Way {
  id: string;
  account: Account;
  provider: Provider;
}

const NO_WAY = '';
export const wayId = (accountId: string, channel: Channel): string => `${accountId}/${channel}`;

const DEFAULT_WAYS = Object.fromEntries(
  CHANNELS.map((channel) => [channel, wayId(defaultAccountId(channel), channel)]),
) as Record<Channel, string>;

/** Without accounts of the table, every message leaves by its channel's default. */
export const defaultWayOf = ({ channel }: { channel: Channel }): string => DEFAULT_WAYS[channel];

export interface CarriersDeps {
  sealing: Sealing;
  environment: readonly Account[];
  /** A provider for each channel of the account. */
  open(account: Account, secrets: Record<string, unknown>): Promise<Provider[]>;
  /** What the account's carrier cannot do of such a message. Without it, carriers can do everything. */
  unable?(account: Account, wish: Wish): Inability[];
}

interface Opened {
  version: string;
  account: Account;
  ways: readonly string[];
  fault: string | undefined;
}

export function createCarriers({
  db,
  sealing,
  environment,
  open,
  log,
  addWay,
  removeWay,
  onRouted,
  onSenderClosed,
  isDown,
}: CarriersDeps & {
  db: Kysely<MessagingTables>;
  log: Log;
  addWay(way: Way): Promise<void>;
  /** Nothing more is given to it; resolves before what it has is answered. */
  removeWay(id: string): void;
  /** Messages may have another way than before, and so many processes share the pace of each account. */
  onRouted(processes: number): void;
  /** What waits may have another way. */
  onSenderClosed(): void;
  /** Whether a way certainly takes nothing now. */
  isDown(way: string): boolean;
}): Carriers {
  const accounts = new Map<string, Account>(environment.map((one) => [one.id, one]));
  const opened = new Map<string, Opened>();
  let routes: readonly Route[] = [];
  let revision = '';
  let timer: NodeJS.Timeout | undefined;
  let refreshing: Promise<void> = Promise.resolve();
  const closed = new ClosedSenderMemory(db, log);

  async function poll(): Promise<void> {
    await closed.write();
    const { rows } = await sql<{ revision: string; processes: number }>`
      select revision::text, (
        select count(distinct owner) from dispatch_lanes where lease_until > now()
      )::int as processes from carrier_settings`.execute(db);
    const [row] = rows;
    const now = `${row?.revision} ${row?.processes}`;
    if (now === revision) return;
    await readAll(row?.processes ?? 1);
    revision = now;
  }

  async function readAll(processes: number): Promise<void> {
    // In one transaction, so that no route names an account that was read as not yet there.
    const found = await db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (tx) => ({
        rows: await live(tx).execute(),
        settings: await tx.selectFrom('carrier_settings').select('routes').executeTakeFirstOrThrow(),
      }));
    const kept = new Set(found.rows.map(({ id }) => id));
    for (const id of [...opened.keys()]) if (!kept.has(id)) close(id);
    for (const row of found.rows) {
      const version = row.updated_at.toISOString();
      const before = opened.get(row.id);
      if (before?.version === version) continue;
      close(row.id);
      const account = toAccount(row);
      accounts.set(row.id, account);
      opened.set(row.id, { version, account, ...(await waysOf(account, row)) });
    }
    routes = found.settings.routes;
    await closed.read();
    onRouted(processes);
  }

  async function waysOf(
    account: Account,
    row: { id: string; secrets: string; key_id: string },
  ): Promise<{ ways: string[]; fault: string | undefined }> {
    if (account.disabled) return { ways: [], fault: undefined };
    const ways: string[] = [];
    try {
      for (const provider of await open(account, openAccountSecrets(sealing, row))) {
        const id = wayId(account.id, provider.channel);
        await addWay({ id, account, provider });
        ways.push(id);
      }
      return { ways, fault: undefined };
    } catch (error) {
      const [why, fault] = sealing.keyIds.includes(row.key_id)
        ? ['it could not be opened', 'not_opened']
        : ['its secrets are sealed with a key that is not here', 'key_missing'];
      log.error({ err: error, account: account.id }, `Nothing is handed over by an account: ${why}`);
      return { ways, fault };
    }
  }

  function close(id: string): void {
    for (const way of opened.get(id)?.ways ?? []) removeWay(way);
    opened.delete(id);
    accounts.delete(id);
  }

  function refresh(): Promise<void> {
    const next = refreshing.catch(() => undefined).then(poll);
    refreshing = next.catch(() => undefined);
    return next;
  }

  function wayOf(message: Routed, isOut = isDown): string {
    const { channel } = message;
    const hasClosed = !closed.isEmpty;
    if (routes.length === 0 && !hasClosed) return DEFAULT_WAYS[channel];
    const id = accountIdOf(
      message,
      (one) => isOut(wayId(one, channel)) || (hasClosed && isClosed(one, message)),
    );
    return id === undefined || (hasClosed && isClosed(id, message)) ? NO_WAY : wayId(id, channel);
  }

  const accountIdOf = (message: Routed, isOut: (id: string) => boolean) =>
    chooseAccount(routes, message, (one) => accounts.get(one), isOut);

  const withAccounts = ({ toPrefix, usual, spare }: Reach): Reached => ({
    toPrefix,
    usual: usual.flatMap((id) => accounts.get(id) ?? []),
    spare: spare.flatMap((id) => accounts.get(id) ?? []),
  });

  const isClosed = (id: string, message: Pick<Routed, 'channel' | 'from'>) =>
    closed.find(id, message) !== undefined;

  return {
    wayOf: (message) => wayOf(message),
    preferredWayOf: (message) => wayOf(message, () => false),
    flowWayOf(message) {
      if (routes.length === 0 && closed.isEmpty) return undefined;
      const way = wayOf(message);
      return way === DEFAULT_WAYS[message.channel] ? undefined : way;
    },
    reachOf: (message) => reachOf(routes, message, (id) => accounts.get(id)).map(withAccounts),
    reachOfMessage: (message) => withAccounts(reachOfMessage(routes, message, (id) => accounts.get(id))),
    faultOf: (id) => opened.get(id)?.fault,
    closeSender(refusal) {
      if (!closed.add(refusal)) return;
      onSenderClosed();
      refresh().catch((error: unknown) =>
        log.warn({ err: error }, 'Other processes do not know yet that a sender is closed; trying again'),
      );
    },
    isClosed,
    closedFor(message) {
      if (closed.isEmpty || wayOf(message) !== NO_WAY) return undefined;
      const id = accountIdOf(message, (one) => isDown(wayId(one, message.channel)));
      const account = id === undefined ? undefined : accounts.get(id);
      const found = account && closed.find(account.id, message);
      return found && account && { ...found, account };
    },
    refresh,
    async start() {
      await refresh();
      timer = setInterval(() => {
        refresh().catch((error: unknown) =>
          log.warn({ err: error }, 'Accounts and routes could not be read; trying again'),
        );
      }, LIMITS.carriersPollMs);
      timer.unref();
    },
    stop: () => clearInterval(timer),
  };
}
