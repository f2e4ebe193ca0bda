import type { Channel } from '../domain/channel';

/** The demo's content. The shop is invented; its addresses are from the ranges reserved for examples. */
const SHOP = 'Harbour Books';
const EMAIL_TEXT = `Hello {{NAME}}, the new season begins at {{SHOP}}: {{OFFER}}.`;
const CALL_TEXT = 'Hello {{NAME}}, this is {{SHOP}}. {{OFFER}}. Good bye.';

/** Values that are the same for every recipient. */
const DEMO_PARAMS = { SHOP, OFFER: 'every second book at half the price until Sunday' };

/** Bodies of `POST /api/template/`, without the name. */
export const DEMO_TEMPLATES: Record<Channel, Record<string, unknown>> = {
  email: {
    subject: 'New season at {{SHOP}}',
    body: `<!doctype html><html><body><h1>{{SHOP}}</h1><p>${EMAIL_TEXT}</p></body></html>`,
    emailProviderId: '',
    template: {
      root: {
        type: 'EmailLayout',
        data: {
          backdropColor: '#F5F5F5',
          canvasColor: '#FFFFFF',
          textColor: '#262626',
          fontFamily: 'MODERN_SANS',
          childrenIds: ['text'],
        },
      },
      text: {
        type: 'Text',
        data: {
          style: { padding: { top: 16, bottom: 16, left: 24, right: 24 } },
          props: { text: EMAIL_TEXT },
        },
      },
    },
  },
  sms: { body: '{{SHOP}}: hello {{NAME}}, {{OFFER}}. Reply STOP to opt out.' },
  voice: {
    body: `<Response><Answer/><Pause length="1"/><Say>${CALL_TEXT}</Say></Response>`,
    voiceJson: {
      nodes: [
        {
          id: 'greeting',
          type: 'text',
          position: { x: 0, y: 0 },
          data: { label: 'Greeting', isStart: true, isEndNode: true, text: CALL_TEXT },
        },
      ],
      edges: [],
      viewport: { x: 0, y: 0, zoom: 1 },
    },
  },
};

/** Redials within seconds, so that a new user sees them happen. */
const VOICE = {
  retry: {
    busy: { maxAttempts: 3, delaysSeconds: [1, 2] },
    no_answer: { maxAttempts: 2, delaysSeconds: [1] },
  },
  maxAttempts: 3,
};

/** A few first, so that their calls are over within seconds, and all others only if the gate is open then. */
const DEMO_RELEASE = {
  stages: [{ recipients: 20, waitSeconds: 1 }],
  gates: [{ metric: 'failed', above: 0.3, minSample: 10 }],
};

export interface DemoParts {
  name: string;
  listId: string;
  templates: Record<Channel, { id: string; version: number }>;
}

/** Body of `POST /api/campaign`. */
export function demoCampaign({ name, listId, templates }: DemoParts): Record<string, unknown> {
  const template = (channel: Channel) => ({
    templateId: templates[channel].id,
    version: templates[channel].version,
  });
  return {
    campaignId: null,
    name,
    channel: ['email', 'sms', 'voice'],
    contactListId: [listId],
    settings: {
      email: { fromEmail: `"${SHOP}" <news@example.com>`, ...template('email') },
      sms: { shortCode: '12345', ...template('sms') },
      voice: { callerId: '+12025550100', ...template('voice') },
    },
    params: DEMO_PARAMS,
    voice: VOICE,
    release: DEMO_RELEASE,
  };
}
