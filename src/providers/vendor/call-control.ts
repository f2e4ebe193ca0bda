import type { VendorKind } from '../../domain/account';
import type { AnsweredBy } from '../../domain/voice/answer-detection/detection';
import type { HandOver, Receipt } from '../provider';
import type { VendorAccount } from './vendor';

/**
 * Where vendors' calls are kept while they last: what is said next is decided there, step by step, and a vendor's adapter
 * writes it in the vendor's own language.
 */
export interface CallDesk {
  /**
   * Stores the call before the vendor is requested to make it. Returns the URL of its first document, or why
   * the call is not made.
   */
  begin(message: HandOver, account: CallingAccount): Promise<Begun>;
  /** The call was certainly not made. */
  drop(messageId: string): Promise<void>;
}

export interface CallingAccount {
  kind: VendorKind;
  id: string;
  /** What its messages are stored with. */
  provider: string;
  /** How many of its calls there may be at once, in all processes together. */
  callsMax: number | undefined;
  /** How many may be made in any second, in all processes together. */
  callsPerSecond?: number | undefined;
}

export const callingAccount = (kind: VendorKind, account: VendorAccount): CallingAccount => ({
  ...{ kind, id: account.id, provider: account.provider ?? kind },
  ...{ callsMax: account.callsMax, callsPerSecond: account.callsPerSecond },
});

/** `waitMs`: there are as many calls of the account as there may be. */
export type Begun = { path: string } | { problem: string } | { waitMs: number };

/** What a carrier reports about a call, in our terms. */
export interface CallFacts {
  /** Our message's id, if the carrier reports it. */
  messageId?: string | undefined;
  providerId?: string | undefined;
  answeredBy?: AnsweredBy | undefined;
  /** The keys that were entered, if the step asked for keys. */
  digits?: string | undefined;
  recording?: { reference: string; durationMs: number } | undefined;
  /** The call is over. */
  end?: CallEnding | undefined;
  /** The command that has begun or ended, at a carrier that takes commands. */
  progress?: CallProgress | undefined;
}

export interface CallEnding extends Pick<Receipt, 'type' | 'code' | 'at' | 'data'> {
  /** Counts only for an answered call, because the carrier reports the same end for one that was never answered. */
  onlyIfAnswered?: boolean | undefined;
}

/** Where a command stood: in which document of the call, and at which place of it. */
export interface CommandPlace {
  step: string;
  index: number;
}

export type CallProgress =
  | { ended: 'answered' }
  | { ended: CommandEnd; place: CommandPlace }
  /** A key was pressed while the command at `place` was carried out. */
  | { pressed: string; place: CommandPlace };

/** By which event a command ends; `at_once` without one, and `call` with the call. */
export type CommandEnd = 'speech' | 'audio' | 'keys' | 'recording' | 'connection' | 'at_once' | 'call';
