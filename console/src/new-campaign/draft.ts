import type { CreateCampaignData } from '../api/types.gen';
import { recipientsOf } from './recipients-text';

/** What the form holds, as typed; kept in this browser until the campaign is made, so that nothing typed is lost. */
export interface Draft {
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
  /** Of this content: the same press twice makes one campaign, other content another. */
  key: string;
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
  key: '',
});

export type Body = CreateCampaignData['body'];

/** Judging what is in it is left to the API, so that a finding is always the same. */
export function bodyOf(draft: Draft): Body {
  const { name, lists, pasted, skipInvalid, channels, strategy, fallbackMinutes } = draft;
  const recipients = pasted.trim() === '' ? undefined : recipientsOf(pasted);
  const schedule = scheduleOf(draft);
  const delivery = deliveryOf(draft);
  const release = releaseOf(draft);
  const isFallback = strategy === 'fallback' && channels.length > 1;
  return {
    name: name.trim(),
    channel: channels,
    settings: settingsOf(draft),
    ...(lists.length > 0 ? { contactListId: lists } : {}),
    ...(recipients ? { recipients: recipients as Body['recipients'] } : {}),
    ...(recipients && skipInvalid ? { skipInvalid } : {}),
    class: draft.class,
    ...(schedule ? { schedule } : {}),
    ...(delivery ? { delivery } : {}),
    ...(release ? { release } : {}),
    ...(isFallback
      ? { strategy: 'fallback' as const, fallbackAfterSeconds: Math.round(Number(fallbackMinutes) * 60) }
      : {}),
  };
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

function scheduleOf({ when, startAt, cron, timezone, recipientLocal }: Draft): Body['schedule'] {
  if (when === 'now') return undefined;
  const local = recipientLocal ? { recipientLocal } : {};
  if (when === 'recurring') return { cron, timezone, ...local };
  return { startAt: startAt === '' ? '' : new Date(startAt).toISOString(), timezone, ...local };
}

function deliveryOf({ rate, quietFrom, quietTo }: Draft): Body['delivery'] {
  const delivery = {
    ...(rate === '' ? {} : { ratePerSecond: Number(rate) }),
    ...(quietFrom === '' || quietTo === '' ? {} : { quietHours: { from: quietFrom, to: quietTo } }),
  };
  return Object.keys(delivery).length === 0 ? undefined : delivery;
}

/** Too few to judge by are let pass. */
const GATE_SAMPLE = 20;

function releaseOf({ stages, gatePercent }: Draft): Body['release'] {
  if (stages.length === 0) return undefined;
  const above = Number(gatePercent) / 100;
  return {
    stages: stages.map(({ size, unit, wait }) => ({
      [unit]: Number(size),
      ...(wait === '' ? {} : { waitSeconds: Math.round(Number(wait) * 60) }),
    })),
    ...(gatePercent === ''
      ? {}
      : {
          gates: (['failed', 'undelivered', 'rejected'] as const).map((metric) => ({
            ...{ metric, above, minSample: GATE_SAMPLE },
          })),
        }),
  };
}
