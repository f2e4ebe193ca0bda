import { type Account, accountIdOf, defaultAccountId, isOpenTo, providerName } from './account';
import type { Channel } from './channel';
import { senderKey } from './suppression';

/** By which account a message leaves, as an owner decided. All members given must match (api.md 15). */
export interface Route {
  channel: Channel;
  workspace?: string | undefined;
  /** As `routeSender` makes it. */
  sender?: string | undefined;
  /** The beginning of a phone number. */
  toPrefix?: string | undefined;
  class?: 'marketing' | 'transactional' | undefined;
  /** A weight of 0 is a spare: it takes what fails over to it, and is drawn for nothing. */
  accounts: { account: string; weight?: number | undefined }[];
  /** While an account is down, the next in the list takes its messages. */
  failover?: boolean | undefined;
}

export interface Routed {
  id: string;
  workspaceId: string;
  channel: Channel;
  from: string;
  to: string;
  class: 'marketing' | 'transactional';
  /** The provider that may have got something of it, in an answer that does not say so for certain. */
  boundTo?: string | undefined;
}

/** What of a sender a route compares: the domain of an email address, or the number or name without case. */
export function routeSender(channel: Channel, from: string): string {
  const key = senderKey(from);
  return channel === 'email' ? key.slice(key.lastIndexOf('@') + 1) : key;
}

/**
 * The account of a message: that of the first route which matches, or the channel's default. `undefined` when the
 * route leads to no account that may be used now, and the message waits.
 *
 * With failover the next account in the list's order is chosen while one is down: it refuses us, cannot be connected to,
 * or has throttled for long. All of these say for certain that it took nothing. A message of which an account may have
 * got something stays with it, also where the routes lead elsewhere since, for as long as the account may be used; and longer
 * where a lost answer is tried again, because the carrier knows the message.
 */
export function chooseAccount(
  routes: readonly Route[],
  message: Routed,
  accountOf: (id: string) => Account | undefined,
  isDown: (id: string) => boolean = () => false,
): string | undefined {
  const own = boundAccount(message, accountOf);
  if (own && isUsable(own, message)) return own.id;
  // Its answer may be lost. Only there the same message is no second one, so that it waits until the account may be used again.
  if (own?.settings.idempotent === true) return undefined;
  const route = routes.find((one) => matches(one, message));
  if (!route) return defaultAccountId(message.channel);
  const usable = route.accounts.filter(({ account: id }) => isUsable(accountOf(id), message));
  const { usual } = sharesOf(route, usable);
  const first = drawnFrom(route, usual, message.id)?.account;
  if (!route.failover || first === undefined) return first;
  const ids = usable.map(({ account }) => account);
  const at = ids.indexOf(first);
  return [...ids.slice(at), ...ids.slice(0, at)].find((id) => !isDown(id)) ?? first;
}

/** Accounts by which messages of a route leave: those that get them while all are up, and those that only step in. */
export interface Reach {
  toPrefix: string | undefined;
  usual: string[];
  spare: string[];
}

/** The same for messages whose recipients are not known yet: what each route that some of them may take leads to. */
export function reachOf(
  routes: readonly Route[],
  message: Pick<Routed, 'workspaceId' | 'channel' | 'from' | 'class'>,
  accountOf: (id: string) => Account | undefined,
): Reach[] {
  const reached: Reach[] = [];
  for (const route of routes) {
    if (!matches(route, { ...message, id: '', to: route.toPrefix ?? '' })) continue;
    reached.push(reachByRoute(route, message, accountOf));
    if (route.toPrefix === undefined) return reached;
  }
  return [...reached, reachByDefault(message)];
}

/** The same for a message whose recipient is known. */
export function reachOfMessage(
  routes: readonly Route[],
  message: Routed,
  accountOf: (id: string) => Account | undefined,
): Reach {
  const route = routes.find((one) => matches(one, message));
  return route ? reachByRoute(route, message, accountOf) : reachByDefault(message);
}

function reachByRoute(
  route: Route,
  message: Pick<Routed, 'channel' | 'workspaceId'>,
  accountOf: (id: string) => Account | undefined,
): Reach {
  const usable = route.accounts.filter(({ account: id }) => isUsable(accountOf(id), message));
  const { usual, spare } = sharesOf(route, usable);
  const ids = (accounts: Route['accounts']) => accounts.map(({ account: id }) => id);
  return { toPrefix: route.toPrefix, usual: ids(usual), spare: ids(spare) };
}

/** Who of the usable accounts gets messages while all are up, and who only steps in. */
function sharesOf(
  route: Route,
  usable: Route['accounts'],
): { usual: Route['accounts']; spare: Route['accounts'] } {
  const usual = isDrawn(route) ? usable.filter(({ weight }) => weight !== 0) : usable.slice(0, 1);
  const spare = route.failover ? usable.filter((one) => !usual.includes(one)) : [];
  return usual.length > 0 ? { usual, spare } : { usual: spare.slice(0, 1), spare: spare.slice(1) };
}

const isDrawn = ({ accounts }: Route): boolean => accounts.some(({ weight }) => weight !== undefined);

const drawnFrom = (route: Route, usual: Route['accounts'], id: string) =>
  isDrawn(route) ? drawn(usual, id) : usual[0];

const reachByDefault = ({ channel }: Pick<Routed, 'channel'>): Reach => ({
  toPrefix: undefined,
  usual: [defaultAccountId(channel)],
  spare: [],
});

const isUsable = (
  account: Account | undefined,
  { channel, workspaceId }: Pick<Routed, 'channel' | 'workspaceId'>,
) =>
  account !== undefined &&
  !account.disabled &&
  account.channels.includes(channel) &&
  isOpenTo(account, workspaceId);

function boundAccount(
  { boundTo, channel }: Routed,
  accountOf: (id: string) => Account | undefined,
): Account | undefined {
  if (boundTo === undefined) return undefined;
  const account = accountOf(accountIdOf(boundTo, channel));
  return account && providerName(account) === boundTo ? account : undefined;
}

function matches(route: Route, message: Routed): boolean {
  return (
    route.channel === message.channel &&
    (route.workspace === undefined || route.workspace === message.workspaceId) &&
    (route.class === undefined || route.class === message.class) &&
    (route.toPrefix === undefined || message.to.startsWith(route.toPrefix)) &&
    (route.sender === undefined || route.sender === routeSender(message.channel, message.from))
  );
}

/**
 * Drawn by the message's id, so that asking again for the same message answers the same while the accounts are the
 * same: a message that was counted for one account does not wander to another.
 */
function drawn(accounts: Route['accounts'], id: string): Route['accounts'][number] | undefined {
  const total = accounts.reduce((sum, { weight = 1 }) => sum + weight, 0);
  let place = fraction(id) * total;
  for (const one of accounts) {
    place -= one.weight ?? 1;
    if (place < 0) return one;
  }
  return accounts.at(-1);
}

/** Between 0 and 1, even for ids that differ in their last characters only: FNV-1a with a final mix. */
function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 0x1_0000_0000;
}
