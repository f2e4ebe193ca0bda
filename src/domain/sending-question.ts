import type { Channel } from './channel';

/** Whether messages could be sent so, before any of them exists; and what the service's carriers cannot do of them. */
export interface SendingQuestion {
  channel: Channel;
  from: string;
  templateId: string;
  /** Without it, the newest. */
  version?: number | undefined;
  class?: string | undefined;
}

export interface SendingFinding {
  about: string;
  /** `error`: no message can be sent so. */
  severity: string;
  message: string;
}
