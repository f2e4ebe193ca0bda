import { lookup, Resolver } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { DomainError } from '../../domain/errors';

/**
 * Decides where a request may go. A name is resolved once, and all its addresses are checked. The caller
 * connects to these addresses without a second lookup, so that a name that changes in between has no effect.
 */
export interface TargetGuard {
  /** The addresses to connect to. Fails with `private_target`, or with the resolver's error. */
  addressesOf(url: URL): Promise<PinnedAddress[]>;
  /** Checks a URL that contains an address, without a lookup. Fails with `private_target`. */
  refuseLiteral(url: URL): void;
}

export interface PinnedAddress {
  address: string;
  family: 4 | 6;
}

/** All addresses of a name. */
export type Resolve = (name: string) => Promise<string[]>;

export function createTargetGuard({
  allowPrivate,
  resolve = resolveName,
}: {
  allowPrivate: boolean;
  resolve?: Resolve | undefined;
}): TargetGuard {
  const isAllowed = (address: string): boolean => {
    const kind = kindOfAddress(address);
    return kind === 'public' || (allowPrivate && kind === 'private');
  };

  function check(addresses: readonly string[]): void {
    // One forbidden address among several is enough to refuse, because we do not choose which one is used.
    if (addresses.length > 0 && addresses.every(isAllowed)) return;
    const message = 'This leads to an address that is not public';
    throw new DomainError('private_target', `url: ${message}`, {
      errors: [{ path: 'url', code: 'private_target', message }],
    });
  }

  return {
    async addressesOf(url) {
      const host = hostOf(url);
      const literal = literalOf(host);
      const addresses = literal ?? (await resolve(host));
      check(addresses);
      return addresses.map((address) => ({ address, family: isIP(address) === 6 ? 6 : 4 }));
    },
    refuseLiteral(url) {
      const literal = literalOf(hostOf(url));
      if (literal) check(literal);
    },
  };
}

/** The host as a connection needs it: an IPv6 address without its brackets. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/** Hosts that need no resolver: addresses, and the names that always mean this machine. */
function literalOf(host: string): string[] | undefined {
  if (isIP(host)) return [host];
  return /(^|\.)localhost\.?$/.test(host) ? ['127.0.0.1', '::1'] : undefined;
}

const DNS_TIMEOUT_MS = 3_000;
const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 });

/**
 * Asks the network first. The system's resolver also knows the hosts file, but it occupies one of Node's four
 * threads as long as a server is silent, and password hashing and files need these threads too.
 */
async function resolveName(name: string): Promise<string[]> {
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = [v4, v6].flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  if (found.length > 0) return found;
  const { code } = (v4 as PromiseRejectedResult).reason as NodeJS.ErrnoException;
  if (code === 'ETIMEOUT') throw (v4 as PromiseRejectedResult).reason;
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

/**
 * Classifies the addresses that a customer's URL may lead to. A customer must not reach, through us, what only
 * we can reach: this machine, its network, a cloud's metadata.
 *
 * - `public`: every address that is routed on the internet.
 * - `private`: this machine and private networks; for installations that allow it, because receivers may be
 * there.
 * - `never`: link-local addresses and others with the services of a cloud's machines, multicast, and addresses that no receiver
 * can have.
 */
type AddressKind = 'public' | 'private' | 'never';

const PRIVATE = ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'];
const NEVER = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Services of Azure and Alibaba Cloud for their machines, which stand among public and private addresses. */
const CLOUD = ['168.63.129.16/32', '100.100.100.200/32'];
const PRIVATE_6 = ['::1/128', 'fc00::/7'];
/** Metadata of Amazon and Google. */
const CLOUD_6 = ['fd00:ec2::254/128', 'fd20:ce::254/128'];
/** Exceptions within the routed part of the address space; what is outside that part and not private is `never`. */
const NEVER_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
/** The last 32 bits are an IPv4 address, which decides: mapped addresses, and those that a NAT64 translates. */
const HOLDS_IPV4 = ['::ffff:0:0/96', '64:ff9b::/96'];

const isPrivate = listOf(PRIVATE, 'ipv4');
const isNever = listOf([...NEVER, ...CLOUD], 'ipv4');
const isPrivate6 = listOf(PRIVATE_6, 'ipv6');
const isNever6 = listOf([...NEVER_6, ...CLOUD_6], 'ipv6');
const isRouted6 = listOf(['2000::/3'], 'ipv6');

export function kindOfAddress(address: string): AddressKind {
  const version = isIP(address);
  if (version === 4) return isNever(address) ? 'never' : isPrivate(address) ? 'private' : 'public';
  // An address with a zone belongs to one link.
  if (version !== 6 || address.includes('%')) return 'never';
  const ipv4 = heldIpv4(address);
  if (ipv4 !== undefined) return kindOfAddress(ipv4);
  if (isNever6(address)) return 'never';
  if (isPrivate6(address)) return 'private';
  return isRouted6(address) ? 'public' : 'never';
}

function listOf(networks: readonly string[], family: 'ipv4' | 'ipv6'): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [net = '', bits] = network.split('/');
    list.addSubnet(net, Number(bits), family);
  }
  return (address) => list.check(address, family);
}

/** The URL parser writes every IPv6 address in one form, with the last two groups in hexadecimal. */
function heldIpv4(address: string): string | undefined {
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const prefix = HOLDS_IPV4.map((network) => network.replace(/0:0\/96$|\/96$/, '')).find((start) =>
    canonical.startsWith(start),
  );
  if (prefix === undefined) return undefined;
  const groups = canonical.slice(prefix.length).split(':').filter(Boolean);
  if (groups.length > 2) return undefined;
  const value = groups.reduce((sum, group) => sum * 65_536 + Number.parseInt(group, 16), 0);
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}
