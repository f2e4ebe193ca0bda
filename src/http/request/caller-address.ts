import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { LIMITS } from '../../domain/limits';
import type { LoginOrigin } from '../../messaging/access/open-session';

/**
 * The address of a request for counting failed attempts. Behind a proxy of FANFARE_TRUST_PROXY it is the
 * address that the proxy reports. For IPv6 it is the first 64 bits, because a customer can choose the others.
 */
export function callerAddress(request: FastifyRequest): string {
  const address = request.ip.replace(/^::ffff:(?=\d+\.)/i, '');
  return isIPv6(address) ? networkOf(address) : address;
}

/** The caller as the audit log and the user's list of sessions show it. */
export function originOf(request: FastifyRequest): LoginOrigin {
  const given = request.headers['user-agent'];
  return {
    address: request.ip.replace(/^::ffff:(?=\d+\.)/i, ''),
    userAgent:
      given === undefined ? null : given.replace(/[^\x20-\x7e]/g, '?').slice(0, LIMITS.userAgentChars),
    requestId: request.id,
  };
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
