import type { CreateCampaignData } from '../api/types.gen';
import { momentOf } from './clocks';
import { recipientsOf } from './recipients-text';
import { deliveryOfRetries, noRetries, type Retries, voiceOf } from './retries';

/** What the form holds, as typed; kept in this browser until the campaign is made, so that nothing typed is lost. */
export interface Draft {
  /** The campaign that is edited, and what of it the form has no field for. */
  editing?: Editing | undefined;
  name: string;
  lists: string[];
  pasted: string;
  skipInvalid: boolean;
  country: string;
  channels: ChannelName[];
  email: Message;
  sms: Message;
  voice: Message;
  strategy: 'broadcast' | 'fallback';
  fallbackMinutes: string;
  class: 'marketing' | 'transactional';
  when: 'now' | 'later' | 'recurring';
  startAt: string;
  cron: string;
  timezone: string;
  recipientLocal: boolean;
  rate: string;
  quietFrom: string;
  quietTo: string;
  stages: Stage[];
  gatePercent: string;
  retries: Retries;
  /** Of this content: the same press twice makes one campaign, other content another. */
  key: string;
  /**
   * The Idempotency-Key of a request that may have made a campaign, as long as its answer has not come: under it the
   * server makes no second one, whatever the form holds by then.
   */
  asked?: string | undefined;
}

export interface Editing {
  id: string;
  ownRecipients: number;
  rest: Partial<Body>;
  untilOnly?: Body['schedule'];
  /** When it starts, and how the field shows that: without seconds, and twice the same when clocks are set back. */
  start?: { startAt: string; clocks: string };
  /** What it was set to when the form opened, a line for each setting, to see what another person changes. */
  from: string;
}

export type ChannelName = 'email' | 'sms' | 'voice';

interface Message {
  sender: string;
  templateId: string;
  version: number;
}

export interface Stage {
  size: string;
  unit: 'percent' | 'recipients';
  /** Minutes; empty waits until it is let go by hand. */
  wait: string;
}

const NO_MESSAGE: Message = { sender: '', templateId: '', version: 0 };

export const emptyDraft = (): Draft => ({
  name: '',
  lists: [],
  pasted: '',
  skipInvalid: false,
  country: '',
  channels: ['email'],
  email: NO_MESSAGE,
  sms: NO_MESSAGE,
  voice: NO_MESSAGE,
  strategy: 'broadcast',
  fallbackMinutes: '60',
  class: 'marketing',
  when: 'now',
  startAt: '',
  cron: '0 9 * * 1',
  timezone: '',
  recipientLocal: false,
  rate: '',
  quietFrom: '',
  quietTo: '',
  stages: [],
  gatePercent: '',
  retries: noRetries(),
  key: '',
});

export type Body = CreateCampaignData['body'];

/** Judging what is in it is left to the API, so that a finding is always the same. */
export function bodyOf(draft: Draft): Body {
  const { name, lists, pasted, skipInvalid, channels, strategy, fallbackMinutes, editing } = draft;
  const {
    delivery: otherDelivery,
    schedule: otherSchedule,
    release: otherRelease,
    voice: otherVoice,
    ...rest
  } = editing?.rest ?? {};
  const recipients = pasted.trim() === '' ? undefined : recipientsOf(pasted);
  // Of a campaign without an hour, only when it ends may be left.
  const typedSchedule = scheduleOf(draft);
  const schedule = typedSchedule ? { ...otherSchedule, ...typedSchedule } : editing?.untilOnly;
  const delivery = deliveryWith(otherDelivery, deliveryOf(draft));
  const voice = channels.includes('voice') || editing ? voiceOf(draft.retries, otherVoice) : undefined;
  const typedRelease = releaseOf(draft);
  const { onGate } = otherRelease ?? {};
  const release = typedRelease && { ...(onGate ? { onGate } : {}), ...typedRelease };
  const isFallback = strategy === 'fallback' && channels.length > 1;
  return {
    ...rest,
    ...(editing ? { campaignId: editing.id } : {}),
    name: name.trim(),
    channel: channels,
    settings: settingsOf(draft),
    ...(lists.length > 0 ? { contactListId: lists } : {}),
    ...(recipients ? { recipients: recipients as Body['recipients'] } : {}),
    ...(recipients && skipInvalid ? { skipInvalid } : {}),
    class: draft.class,
    ...(schedule ? { schedule } : {}),
    ...(delivery ? { delivery } : {}),
    ...(voice ? { voice } : {}),
    ...(release ? { release } : {}),
    ...(isFallback
      ? { strategy: 'fallback' as const, fallbackAfterSeconds: Math.round(Number(fallbackMinutes) * 60) }
      : {}),
  };
}

function deliveryWith(kept: Body['delivery'], typed: Body['delivery']): Body['delivery'] {
  const { quietHours: keptHours, ...others } = kept ?? {};
  const { quietHours, ...rest } = typed ?? {};
  const delivery = {
    ...others,
    ...rest,
    ...(quietHours ? { quietHours: { ...keptHours, ...quietHours } } : {}),
  };
  return Object.keys(delivery).length === 0 ? undefined : delivery;
}

function settingsOf({ channels, email, sms, voice }: Draft): Body['settings'] {
  const { sender: fromEmail, ...ofEmail } = email;
  const { sender: shortCode, ...ofSms } = sms;
  const { sender: callerId, ...ofVoice } = voice;
  return {
    ...(channels.includes('email') ? { email: { fromEmail, ...ofEmail } } : {}),
    ...(channels.includes('sms') ? { sms: { shortCode, ...ofSms } } : {}),
    ...(channels.includes('voice') ? { voice: { callerId, ...ofVoice } } : {}),
  };
}

function scheduleOf({ when, startAt, cron, timezone, recipientLocal, editing }: Draft): Body['schedule'] {
  if (when === 'now') return undefined;
  const local = recipientLocal ? { recipientLocal } : {};
  if (when === 'recurring') return { cron, timezone, ...local };
  if (startAt === '') return { startAt, timezone, ...local };
  // The field shows no seconds, and an hour that comes twice once.
  const kept = startAt === editing?.start?.clocks ? editing.start.startAt : undefined;
  return { startAt: kept ?? momentOf(startAt, timezone), timezone, ...local };
}

function deliveryOf({ rate, quietFrom, quietTo, retries }: Draft): Body['delivery'] {
  const delivery = {
    ...(rate === '' ? {} : { ratePerSecond: Number(rate) }),
    // One of the two alone is sent too, and refused, because otherwise people would be written to at night.
    ...(quietFrom === '' && quietTo === '' ? {} : { quietHours: { from: quietFrom, to: quietTo } }),
    ...deliveryOfRetries(retries),
  };
  return Object.keys(delivery).length === 0 ? undefined : delivery;
}

/** Too few to judge by are let pass. */
const GATE_SAMPLE = 20;

/** The form has one limit for its three gates. */
export function gatePercentOf(gates: NonNullable<Body['release']>['gates']): string {
  const [first] = gates ?? [];
  return first ? String(Number((first.above * 100).toFixed(4))) : '';
}

function releaseOf({ stages, gatePercent, editing }: Draft): Body['release'] {
  if (stages.length === 0) return undefined;
  const above = Number(gatePercent) / 100;
  // Gates that the form could not make stay as they are until their limit is changed.
  const kept = editing?.rest.release?.gates;
  const isKept = kept !== undefined && gatePercentOf(kept) === gatePercent;
  return {
    stages: stages.map(({ size, unit, wait }) => ({
      [unit]: Number(size),
      ...(wait === '' ? {} : { waitSeconds: Math.round(Number(wait) * 60) }),
    })),
    ...(gatePercent === ''
      ? {}
      : {
          gates: isKept
            ? kept
            : (['failed', 'undelivered', 'rejected'] as const).map((metric) => ({
                ...{ metric, above, minSample: GATE_SAMPLE },
              })),
        }),
  };
}
