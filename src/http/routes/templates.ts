import type { FastifyRequest } from 'fastify';
import { answer, idParams, timestamp } from '../../contracts/common';
import {
  type TemplateBody,
  templateBody,
  templateListQuery,
  templateVersionQuery,
  warningsOf,
} from '../../contracts/templates';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { type Speaks, withoutVoice } from '../../domain/voice/spoken-languages';
import type {
  ListedTemplate,
  Template,
  TemplateContent,
  VersionOrigin,
} from '../../messaging/templates/template-record';
import type { Templates } from '../../messaging/templates/templates';
import { callerOf } from '../caller';
import { generatorOf } from '../idempotency';
import {
  archiveTemplate,
  createTemplate,
  listTemplates,
  listTemplateVersions,
  readOneTemplate,
  replaceTemplate,
} from '../operations/templates';
import type { App } from '../routing';

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

    const one = { operation: readOneTemplate, params: idParams, querystring: templateVersionQuery };
    app.get('/api/template/:id', { config, schema: one }, async (request) => {
      const { id } = request.params;
      const { version } = request.query;
      const found = await templates.read(callerOf(request).workspaceId, id, version);
      if (found) return whole(found, 'Template');
      const what = version === undefined ? `live template ${id}` : `version ${version} of a template ${id}`;
      throw new DomainError('not_found', `No ${what} in this workspace`);
    });

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

    const versions = { operation: listTemplateVersions, params: idParams };
    app.get('/api/template/:id/versions', { config, schema: versions }, async (request) => {
      const found = await templates.versions(callerOf(request).workspaceId, request.params.id);
      const shown = found.map(({ note, createdAt, ...version }) => ({
        ...{ ...version, createdAt: timestamp(createdAt) },
        ...(note === null ? {} : { note }),
      }));
      return { success: true, ...answer(200, 'Versions', shown) };
    });

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
