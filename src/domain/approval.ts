import type { Channel } from './channel';
import type { GateReason } from './release';

/**
 * Approval (docs/approval.md): above a number of contacts, a campaign starts when a person has approved it who did not
 * create it.
 */
export interface ApprovalRule {
  above: number;
  /** It holds for a campaign that has one of these. */
  channels: Channel[];
}

/** Stored with the campaign; it ends when the campaign is changed. */
export interface Approval {
  by: string;
  at: string;
  digest: string;
  /** Contacts of the approved audience. */
  contacts: number;
}

/** Why a run is paused that has more contacts than were allowed, or whose approval was taken back. */
export interface ApprovalReason {
  code: 'approval_required';
  contacts: number;
  allowed: number;
}

/** Why a run is paused or canceled by itself, as the API shows it. */
export type OwnReason = GateReason | ApprovalReason;

/** The share of an audience that may come and go after it was approved. */
const APPROVED_DRIFT = 0.01;

/** Undefined for a campaign that needs no approval, however many contacts it has. */
export function approvalRuleOf(
  policy: { approval?: ApprovalRule | null } | null | undefined,
  channels: readonly Channel[],
): ApprovalRule | undefined {
  const rule = policy?.approval;
  return rule?.channels.some((channel) => channels.includes(channel)) ? rule : undefined;
}

/** To how many contacts a campaign may send. */
export function allowedContacts(
  rule: ApprovalRule,
  approval: Pick<Approval, 'contacts'> | null | undefined,
): number {
  if (!approval) return rule.above;
  return Math.max(rule.above, approval.contacts + driftOf(approval.contacts));
}

/** Whether an audience is still the one that was shown. */
export const isSameAudience = (
  shown: number,
  { added, removed }: { added: number; removed: number },
): boolean => added + removed <= driftOf(shown);

const driftOf = (contacts: number): number => Math.floor(contacts * APPROVED_DRIFT);
