import type { CampaignDetail } from '../api/types.gen';
import { linesOf } from './campaign-lines';
import { clocksAt } from './clocks';
import { type Body, bodyOf, type Draft, type Editing, emptyDraft, gatePercentOf } from './draft';
import { retriesOf } from './retries';

/** A campaign that has not begun, as the form shows it; what the form has no field for is kept beside it. */
export function draftOfCampaign(campaign: CampaignDetail): Draft & { editing: Editing } {
  const draft = contentOf(campaign);
  const editing = editingOf(campaign);
  return { ...draft, editing: { ...editing, from: linesOf(campaign, bodyOf({ ...draft, editing })) } };
}

function editingOf(campaign: CampaignDetail): Editing {
  const { id, inline, schedule } = campaign;
  const untilOnly = schedule && !schedule.cron && !schedule.startAt ? { untilOnly: schedule } : {};
  const startAt = schedule?.startAt;
  const start = startAt ? { start: { startAt, clocks: clocksAt(startAt, zoneOf(schedule)) } } : {};
  return { id, ownRecipients: inline, rest: restOf(campaign), ...untilOnly, ...start, from: '' };
}

function contentOf(campaign: CampaignDetail): Draft {
  const { settings, delivery, schedule, release, channel } = campaign;
  const empty = emptyDraft();
  const message = (one: { templateId: string; version: number } | undefined, sender: string | undefined) =>
    one ? { sender: sender ?? '', templateId: one.templateId, version: one.version } : empty.sms;
  return {
    ...empty,
    name: campaign.name,
    lists: campaign.contactListId,
    channels: channel,
    email: message(settings.email, settings.email?.fromEmail),
    sms: message(settings.sms, settings.sms?.shortCode),
    voice: message(settings.voice, settings.voice?.callerId),
    strategy: campaign.strategy ?? empty.strategy,
    fallbackMinutes: String((campaign.fallbackAfterSeconds ?? 600) / 60),
    class: campaign.class ?? empty.class,
    when: schedule?.cron ? 'recurring' : schedule?.startAt ? 'later' : 'now',
    startAt: schedule?.startAt ? clocksAt(schedule.startAt, zoneOf(schedule)) : '',
    cron: schedule?.cron ?? empty.cron,
    timezone: zoneOf(schedule),
    recipientLocal: schedule?.recipientLocal ?? false,
    rate: delivery?.ratePerSecond === undefined ? '' : String(delivery.ratePerSecond),
    quietFrom: delivery?.quietHours?.from ?? '',
    quietTo: delivery?.quietHours?.to ?? '',
    stages: (release?.stages ?? []).map(({ recipients, percent, waitSeconds }) => ({
      size: String(percent ?? recipients ?? ''),
      unit: percent === undefined ? 'recipients' : 'percent',
      wait: waitSeconds === undefined ? '' : String(waitSeconds / 60),
    })),
    gatePercent: gatePercentOf(release?.gates),
    retries: retriesOf(campaign),
  };
}

/** What the form has no field for, so that saving keeps it. */
function restOf({
  params,
  voice,
  exclude,
  abort,
  delivery,
  schedule,
  release,
}: CampaignDetail): Partial<Body> {
  const {
    ratePerSecond: _,
    quietHours,
    retry: _retry,
    onUnknown: _onUnknown,
    expireAfterSeconds: _expire,
    ...ofDelivery
  } = delivery ?? {};
  const { from: __, to: ___, ...ofQuietHours } = quietHours ?? { from: '', to: '' };
  const { cron, startAt, endAt, misfire } = schedule ?? {};
  return {
    ...(params ? { params } : {}),
    ...(voice ? { voice } : {}),
    ...(exclude ? { exclude } : {}),
    ...(abort ? { abort } : {}),
    delivery: { ...ofDelivery, ...(quietHours ? { quietHours: ofQuietHours as typeof quietHours } : {}) },
    schedule: {
      // No occurrence is before it.
      ...(cron && startAt ? { startAt } : {}),
      ...(endAt ? { endAt } : {}),
      ...(misfire ? { misfire } : {}),
    },
    ...(release ? { release: { ...release, stages: [] } } : {}),
  };
}

/** The API takes UTC where a schedule names no zone; a campaign without an hour gets one by the clocks of this machine. */
function zoneOf(schedule: CampaignDetail['schedule']): string {
  if (schedule?.cron || schedule?.startAt) return schedule.timezone ?? 'UTC';
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
