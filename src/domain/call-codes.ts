import { retryClassOf } from './errors';

/**
 * What made a call fail, by the code that its carrier gave.
 *
 * - `carrier`: the number was not tried. The call is asked for again after minutes and counts as no attempt.
 * - `number`: the number can never be reached.
 * - `unwanted`: the callee does not want such calls (RFC 8197, RFC 8688).
 */
export type CallFault = 'carrier' | 'number' | 'unwanted';

/** Names that carriers use instead of a SIP status. */
const BY_NAME: Record<string, CallFault> = {
  network_failure: 'carrier',
  trunk_down: 'carrier',
  congestion: 'carrier',
  service_unavailable: 'carrier',
  temporary_failure: 'carrier',
  withdrawn: 'carrier',
  unknown_recipient: 'number',
  bad_number: 'number',
  invalid_number: 'number',
  number_unassigned: 'number',
  unwanted: 'unwanted',
};

/** SIP statuses besides the 5xx, all of which are the carrier's fault. */
const BY_SIP_STATUS: Record<string, CallFault> = {
  404: 'number',
  410: 'number',
  484: 'number',
  604: 'number',
  607: 'unwanted',
  608: 'unwanted',
};

/** A SIP status is written `503` or `sip_503`. */
export function callFault(code: string | undefined): CallFault | undefined {
  if (code === undefined) return undefined;
  const status = /^(?:sip[_-]?)?([3-6]\d\d)$/i.exec(code)?.[1];
  if (status) return status.startsWith('5') ? 'carrier' : BY_SIP_STATUS[status];
  if (Object.hasOwn(BY_NAME, code)) return BY_NAME[code];
  const retry = retryClassOf(code);
  return retry === 'transient' || retry === 'throttled' ? 'carrier' : undefined;
}
