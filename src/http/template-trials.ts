import type { ContactParams } from '../campaigns/contacts/fill-params';
import type { Stops } from '../campaigns/stops/stops';
import { answer, idParams, timestamp } from '../contracts/common';
import { acceptedTest, message } from '../contracts/send';
import { templatePreview, templatePreviewed, templateTestSend } from '../contracts/templates';
import { DomainError } from '../domain/errors';
import { notInWorkspace } from '../domain/not-in-workspace';
import type { Delivery } from '../messaging/delivery';
import { placeholdersIn, previewOf } from '../messaging/templates/template-preview';
import type { Templates } from '../messaging/templates/templates';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { requireMore } from './request/access';
import { callerOf } from './request/caller';
import { generatorOf } from './request/idempotency';
import type { App } from './request/routing';
import { parseBody } from './request/validation';
import { noTemplate, ONE } from './templates';

export interface TemplateTrialDeps {
  templates: Pick<Templates, 'read'>;
  contactParams: ContactParams;
  delivery: Pick<Delivery, 'accept'>;
  stops: Pick<Stops, 'read'>;
  /** An editor sends tests to these addresses only. */
  isUserAddress(workspaceId: string, email: string): Promise<boolean>;
}

/** Shows a template filled with values, and sends it as a test message (api.md 5). */
export function templateTrialRoutes({
  templates,
  contactParams,
  delivery,
  stops,
  isUserAddress,
}: TemplateTrialDeps): (app: App) => void {
  const config = { auth: 'app' } as const;

  const templateOf = async (workspaceId: string, templateId: string, version: number | undefined) => {
    const found = await templates.read(workspaceId, templateId, version);
    if (found) return found;
    throw noTemplate(templateId, version);
  };

  /** A test should arrive now; one that waited for the end of the stop would surprise its recipient. */
  const refuseWhileStopped = async (workspaceId: string) => {
    const stop = await stops.read(workspaceId);
    if (!stop) return;
    throw new DomainError(
      'stopped',
      `The workspace is stopped since ${timestamp(stop.since)} (${stop.reason}); end the stop to send a test`,
    );
  };

  return (app) => {
    const previewing = { operation: previewTemplate, params: idParams, body: templatePreview };
    app.post('/api/template/:id/preview', { config, schema: previewing }, async (request) => {
      const { workspaceId } = callerOf(request);
      const { params: given, contactId, version } = request.body;
      const template = await templateOf(workspaceId, request.params.id, version);
      const params = contactId
        ? await contactParams.of({ workspaceId, contactId }, placeholdersIn(template), given)
        : given;
      if (!params) throw notInWorkspace(`contact ${contactId}`, '/api/contact');
      return { success: true, ...answer(200, 'Template rendered', previewOf(template, params)) };
    });

    const sending = {
      config: { ...config, idempotent: true },
      schema: { operation: testTemplate, params: idParams, body: templateTestSend },
    } as const;
    app.post('/api/template/:id/test-send', sending, async (request, reply) => {
      const { workspaceId } = callerOf(request);
      const { to, from, params, version } = request.body;
      if (!(await isUserAddress(workspaceId, to))) requireMore(request);
      const template = await templateOf(workspaceId, request.params.id, version);
      await refuseWhileStopped(workspaceId);
      const accepted = await delivery.accept(
        workspaceId,
        parseBody(message, {
          channel: template.channel,
          uid: generatorOf(request).id('test'),
          ...{ to, from, params },
          'template-id': template.id,
          version,
          // A test goes to the user who asks for it, so that it needs no opt-out text.
          class: 'transactional',
        }),
      );
      return reply.code(202).send({ success: true, ...answer(202, 'Test message accepted', accepted) });
    });
  };
}

const previewTemplate: Operation = {
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

const testTemplate: Operation = {
  ...ONE,
  id: 'sendTestMessage',
  access: {
    ...{ role: 'editor', scopes: ['templates', 'send'] },
    more: { when: '`to` is not the address of a user of the workspace', role: 'sender', scopes: [] },
  },
  tag: 'Templates',
  summary: 'Send a test message',
  description: 'A transactional message to the given address, tracked and counted as any other.',
  body: jsonBody(templateTestSend, {
    sms: { to: '+12025550123', from: '12345', params: { NAME: 'Ada', TOTAL: 42.5 } },
  }),
  answers: {
    202: json('Accepted.', acceptedTest, {
      success: true,
      ...answered(202, 'Test message accepted', {
        id: EXAMPLE.testMessage,
        uid: 'test_01kbp7x3m0c2z4v6b8n',
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
