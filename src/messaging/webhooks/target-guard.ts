import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { DomainError } from '../../domain/errors';
import { kindOfAddress } from './private-addresses';

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
