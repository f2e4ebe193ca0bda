import type { DurableSends } from '../campaigns/sends/durable-sends';
import { answer, idParams } from '../contracts/common';
import { durableSend, durableSendBody } from '../contracts/durable-sends';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import { generatorOf } from './request/idempotency';
import type { App } from './request/routing';

/** api.md 8. */
export function durableSendRoutes(app: App, { sends }: { sends: DurableSends }): void {
  const config = { auth: 'app' } as const;

  const creating = {
    config: { ...config, idempotent: true },
    schema: { operation: createDurableSend, body: durableSendBody },
  } as const;
  app.post('/api/send', creating, async (request, reply) => {
    const id = generatorOf(request).id('snd');
    const send = await sends.create(callerOf(request).workspaceId, id, request.body);
    return reply.code(202).send(answer(202, 'Durable send accepted', send));
  });

  const one = { params: idParams };
  app.get('/api/send/:id', { config, schema: { operation: readDurableSend, ...one } }, async (request) => {
    const send = await sends.read(callerOf(request).workspaceId, request.params.id);
    return answer(200, 'Durable send', send);
  });

  app.delete(
    '/api/send/:id',
    { config, schema: { operation: cancelDurableSend, ...one } },
    async (request, reply) => {
      const send = await sends.cancel(callerOf(request).workspaceId, request.params.id);
      if (send.state === 'canceled') return answer(200, 'Durable send canceled', send);
      return reply.code(202).send(answer(202, 'Durable send will be canceled if it still can be', send));
    },
  );
}

const SMS = {
  channel: 'sms' as const,
  uid: 'order-4711-reminder',
  to: '+1 202 555 0123',
  from: '12345',
  'template-id': EXAMPLE.smsTemplate,
  params: { NAME: 'Ada', TOTAL: 42.5 },
  retry: { maxAttempts: 5, initialDelaySeconds: 10, backoff: 2, maxDelaySeconds: 600 },
};

const VOICE = {
  channel: 'voice' as const,
  uid: 'order-4711-reminder-call',
  to: '+12025550123',
  from: '+12025550100',
  'template-id': EXAMPLE.voiceTemplate,
  params: { NAME: 'Ada' },
  voice: {
    retry: {
      busy: { maxAttempts: 3, delaysSeconds: [60, 300] },
      no_answer: { maxAttempts: 2, delaysSeconds: [1_800] },
    },
    maxAttempts: 4,
  },
};

const PENDING = {
  id: EXAMPLE.send,
  uid: SMS.uid,
  workflowId: `send:${EXAMPLE.send}`,
  channel: SMS.channel,
  state: 'pending' as const,
  outcome: null,
  code: null,
  messageUid: null,
  attempts: 0,
  cancelRequested: false,
  dueAt: EXAMPLE.at,
  createdAt: EXAMPLE.at,
  startedAt: null,
  acceptedAt: null,
  sentAt: null,
  finishedAt: null,
  updatedAt: EXAMPLE.at,
  stopped: null,
};

const CANCELED = {
  ...PENDING,
  state: 'canceled' as const,
  cancelRequested: true,
  dueAt: null,
  finishedAt: EXAMPLE.at,
};

const createDurableSend: Operation = {
  id: 'createDurableSend',
  access: { role: 'sender', scopes: ['send'] },
  bound: 'sending',
  tag: 'Durable sends',
  summary: 'Send a message durably',
  description: `A message with a workflow of its own, which waits for \`sendAt\`, sends, tries again what failed for the moment, redials, and ends with the outcome. It is on disk before the answer, and goes on across any crash. It is sent through the messaging service that this installation is set up with, which also judges the template and its values: a message that it refuses ends as \`rejected\`. What no account of it can do is refused at once, 422 \`not_possible\`, if the service reports it (\`GET /send-msg/check\`).

**Idempotent on \`uid\`**, apart from the \`uid\`s of \`send-msg\`: the same \`uid\` with the same content gives the send that is there with its present state; with other content it is 409 \`uid_conflict\`.

\`retry\` is for what failed for the moment; its members default to 6, 10, 3 and 900. What concerns the account, such as credentials that are refused, burns no attempt: the send waits, and \`code\` says for what. After \`expiresAt\` it is not sent any more. For a few; many at once are a campaign's work, which costs a hundredth.`,
  body: jsonBody(durableSendBody, { sms: SMS, voice: VOICE }),
  answers: {
    202: json('Stored; it will be sent.', durableSend, answered(202, 'Durable send accepted', PENDING)),
  },
  errors: ['uid_conflict', 'not_possible'],
};

const readDurableSend: Operation = {
  id: 'readDurableSend',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Durable sends',
  summary: 'Read a durable send',
  description:
    'Over when `finishedAt` is set; receipts that come later still move `state`. At a service that reports no outcomes, `accepted` is the end.',
  parameters: { id: EXAMPLE.send },
  answers: { 200: json('The send.', durableSend, answered(200, 'Durable send', PENDING)) },
};

const cancelDurableSend: Operation = {
  id: 'cancelDurableSend',
  access: { role: 'editor', scopes: ['send'] },
  tag: 'Durable sends',
  summary: 'Cancel a durable send',
  description:
    'What the service has not been given yet is canceled at once. Of what it has been given, the service is asked to call it back: the answer is 202, and `state` becomes `canceled` if it could; otherwise the send ends by its outcome, and nothing more is tried. One that has ended otherwise is 409 `not_cancelable`. Repeating it is harmless.',
  parameters: { id: EXAMPLE.send },
  answers: {
    200: json('Canceled.', durableSend, answered(200, 'Durable send canceled', CANCELED)),
    202: json(
      'The service is asked to call it back.',
      durableSend,
      answered(202, 'Durable send will be canceled if it still can be', {
        ...CANCELED,
        state: 'accepted',
        messageUid: `${EXAMPLE.send}.1`,
        attempts: 1,
        startedAt: EXAMPLE.at,
        acceptedAt: EXAMPLE.at,
        finishedAt: null,
      }),
    ),
  },
  errors: ['not_cancelable'],
};
