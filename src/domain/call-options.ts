import type { CallOptions } from './voice/call-options';

/** Of a caller's wishes, those that the service is told; nothing when there are none, so that its own hold. */
export function callOptions(wishes: CallOptions | undefined): CallOptions | undefined {
  const { machine, ringTimeoutSeconds, maxSeconds } = wishes ?? {};
  return machine === undefined && ringTimeoutSeconds === undefined && maxSeconds === undefined
    ? undefined
    : { machine, ringTimeoutSeconds, maxSeconds };
}
