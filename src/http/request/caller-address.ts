import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';

/**
 * The address of a request for counting failed attempts. Behind a proxy of FANFARE_TRUST_PROXY it is the
 * address that the proxy reports. For IPv6 it is the first 64 bits, because a customer can choose the others.
 */
export function callerAddress(request: FastifyRequest): string {
  const address = request.ip.replace(/^::ffff:(?=\d+\.)/i, '');
  return isIPv6(address) ? networkOf(address) : address;
}

function networkOf(address: string): string {
  const [before = '', after] = (address.split('%')[0] as string).split('::');
  const left = before === '' ? [] : before.split(':');
  const right = after ? after.split(':') : [];
  const zeros = after === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array<string>(Math.max(0, zeros)).fill('0'), ...right];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
