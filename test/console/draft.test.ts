import type { CampaignDetail } from '../../console/src/api/types.gen';
import { bodyOf, emptyDraft } from '../../console/src/new-campaign/draft';
import { draftOfCampaign } from '../../console/src/new-campaign/draft-of-campaign';

describe('the form of a new campaign, as a request', () => {
  const draft = {
    ...emptyDraft(),
    name: ' Spring ',
    lists: ['lst_1'],
    email: { sender: 'a@example.com', templateId: 'tpl_1', version: 3 },
    timezone: 'Europe/Paris',
  };

  test('what was not filled in is left out', () => {
    expect(bodyOf(draft)).toEqual({
      name: 'Spring',
      channel: ['email'],
      settings: { email: { fromEmail: 'a@example.com', templateId: 'tpl_1', version: 3 } },
      contactListId: ['lst_1'],
      class: 'marketing',
    });
  });

  test('each channel has its own name for the sender, and channels in order are a fallback', () => {
    const sms = { sender: '12345', templateId: 'tpl_2', version: 1 };
    const voice = { sender: '+12025550123', templateId: 'tpl_3', version: 1 };
    const body = bodyOf({
      ...draft,
      channels: ['sms', 'voice'],
      ...{ sms, voice, strategy: 'fallback' },
      fallbackMinutes: '1.5',
    });
    expect(body).toMatchObject({
      settings: { sms: { shortCode: '12345' }, voice: { callerId: '+12025550123' } },
      strategy: 'fallback',
      fallbackAfterSeconds: 90,
    });
  });

  test('stages, their waits and their gates', () => {
    const stages = [
      { size: '5', unit: 'percent' as const, wait: '10' },
      { size: '100', unit: 'recipients' as const, wait: '' },
    ];
    expect(bodyOf({ ...draft, stages, gatePercent: '2.5' }).release).toMatchObject({
      stages: [{ percent: 5, waitSeconds: 600 }, { recipients: 100 }],
      gates: [{ metric: 'failed', above: 0.025 }, { metric: 'undelivered' }, { metric: 'rejected' }],
    });
  });

  test('pasted recipients stand beside lists, and wrong rows are left out only when asked', () => {
    const pasted = { ...draft, pasted: 'b@example.com', skipInvalid: true };
    expect(bodyOf(pasted)).toMatchObject({ recipients: [{ email: 'b@example.com' }], skipInvalid: true });
    expect(bodyOf({ ...draft, skipInvalid: true })).not.toHaveProperty('skipInvalid');
  });

  test('retries of messages and of calls, in minutes; empty fields are left to the API', () => {
    const outcomes = { ...draft.retries.outcomes, busy: { calls: '3', minutes: '10, 60' } };
    const retries = {
      ...draft.retries,
      attempts: '4',
      firstMinutes: '0.5',
      machine: 'hangup' as const,
      outcomes,
    };
    const body = bodyOf({ ...draft, channels: ['voice'], retries });
    expect(body.delivery).toEqual({ retry: { maxAttempts: 4, initialDelaySeconds: 30 } });
    expect(body.voice).toEqual({
      retry: { busy: { maxAttempts: 3, delaysSeconds: [600, 3600] } },
      machine: 'hangup',
    });
    expect(bodyOf({ ...draft, retries })).not.toHaveProperty('voice');
  });

  test('half of the quiet hours, and waits without a number of calls, are left to the API to refuse', () => {
    expect(bodyOf({ ...draft, quietFrom: '21:00' }).delivery).toEqual({
      quietHours: { from: '21:00', to: '' },
    });
    const outcomes = { ...draft.retries.outcomes, busy: { calls: '', minutes: '10' } };
    const retries = { ...draft.retries, outcomes };
    expect(bodyOf({ ...draft, channels: ['voice'], retries }).voice?.retry?.busy?.maxAttempts).toBe(0);
  });

  test('a cron repeats by the clocks of the person’s zone', () => {
    expect(bodyOf({ ...draft, when: 'recurring', cron: '0 9 * * 1' }).schedule).toEqual({
      cron: '0 9 * * 1',
      timezone: 'Europe/Paris',
    });
  });
});

describe('a draft that is edited', () => {
  const settings = {
    email: { fromEmail: 'news@example.com', templateId: 'tpl_1', version: 2 },
    sms: { shortCode: '12345', templateId: 'tpl_2', version: 1 },
  };
  const content = {
    name: 'Spring',
    channel: ['email', 'sms'],
    settings,
    contactListId: ['lst_1', 'lst_2'],
    class: 'transactional',
    params: { SHOP: 'Harbour Books' },
    exclude: { campaignIds: ['cmp_1'] },
    abort: { failureRate: 0.2 },
    voice: {
      maxAttempts: 2,
      retry: { no_answer: { maxAttempts: 2, delaysSeconds: [90, 600], jitter: 0.1 } },
      callWindow: { from: '09:00', to: '18:00' },
    },
    strategy: 'fallback',
    fallbackAfterSeconds: 90,
    delivery: {
      ratePerSecond: 12.5,
      quietHours: { from: '20:00', to: '08:00', timezone: 'recipient', days: ['mon'] },
      retry: { maxAttempts: 3, initialDelaySeconds: 20 },
      onUnknown: 'resend',
    },
    schedule: {
      cron: '0 9 * * 1',
      timezone: 'Europe/Paris',
      endAt: '2030-01-01T00:00:00.000Z',
      misfire: 'skip',
    },
    release: {
      stages: [{ percent: 5, waitSeconds: 600 }, { recipients: 100 }],
      gates: (['failed', 'undelivered', 'rejected'] as const).map((metric) => ({
        ...{ metric, above: 0.025, minSample: 20 },
      })),
      onGate: 'cancel',
    },
  };
  const campaign = { id: 'cmp_9', inline: 0, ...content } as unknown as CampaignDetail;

  test('is saved as it was when nothing is changed, with what the form has no field for', () => {
    expect(bodyOf(draftOfCampaign(campaign))).toEqual({ campaignId: 'cmp_9', ...content });
  });

  test('loses what is taken out, and keeps the rest', () => {
    const draft = draftOfCampaign(campaign);
    const emptied = { when: 'now' as const, rate: '', quietFrom: '', quietTo: '', stages: [] };
    const body = bodyOf({ ...draft, ...emptied, channels: ['sms'] });
    expect(body).toEqual({
      ...{ campaignId: 'cmp_9', name: 'Spring', channel: ['sms'], settings: { sms: settings.sms } },
      ...{ contactListId: content.contactListId, class: 'transactional', params: content.params },
      ...{ exclude: content.exclude, abort: content.abort, voice: content.voice },
      delivery: { retry: { maxAttempts: 3, initialDelaySeconds: 20 }, onUnknown: 'resend' },
    });
  });

  test('keeps an end without a beginning, and gates that the form could not make', () => {
    const schedule = { endAt: '2030-01-01T00:00:00.000Z' };
    const release = { stages: [{ percent: 5 }], gates: [{ metric: 'unknown', above: 0.1, minSample: 3 }] };
    const draft = draftOfCampaign({ ...campaign, schedule, release } as unknown as CampaignDetail);
    expect(bodyOf(draft)).toMatchObject({ schedule, release });
    expect(bodyOf({ ...draft, gatePercent: '20' }).release?.gates).toHaveLength(3);
    expect(bodyOf({ ...draft, gatePercent: '' }).release).not.toHaveProperty('gates');
  });

  test('that starts later shows the minute by the clocks of its own zone, and means the same second', () => {
    const schedule = { startAt: '2030-06-01T09:30:15.000Z', timezone: 'America/New_York' };
    const draft = draftOfCampaign({ ...campaign, schedule });
    expect([draft.when, draft.startAt, bodyOf(draft).schedule]).toEqual([
      ...['later', '2030-06-01T05:30'],
      schedule,
    ]);
    expect(bodyOf({ ...draft, startAt: '2030-06-01T06:00' }).schedule?.startAt).toBe(
      '2030-06-01T10:00:00.000Z',
    );
  });

  test('that starts at the second of two equal hours keeps it', () => {
    const schedule = { startAt: '2030-11-03T06:30:00.000Z', timezone: 'America/New_York' };
    const draft = draftOfCampaign({ ...campaign, schedule });
    expect([draft.startAt, bodyOf(draft).schedule]).toEqual(['2030-11-03T01:30', schedule]);
  });

  test('that repeats keeps the day before which it does not, and the hours of UTC where it names no zone', () => {
    const schedule = { cron: '0 9 * * 1', startAt: '2030-01-01T00:00:00.000Z' };
    expect(bodyOf(draftOfCampaign({ ...campaign, schedule })).schedule).toEqual({
      ...schedule,
      timezone: 'UTC',
    });
  });
});
