import type { CallPolicy } from '../../domain/call-policy';
import type { RetryPolicy } from '../../domain/retry-policy';
import type { WeeklyWindow } from '../../domain/time-zones/hours';
import type { CallOptions } from '../../domain/voice/call-options';

/** The content of a durable send, as it is stored (contracts/durable-sends.ts). */
export interface SendContent {
  to: string;
  from: string;
  'template-id'?: string | undefined;
  version?: number | undefined;
  params?: Record<string, string | number> | undefined;
  subject?: string | undefined;
  body?: string | undefined;
  replyTo?: string | undefined;
  campaign?: string | undefined;
  class?: string | undefined;
  sendAt?: string | undefined;
  expiresAt?: string | undefined;
  retry?: Partial<RetryPolicy> | undefined;
  window?: WeeklyWindow | undefined;
  voice?:
    | (CallOptions & { retry?: CallPolicy['retry'] | undefined; maxAttempts?: number | undefined })
    | undefined;
}
