import type { MachinePolicy } from './call-policy';

/** How the service is to run a call: an additive member of a Message. */
export interface CallOptions {
  machine?: MachinePolicy | undefined;
  ringTimeoutSeconds?: number | undefined;
}

/** Of a caller's wishes, those that the service is told; nothing when there are none, so that its own hold. */
export function callOptions(wishes: CallOptions | undefined): CallOptions | undefined {
  const { machine, ringTimeoutSeconds } = wishes ?? {};
  return machine === undefined && ringTimeoutSeconds === undefined
    ? undefined
    : { machine, ringTimeoutSeconds };
}
