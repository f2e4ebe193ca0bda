import { acceptedTest } from '../../contracts/answers/messages';
import {
  archivedTemplate,
  createdTemplate,
  readTemplate,
  replacedTemplate,
  templateList,
  templatePreviewed,
} from '../../contracts/answers/templates';
import { templateBody, templatePreview, templateTestSend } from '../../contracts/templates';
import { json, jsonBody, type Operation } from '../operation';
import { answered, EXAMPLE } from './examples';

const SMS_TEXT = 'Hello {{NAME}}, your order is ready. Total: {{TOTAL}}.';
const EMAIL_TEXT = 'Hello {{NAME}}, the new season begins.';
const CALL_TEXT = 'Hello {{NAME}}, your order is ready.';

const LAYOUT = {
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
};

const FLOW = {
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
};

const SMS = { templateName: 'Order ready', channel: 'sms' as const, body: SMS_TEXT };
const SMS_TEMPLATE = {
  ...SMS,
  id: EXAMPLE.smsTemplate,
  version: 1,
  createdAt: EXAMPLE.at,
  updatedAt: EXAMPLE.at,
};

const BODY = jsonBody(templateBody, {
  sms: SMS,
  email: {
    templateName: 'New season',
    subject: 'New season, {{NAME}}',
    body: `<!doctype html><html><body><p>${EMAIL_TEXT}</p></body></html>`,
    emailProviderId: '',
    channel: 'email',
    template: LAYOUT,
  },
  voice: {
    templateName: 'Order ready, by phone',
    body: `<Response><Answer/><Pause length="1"/><Say>${CALL_TEXT}</Say></Response>`,
    channel: 'voice',
    voiceJson: FLOW,
  },
});

const ONE = { parameters: { id: EXAMPLE.smsTemplate } };

export const listTemplates: Operation = {
  id: 'listTemplates',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Templates',
  summary: 'List templates',
  description:
    'Newest first unless a `column` is named; an empty parameter counts as absent. `search` finds its term, whatever the case, in names, subjects, bodies and the texts of voice flows. An SMS template comes with its `body`, an email with its `subject`, a call with its `voiceJson`.',
  parameters: { channel: 'sms', column: 'templateName', direction: 'asc', page: '1' },
  answers: {
    200: json('A page of templates.', templateList, {
      success: true,
      templates: [SMS_TEMPLATE],
      page: 1,
      pageSize: 20,
      total: 1,
    }),
  },
};

export const createTemplate: Operation = {
  id: 'createTemplate',
  access: { role: 'editor', scopes: ['templates'] },
  tag: 'Templates',
  summary: 'Create a template',
  description:
    'Placeholders are written `{{NAME}}`: upper-case letters, digits and underscores; anything else in braces is literal text. An email without a `body` is rendered from its layout, a call without one is compiled from its flow. Everything that is wrong is reported at once; what may be meant otherwise is told in `warnings`. Names are unique per channel. Takes up to 4 MiB.',
  body: BODY,
  answers: {
    201: json('Created, as version 1.', createdTemplate, {
      success: true,
      template: SMS_TEMPLATE,
      warnings: [],
    }),
  },
  errors: ['name_taken'],
};

export const readOneTemplate: Operation = {
  id: 'readTemplate',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Templates',
  summary: 'Read a template',
  description:
    'Whole, with body and layout or flow. A version that was named once can be read for ever; without one, it is the newest of a live template.',
  parameters: { ...ONE.parameters, version: '1' },
  answers: {
    200: json('The template.', readTemplate, {
      success: true,
      ...answered(200, 'Template', SMS_TEMPLATE),
      template: SMS_TEMPLATE,
    }),
  },
};

const SECOND = {
  ...SMS_TEMPLATE,
  version: 2,
  body: 'Hello {{NAME}}, your order is ready to be picked up. Total: {{TOTAL}}.',
};

export const replaceTemplate: Operation = {
  ...ONE,
  id: 'replaceTemplate',
  access: { role: 'editor', scopes: ['templates'] },
  tag: 'Templates',
  summary: 'Save a new version',
  description:
    'Versions never change: this makes the next one. Campaigns and messages that name an older version keep it.',
  body: jsonBody(templateBody, { sms: { ...SMS, body: SECOND.body } }),
  answers: {
    200: json('Saved, with its number.', replacedTemplate, {
      success: true,
      ...answered(200, 'New version saved', SECOND),
      template: SECOND,
      warnings: [],
    }),
  },
  errors: ['name_taken'],
};

export const archiveTemplate: Operation = {
  ...ONE,
  id: 'archiveTemplate',
  access: { role: 'editor', scopes: ['templates'] },
  tag: 'Templates',
  summary: 'Archive a template',
  description: 'Gone from lists, and its name is free; versions that something refers to keep working.',
  answers: {
    200: json('Archived.', archivedTemplate, {
      success: true,
      ...answered(200, 'Template archived', { id: EXAMPLE.smsTemplate }),
    }),
  },
};

export const previewTemplate: Operation = {
  ...ONE,
  id: 'previewTemplate',
  access: { role: 'editor', scopes: ['templates'] },
  tag: 'Templates',
  summary: 'See what a template makes of values',
  description:
    'Nothing is sent. With a `contactId` the values are the contact’s own, and `params` where it has none. A placeholder without a value is left to be seen, and named in `missing`.',
  body: jsonBody(templatePreview, { values: { params: { NAME: 'Ada' }, version: 1 } }),
  answers: {
    200: json('The parts as one recipient would get them.', templatePreviewed, {
      success: true,
      ...answered(200, 'Template rendered', {
        templateId: EXAMPLE.smsTemplate,
        channel: 'sms',
        version: 1,
        text: 'Hello Ada, your order is ready. Total: {{TOTAL}}.',
        encoding: 'gsm7',
        segments: 1,
        used: ['NAME', 'TOTAL'],
        missing: ['TOTAL'],
        warnings: [],
      }),
    }),
  },
};

export const testTemplate: Operation = {
  ...ONE,
  id: 'sendTestMessage',
  access: {
    ...{ role: 'editor', scopes: ['templates', 'send'] },
    more: { when: '`to` is not the address of a user of the workspace', role: 'sender', scopes: [] },
  },
  tag: 'Templates',
  summary: 'Send a test message',
  description: 'A transactional message to whoever is named, tracked and counted as any other.',
  body: jsonBody(templateTestSend, {
    sms: { to: '+12025550123', from: '12345', params: { NAME: 'Ada', TOTAL: 42.5 } },
  }),
  answers: {
    202: json('Accepted.', acceptedTest, {
      success: true,
      ...answered(202, 'Test message accepted', {
        id: EXAMPLE.testMessage,
        uid: 'test_01kbp7x3m0c2z4v6b8n1q5w9e7',
        channel: 'sms',
        to: '+12025550123',
        state: 'accepted',
        segments: 1,
        encoding: 'gsm7',
        duplicate: false,
      }),
    }),
  },
  errors: [
    'stopped',
    'uid_conflict',
    'template_not_found',
    'missing_params',
    'outbox_full',
    'overloaded',
    'dependency_down',
  ],
};
