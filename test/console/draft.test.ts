import { bodyOf, emptyDraft } from '../../console/src/new-campaign/draft';

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

  test('a cron repeats by the clocks of the person’s zone', () => {
    expect(bodyOf({ ...draft, when: 'recurring', cron: '0 9 * * 1' }).schedule).toEqual({
      cron: '0 9 * * 1',
      timezone: 'Europe/Paris',
    });
  });
});
