import type { ApprovalRule } from './approval';
import type { Channel } from './channel';
import { senderKey } from './suppression';
import type { WeeklyWindow } from './time-zones/hours';

/**
 * A workspace's rules for everything it sends (api.md 7). Every part is off until it is set. Transactional
 * messages are exempt from caps and from the opt-out text, and from quiet hours unless these include them.
 */
export interface WorkspacePolicy {
  quietHours: PolicyQuietHours | null;
  caps: ContactCap[] | null;
  allowedSenders: Partial<Record<Channel, string[]>> | null;
  smsOptOutText: OptOutText | null;
  approval: ApprovalRule | null;
}

export type MessageClass = 'marketing' | 'transactional';

export interface PolicyQuietHours extends WeeklyWindow {
  channels: Channel[];
  classes: MessageClass[];
}

/** At most `max` messages to an address within `days` days, on these channels together. */
export interface ContactCap {
  channels: Channel[];
  max: number;
  days: number;
}

export interface OptOutText {
  text: string;
  /** Add the text only to the first SMS from a sender to a number. Otherwise every marketing SMS ends with it. */
  onlyFirst: boolean;
}

/** A policy with its version, which grows by one with every change. */
export interface PolicyVersion {
  version: number;
  policy: WorkspacePolicy;
  /** Null for a workspace that never set one. */
  updatedAt: Date | null;
}

export const NO_POLICY: WorkspacePolicy = {
  quietHours: null,
  caps: null,
  allowedSenders: null,
  smsOptOutText: null,
  approval: null,
};

/** Why a recipient waits, or expired. A wait does not count as an attempt. */
export const OUT_OF_HOURS = 'quiet_hours';
export const FREQUENCY_CAP = 'frequency_cap';

export const POLICY_PRESETS = {
  /** What the rules of most countries and the carriers' codes of conduct require for marketing to private persons. */
  consumer: {
    quietHours: {
      from: '21:00',
      to: '08:00',
      timezone: 'recipient',
      channels: ['sms', 'voice'],
      classes: ['marketing'],
    },
    caps: [{ channels: ['voice'], max: 2, days: 1 }],
    allowedSenders: null,
    smsOptOutText: { text: 'Reply STOP to opt out', onlyFirst: true },
    approval: null,
  },
} as const satisfies Record<string, DeepReadonly<WorkspacePolicy>>;

type DeepReadonly<T> = T extends (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

const classOf = (given: string | undefined): MessageClass =>
  given === 'transactional' ? 'transactional' : 'marketing';

export function quietHoursOf(
  policy: Pick<WorkspacePolicy, 'quietHours'> | undefined,
  channel: Channel,
  given: string | undefined,
): WeeklyWindow | undefined {
  const quiet = policy?.quietHours;
  if (!quiet?.channels.includes(channel) || !quiet.classes.includes(classOf(given))) return undefined;
  return quiet;
}

export function capsOf(
  policy: Pick<WorkspacePolicy, 'caps'> | undefined,
  channel: Channel,
  given: string | undefined,
): ContactCap[] {
  if (!policy?.caps || classOf(given) !== 'marketing') return [];
  return policy.caps.filter((cap) => cap.channels.includes(channel));
}

export function optOutTextOf(
  policy: Pick<WorkspacePolicy, 'smsOptOutText'> | undefined,
  channel: Channel,
  given: string | undefined,
): OptOutText | undefined {
  if (channel !== 'sms' || classOf(given) !== 'marketing') return undefined;
  return policy?.smsOptOutText ?? undefined;
}

/** A channel without a list is open to every sender. `@example.com` allows every sender of the domain. */
export function isAllowedSender(
  policy: Pick<WorkspacePolicy, 'allowedSenders'> | undefined,
  channel: Channel,
  from: string,
): boolean {
  const allowed = policy?.allowedSenders?.[channel];
  if (!allowed) return true;
  const sender = senderKey(from);
  const domain = sender.slice(sender.lastIndexOf('@'));
  return allowed.some((one) => {
    const key = senderKey(one);
    return key === sender || (channel === 'email' && key.startsWith('@') && key === domain);
  });
}

/** One message that counts towards a cap. */
export interface ContactUse {
  channel: string;
  at: Date;
}

const DAY_MS = 86_400_000;

/** When every cap allows one more message; now or in the past if they already do. */
export function roomAt(caps: readonly ContactCap[], uses: readonly ContactUse[], now: number): number {
  let room = now;
  for (const { channels, max, days } of caps) {
    const since = now - days * DAY_MS;
    const counted = uses
      .filter(({ channel, at }) => (channels as string[]).includes(channel) && at.getTime() > since)
      .map(({ at }) => at.getTime())
      .sort((one, other) => one - other);
    // Enough of the oldest messages must leave the window, so that one more is below the limit.
    const lastToLeave = counted[counted.length - max];
    if (lastToLeave !== undefined) room = Math.max(room, lastToLeave + days * DAY_MS);
  }
  return room;
}

/** The suffix of an SMS stands on a line of its own. */
export function withSuffix(text: string, suffix: string | undefined): string {
  return suffix === undefined ? text : `${text}\n${suffix}`;
}
