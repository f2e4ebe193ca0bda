import { type Kysely, sql } from 'kysely';
import { type Account, type AccountState, defaultAccountId } from '../../domain/account';
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
import { AccountPauses, type PausesElsewhere } from './account-pauses';
import { openAccountSecrets } from './account-secrets';
import { live, toAccount } from './accounts';
import { type ClosedSender, ClosedSenderMemory, type SenderRefusal } from './closed-senders';

/**
 * What this process knows of accounts and routes: it opens a provider for each account and channel, and says
 * by which of them a message leaves. One row shows whether this or another process has changed anything; it
 * is read every `LIMITS.carriersPollMs`.
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
  /** How accounts stand at this process and all others. */
  states(): Promise<(AccountState & { since: string })[]>;
  /** An owner has put the account right: processes that are refused try it. */
  askForProbe(accountId: string): Promise<void>;
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

export function createCarriers(
  deps: CarriersDeps & {
    db: Kysely<MessagingTables>;
    log: Log;
    addWay(way: Way): Promise<void>;
    /** Nothing more is given to it; resolves before what it has is answered. */
    removeWay(id: string): void;
    /** Messages may have another way than before, and so many processes share the pace of each account. */
    onRouted(processes: number): void;
    /** Called when a sender was closed at an account: waiting messages may have another way now. */
    onSenderClosed(): void;
    /** Whether a way certainly takes nothing now. */
    isDown(way: string): boolean;
    /** How accounts stand at this process. */
    ownStates(): (AccountState & { since: string })[];
    onPauses(elsewhere: PausesElsewhere): void;
  },
): Carriers {
  return new RoutedCarriers(deps);
}

class RoutedCarriers implements Carriers {
  private readonly accounts: Map<string, Account>;
  private readonly opened = new Map<string, Opened>();
  private routes: readonly Route[] = [];
  private revision = '';
  private timer: NodeJS.Timeout | undefined;
  private refreshing: Promise<void> = Promise.resolve();
  private readonly closedSenders: ClosedSenderMemory;
  private readonly pauses: AccountPauses;

  constructor(
    private readonly deps: CarriersDeps & {
      db: Kysely<MessagingTables>;
      log: Log;
      addWay(way: Way): Promise<void>;
      /** Nothing more is given to it; resolves before what it has is answered. */
      removeWay(id: string): void;
      /** Messages may have another way than before, and so many processes share the pace of each account. */
      onRouted(processes: number): void;
      /** Called when a sender was closed at an account: waiting messages may have another way now. */
      onSenderClosed(): void;
      /** Whether a way certainly takes nothing now. */
      isDown(way: string): boolean;
      /** How accounts stand at this process. */
      ownStates(): (AccountState & { since: string })[];
      onPauses(elsewhere: PausesElsewhere): void;
    },
  ) {
    this.accounts = new Map<string, Account>(deps.environment.map((one) => [one.id, one]));
    this.closedSenders = new ClosedSenderMemory(deps.db, deps.log);
    this.pauses = new AccountPauses(deps.db);
  }

  readonly wayOf: Carriers['wayOf'] = (message) => this.wayUnless(message);

  readonly preferredWayOf: Carriers['preferredWayOf'] = (message) => this.wayUnless(message, () => false);

  readonly flowWayOf: Carriers['flowWayOf'] = (message) => {
    if (this.routes.length === 0 && this.closedSenders.isEmpty) return undefined;
    const way = this.wayUnless(message);
    return way === DEFAULT_WAYS[message.channel] ? undefined : way;
  };

  readonly reachOf: Carriers['reachOf'] = (message) =>
    reachOf(this.routes, message, (id) => this.accounts.get(id)).map(this.withAccounts);

  readonly reachOfMessage: Carriers['reachOfMessage'] = (message) =>
    this.withAccounts(reachOfMessage(this.routes, message, (id) => this.accounts.get(id)));

  readonly faultOf: Carriers['faultOf'] = (id) => this.opened.get(id)?.fault;

  readonly closeSender: Carriers['closeSender'] = (refusal) => {
    if (!this.closedSenders.add(refusal)) return;
    this.deps.onSenderClosed();
    this.refresh().catch((error: unknown) =>
      this.deps.log.warn(
        { err: error },
        'Other processes do not know yet that a sender is closed; trying again',
      ),
    );
  };

  readonly isClosed = (id: string, message: Pick<Routed, 'channel' | 'from'>) =>
    this.closedSenders.find(id, message) !== undefined;

  readonly closedFor: Carriers['closedFor'] = (message) => {
    if (this.closedSenders.isEmpty || this.wayUnless(message) !== NO_WAY) return undefined;
    const id = this.accountIdOf(message, (one) => this.deps.isDown(wayId(one, message.channel)));
    const account = id === undefined ? undefined : this.accounts.get(id);
    const found = account && this.closedSenders.find(account.id, message);
    return found && account && { ...found, account };
  };

  readonly states: Carriers['states'] = () => this.pauses.with(this.deps.ownStates());

  readonly askForProbe: Carriers['askForProbe'] = (id) => this.pauses.askForProbe(id);

  readonly refresh = (): Promise<void> => {
    const next = this.refreshing.catch(() => undefined).then(this.poll);
    this.refreshing = next.catch(() => undefined);
    return next;
  };

  readonly start: Carriers['start'] = async () => {
    await this.refresh();
    this.timer = setInterval(() => {
      this.refresh().catch((error: unknown) =>
        this.deps.log.warn({ err: error }, 'Accounts and routes could not be read; trying again'),
      );
    }, LIMITS.carriersPollMs);
    this.timer.unref();
  };

  readonly stop: Carriers['stop'] = () => clearInterval(this.timer);

  private readonly poll = async (): Promise<void> => {
    await this.closedSenders.write();
    const { rows } = await sql<{ revision: string; processes: number; paused: boolean }>`
      select revision::text, (
        select count(distinct owner) from dispatch_lanes where lease_until > now()
      )::int as processes, exists (select from account_pauses) as paused from carrier_settings`.execute(
      this.deps.db,
    );
    const [row] = rows;
    const paused = this.deps.ownStates().filter(({ state }) => state !== 'ok');
    if (paused.length > 0 || row?.paused) this.deps.onPauses(await this.pauses.exchange(paused));
    const now = `${row?.revision} ${row?.processes}`;
    if (now === this.revision) return;
    await this.readAll(row?.processes ?? 1);
    this.revision = now;
  };

  private async readAll(processes: number): Promise<void> {
    // In one transaction, so that no route names an account that was read as not yet there.
    const found = await this.deps.db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (tx) => ({
        rows: await live(tx).execute(),
        settings: await tx.selectFrom('carrier_settings').select('routes').executeTakeFirstOrThrow(),
      }));
    const kept = new Set(found.rows.map(({ id }) => id));
    for (const id of [...this.opened.keys()]) if (!kept.has(id)) this.closeAccount(id);
    for (const row of found.rows) {
      const version = row.updated_at.toISOString();
      const before = this.opened.get(row.id);
      if (before?.version === version) continue;
      this.closeAccount(row.id);
      const account = toAccount(row);
      this.accounts.set(row.id, account);
      this.opened.set(row.id, { version, account, ...(await this.waysOf(account, row)) });
    }
    this.routes = found.settings.routes;
    await this.closedSenders.read();
    this.deps.onRouted(processes);
  }

  private async waysOf(
    account: Account,
    row: { id: string; secrets: string; key_id: string },
  ): Promise<{ ways: string[]; fault: string | undefined }> {
    if (account.disabled) return { ways: [], fault: undefined };
    const ways: string[] = [];
    try {
      for (const provider of await this.deps.open(account, openAccountSecrets(this.deps.sealing, row))) {
        const id = wayId(account.id, provider.channel);
        await this.deps.addWay({ id, account, provider });
        ways.push(id);
      }
      return { ways, fault: undefined };
    } catch (error) {
      const [why, fault] = this.deps.sealing.keyIds.includes(row.key_id)
        ? ['it could not be opened', 'not_opened']
        : ['its secrets are sealed with a key that is not here', 'key_missing'];
      this.deps.log.error(
        { err: error, account: account.id },
        `Nothing is handed over by an account: ${why}`,
      );
      return { ways, fault };
    }
  }

  private closeAccount(id: string): void {
    for (const way of this.opened.get(id)?.ways ?? []) this.deps.removeWay(way);
    this.opened.delete(id);
    this.accounts.delete(id);
  }

  private wayUnless(message: Routed, isOut = this.deps.isDown): string {
    const { channel, boundTo } = message;
    const hasClosed = !this.closedSenders.isEmpty;
    if (this.routes.length === 0 && !hasClosed && boundTo === undefined) return DEFAULT_WAYS[channel];
    const id = this.accountIdOf(
      message,
      (one) => isOut(wayId(one, channel)) || (hasClosed && this.isClosed(one, message)),
    );
    return id === undefined || (hasClosed && this.isClosed(id, message)) ? NO_WAY : wayId(id, channel);
  }

  private readonly accountIdOf = (message: Routed, isOut: (id: string) => boolean) =>
    chooseAccount(this.routes, message, (one) => this.accounts.get(one), isOut);

  private readonly withAccounts = ({ toPrefix, usual, spare }: Reach): Reached => ({
    toPrefix,
    usual: this.accountsOf(usual),
    spare: this.accountsOf(spare),
  });

  /** A loop, because `flatMap` takes a microsecond, and this is asked for every message. */
  private accountsOf(ids: readonly string[]): Account[] {
    const accounts: Account[] = [];
    for (const id of ids) {
      const account = this.accounts.get(id);
      if (account) accounts.push(account);
    }
    return accounts;
  }
}
