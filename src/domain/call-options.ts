import type { CallOptions } from './voice/call-options';

/** The call options to send to the service. Without any, nothing is sent, so that the service uses its own. */
export function callOptions(wishes: CallOptions | undefined): CallOptions | undefined {
  const { machine, ringTimeoutSeconds, maxSeconds } = wishes ?? {};
  return machine === undefined && ringTimeoutSeconds === undefined && maxSeconds === undefined
    ? undefined
    : { machine, ringTimeoutSeconds, maxSeconds };
}
