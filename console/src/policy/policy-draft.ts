import type { Policy, SetPolicyData } from '../api/types.gen';
import { TEXTS } from '../texts';

const { policy: texts } = TEXTS;

type Channel = 'email' | 'sms' | 'voice';
type Days = NonNullable<NonNullable<SetPolicyData['body']['quietHours']>['days']>;

export interface Cap {
  channels: readonly Channel[];
  max: string;
  days: string;
}

/** The policy as its form holds it: texts while they are typed, and a switch for each part. */
export interface Draft {
  quiet: {
    isOn: boolean;
    from: string;
    to: string;
    timezone: string;
    days: Days;
    channels: readonly Channel[] | undefined;
    classes: readonly ('marketing' | 'transactional')[] | undefined;
  };
  caps: readonly Cap[];
  senders: Record<Channel, string>;
  optOutText: string;
  onlyFirst: boolean;
  approval: { isOn: boolean; above: string; channels: readonly Channel[] | undefined };
}

const ALL_DAYS: Days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

export function draftOf({ quietHours, caps, allowedSenders, smsOptOutText, approval }: Policy): Draft {
  const sendersOf = (channel: Channel) => allowedSenders?.[channel]?.join('\n') ?? '';
  return {
    quiet: {
      isOn: quietHours !== null,
      from: quietHours?.from ?? '21:00',
      to: quietHours?.to ?? '08:00',
      timezone: quietHours?.timezone ?? 'recipient',
      days: (quietHours?.days as Days | undefined) ?? ALL_DAYS,
      channels: quietHours?.channels,
      classes: quietHours?.classes,
    },
    caps: (caps ?? []).map(({ channels, max, days }) => ({ channels, max: String(max), days: String(days) })),
    senders: { email: sendersOf('email'), sms: sendersOf('sms'), voice: sendersOf('voice') },
    optOutText: smsOptOutText?.text ?? '',
    onlyFirst: smsOptOutText?.onlyFirst ?? false,
    approval: {
      isOn: approval !== null,
      above: String(approval?.above ?? 1_000),
      channels: approval?.channels,
    },
  };
}

/** The policy as one text, a line for each thing that it says, so that two can be compared. */
export function textOf(draft: Draft): string {
  const { quiet, caps, senders, optOutText, approval } = draft;
  const joined = (values: readonly string[]) => values.join(', ');
  return [
    `${texts.quiet}: ${quiet.isOn ? `${quiet.from}–${quiet.to}, ${quiet.timezone}, ${joined(quiet.days)}` : TEXTS.common.none}`,
    ...caps.map(({ channels, max, days }) => `${texts.caps}: ${max} / ${days}, ${joined(channels)}`),
    ...Object.entries(senders).map(
      ([channel, text]) => `${texts.senders} (${channel}): ${text.replaceAll('\n', ', ')}`,
    ),
    `${texts.optOut}: ${optOutText}${draft.onlyFirst ? ` (${texts.onlyFirst})` : ''}`,
    `${texts.approval}: ${approval.isOn ? approval.above : TEXTS.common.none}`,
  ].join('\n');
}

/** The whole policy, because a PUT replaces it. */
export function policyOf({
  quiet,
  caps,
  senders,
  optOutText,
  onlyFirst,
  approval,
}: Draft): SetPolicyData['body'] {
  const lines = (text: string) => {
    // A comma may stand in a name, before the address in angle brackets.
    const found = text.split('\n').flatMap((line) => (line.includes('<') ? [line] : line.split(',')));
    const filled = found.map((one) => one.trim()).filter(Boolean);
    return filled.length === 0 ? null : filled;
  };
  const allowed = { email: lines(senders.email), sms: lines(senders.sms), voice: lines(senders.voice) };
  return {
    quietHours: quiet.isOn
      ? {
          from: quiet.from,
          to: quiet.to,
          timezone: quiet.timezone.trim() || 'recipient',
          ...(quiet.days.length < ALL_DAYS.length && { days: quiet.days }),
          ...(quiet.channels && { channels: [...quiet.channels] }),
          ...(quiet.classes && { classes: [...quiet.classes] }),
        }
      : null,
    caps:
      caps.length === 0
        ? null
        : caps.map(({ channels, max, days }) => ({
            ...(channels.length > 0 && { channels: [...channels] }),
            max: Number(max),
            days: Number(days),
          })),
    allowedSenders: Object.values(allowed).every((one) => one === null) ? null : allowed,
    smsOptOutText: optOutText.trim() === '' ? null : { text: optOutText.trim(), onlyFirst },
    approval: approval.isOn
      ? { above: Number(approval.above), ...(approval.channels && { channels: [...approval.channels] }) }
      : null,
  };
}
