import type { FastifyRequest } from 'fastify';
import { answer, idParams, timestamp } from '../contracts/common';
import {
  archivedTemplate,
  createdTemplate,
  readTemplate,
  replacedTemplate,
  type TemplateBody,
  templateBody,
  templateList,
  templateListQuery,
  templateVersionQuery,
  templateVersions,
  warningsOf,
} from '../contracts/templates';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import { type Speaks, withoutVoice } from '../domain/voice/spoken-languages';
import type {
  ListedTemplate,
  Template,
  TemplateContent,
  VersionOrigin,
} from '../messaging/templates/template-record';
import type { Templates } from '../messaging/templates/templates';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import { generatorOf } from './request/idempotency';
import type { App } from './request/routing';

/** messaging-service.md, List and Create templates; api.md 5. */
export function templateRoutes(templates: Templates, speaks?: Speaks): (app: App) => void {
  const config = { auth: 'app' } as const;
  const large = { config, bodyLimit: LIMITS.templateBodyBytes };

  return (app) => {
    app.get(
      '/api/template',
      { config, schema: { operation: listTemplates, querystring: templateListQuery } },
      async (request) => {
        const { page, pageSize } = request.query;
        const found = await templates.list(callerOf(request).workspaceId, request.query);
        return { success: true, templates: found.templates.map(present), page, pageSize, total: found.total };
      },
    );

    const creating = {
      ...large,
      config: { ...config, idempotent: true as const },
      schema: { operation: createTemplate, body: templateBody },
    };
    app.post('/api/template', creating, async (request, reply) => {
      const { workspaceId } = callerOf(request);
      const { channel } = request.body;
      const created = await templates.create(
        workspaceId,
        channel,
        contentOf(request.body),
        generatorOf(request),
        originOf(request),
      );
      const warnings = [...warningsOf(request.body), ...unspoken(created, speaks)];
      return reply.code(201).send({ success: true, template: present(created), warnings });
    });

    readRoute(app, templates);

    const replacing = {
      ...creating,
      schema: { operation: replaceTemplate, params: idParams, body: templateBody },
    };
    app.put('/api/template/:id', replacing, async (request) => {
      const { workspaceId } = callerOf(request);
      const { channel } = request.body;
      const replaced = await templates.replace(
        workspaceId,
        request.params.id,
        channel,
        contentOf(request.body),
        generatorOf(request),
        originOf(request),
      );
      const warnings = [...warningsOf(request.body), ...unspoken(replaced, speaks)];
      return { ...whole(replaced, 'New version saved'), warnings };
    });

    versionRoutes(app, templates);

    app.delete(
      '/api/template/:id',
      { config, schema: { operation: archiveTemplate, params: idParams } },
      async (request) => {
        const { id } = request.params;
        await templates.archive(callerOf(request).workspaceId, id);
        return { success: true, ...answer(200, 'Template archived', { id }) };
      },
    );
  };
}

function readRoute(app: App, templates: Templates): void {
  const one = { operation: readOneTemplate, params: idParams, querystring: templateVersionQuery };
  app.get('/api/template/:id', { config: { auth: 'app' }, schema: one }, async (request) => {
    const { id } = request.params;
    const { version } = request.query;
    const found = await templates.read(callerOf(request).workspaceId, id, version);
    if (found) return whole(found, 'Template');
    throw noTemplate(id, version);
  });
}

export function noTemplate(id: string, version: number | undefined): DomainError {
  const message =
    version === undefined
      ? `No live template ${id} in this workspace; GET /api/template lists those that there are`
      : `No version ${version} of a template ${id} in this workspace; GET /api/template/${id}/versions lists its versions`;
  return new DomainError('not_found', message);
}

function versionRoutes(app: App, templates: Templates): void {
  const config = { auth: 'app' } as const;
  const versions = { operation: listTemplateVersions, params: idParams };
  app.get('/api/template/:id/versions', { config, schema: versions }, async (request) => {
    const found = await templates.versions(callerOf(request).workspaceId, request.params.id);
    const shown = found.map(({ note, createdAt, ...version }) => ({
      ...{ ...version, createdAt: timestamp(createdAt) },
      ...(note === null ? {} : { note }),
    }));
    return { success: true, ...answer(200, 'Versions', shown) };
  });
}

const originOf = (request: FastifyRequest<{ Body: TemplateBody }>): VersionOrigin => {
  const { userId, clientId } = callerOf(request);
  return { by: userId ?? clientId, note: request.body.note };
};

const unspoken = ({ channel, body }: Template, speaks: Speaks | undefined) =>
  channel === 'voice' && speaks ? withoutVoice(body, speaks) : [];

function contentOf(body: TemplateBody): TemplateContent {
  const common = {
    name: body.templateName,
    body: body.body,
    subject: null,
    emailProviderId: '',
    design: null,
  };
  if (body.channel === 'voice') return { ...common, design: body.voiceJson };
  if (body.channel === 'sms') return common;
  const { subject, emailProviderId, template } = body;
  return { ...common, subject, emailProviderId, design: template ?? null };
}

/** A template with the specification's names; what a list leaves out is left out here. */
function present(template: Template | ListedTemplate) {
  const { id, channel, version, subject, body, design } = template;
  return {
    id,
    templateName: template.name,
    channel,
    version,
    createdAt: timestamp(template.createdAt),
    updatedAt: timestamp(template.updatedAt),
    ...(channel === 'email' ? { subject } : {}),
    ...(body === null ? {} : { body }),
    ...(channel === 'voice' ? { voiceJson: design } : {}),
    ...('emailProviderId' in template && channel === 'email'
      ? { text: template.text, emailProviderId: template.emailProviderId, template: design }
      : {}),
  };
}

/** `template` as in the answer to its creation, and `data` as in all our other answers. */
function whole(template: Template, message: string) {
  const shown = present(template);
  return { success: true, ...answer(200, message, shown), template: shown };
}

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

export const ONE = { parameters: { id: EXAMPLE.smsTemplate } };

const listTemplates: Operation = {
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

const createTemplate: Operation = {
  id: 'createTemplate',
  access: { role: 'editor', scopes: ['templates'] },
  tag: 'Templates',
  summary: 'Create a template',
  description:
    'Placeholders are written `{{NAME}}`: upper-case letters, digits and underscores; anything else in braces is literal text. An email without a `body` is rendered from its layout, a call without one is compiled from its flow. Everything that is wrong is reported at once; what may be a mistake is listed in `warnings`. Names are unique per channel. Takes up to 4 MiB.',
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

const readOneTemplate: Operation = {
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

const replaceTemplate: Operation = {
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

const listTemplateVersions: Operation = {
  ...ONE,
  id: 'listTemplateVersions',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Templates',
  summary: 'List the versions of a template',
  description:
    'Newest first, of archived templates too. `createdBy` is the user or the client that saved the version, null for versions that were saved before it was recorded; `note` is what they said about it.',
  answers: {
    200: json('All of them.', templateVersions, {
      success: true,
      ...answered(200, 'Versions', [
        { version: 2, createdAt: EXAMPLE.at, createdBy: EXAMPLE.user, note: 'The total is in bold' },
        { version: 1, createdAt: EXAMPLE.at, createdBy: null },
      ]),
    }),
  },
};

const archiveTemplate: Operation = {
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
