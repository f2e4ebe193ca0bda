import { answer, idParams } from '../contracts/common';
import { deletedSender, oneSender, senderBody, senders as senderList } from '../contracts/senders';
import type { RegisteredSender } from '../domain/registered-sender';
import type { RegisteredSenders } from '../messaging/senders/registered-senders';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { generatorOf } from './request/idempotency';
import type { App } from './request/routing';
import { invalidRequest, problemsOf } from './request/validation';

/** Senders that belong to workspaces: the installation's, so that only an owner sees and changes them (api.md 15). */
export function adminSenderRoutes(
  senders: Pick<RegisteredSenders, 'list' | 'create' | 'unknownWorkspace' | 'remove'>,
): (app: App) => void {
  const config = { auth: 'session' } as const;
  return (app) => {
    app.get('/api/admin/senders', { config, schema: { operation: listSenders } }, async () =>
      answer(200, 'Senders', (await senders.list()).map(present)),
    );

    app.post(
      '/api/admin/senders',
      {
        ...{ config: { ...config, idempotent: true }, attachValidation: true },
        schema: { operation: registerSender, body: senderBody },
      },
      async (request, reply) => {
        const found = problemsOf(request);
        if (found.length > 0) {
          // An unknown workspace is reported together with what is malformed, unless it is malformed itself.
          const { workspace } = (request.body ?? {}) as { workspace?: unknown };
          const isMalformed = found.some(({ path }) => path === 'workspace');
          const unknown = isMalformed ? [] : await senders.unknownWorkspace(workspace);
          throw invalidRequest([...found, ...unknown]);
        }
        const made = await senders.create(request.body, generatorOf(request));
        return reply.code(201).send(answer(201, 'Sender registered', present(made)));
      },
    );

    app.delete(
      '/api/admin/senders/:id',
      { config, schema: { operation: deleteSender, params: idParams } },
      async ({ params }) => {
        await senders.remove(params.id);
        return answer(200, 'Sender deleted', { id: params.id });
      },
    );
  };
}

const present = ({ dkim, ...sender }: RegisteredSender) => ({ ...sender, ...(dkim ? { dkim } : {}) });

const tag = 'Carriers';

const SENDER = {
  id: EXAMPLE.registeredSender,
  workspace: EXAMPLE.workspace,
  channel: 'sms' as const,
  sender: 'Bookshop',
};

const listSenders: Operation = {
  id: 'listSenders',
  access: { role: 'owner' },
  tag,
  summary: 'List registered senders',
  description: 'Of all workspaces of the installation, in the order in which they were registered.',
  answers: { 200: json('All of them.', senderList, answered(200, 'Senders', [SENDER])) },
};

const registerSender: Operation = {
  id: 'registerSender',
  access: { role: 'owner' },
  tag,
  summary: 'Register a sender for a workspace',
  description:
    'Within 5 seconds every other workspace gets 422 `sender_not_allowed` for it. Of email the sender is a domain, without its subdomains, and its mail is signed with `dkim`. Registered again for the same workspace, it has the new key, or none.',
  body: jsonBody(senderBody, {
    name: { workspace: EXAMPLE.workspace, channel: 'sms', sender: SENDER.sender },
  }),
  answers: { 201: json('Registered.', oneSender, answered(201, 'Sender registered', SENDER)) },
  errors: ['sender_taken', 'limit_reached', 'dependency_down'],
};

const deleteSender: Operation = {
  tag,
  parameters: { id: EXAMPLE.registeredSender },
  id: 'deleteSender',
  access: { role: 'owner' },
  summary: 'Delete a registered sender',
  description: 'It belongs to no workspace any more, and in the mode `open` every workspace may use it.',
  answers: {
    200: json('Deleted.', deletedSender, answered(200, 'Sender deleted', { id: EXAMPLE.registeredSender })),
  },
};
