import type { ApiClient } from './api-client';

/** A flow that says one sentence. */
export async function createVoiceTemplate(api: ApiClient): Promise<string> {
  const { template } = await api.expect<{ template: { id: string } }>('POST', '/api/template/', {
    templateName: `call ${Date.now()} ${Math.random()}`,
    channel: 'voice',
    body: '<Response><Answer/><Say>Hello</Say></Response>',
    voiceJson: {
      nodes: [{ id: '1', type: 'text', data: { isStart: true, isEndNode: true, text: 'Hello' } }],
      edges: [],
      viewport: { x: 0, y: 0, zoom: 1 },
    },
  });
  return template.id;
}

export const CALLER_ID = '+12025550100';

/** Started at once, to these contacts. */
export async function createVoiceCampaign(
  api: ApiClient,
  contacts: object[],
  more: Record<string, unknown> = {},
): Promise<string> {
  const { data: list } = await api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
    name: `calls ${contacts.length}`,
  });
  await api.expect('POST', `/api/contact-list/${list.id}/contacts`, { contacts });
  const { data } = await api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
    campaignId: null,
    name: 'calls',
    channel: ['voice'],
    contactListId: [list.id],
    settings: { voice: { callerId: CALLER_ID, templateId: await createVoiceTemplate(api), version: 1 } },
    ...more,
  });
  return data.id;
}
