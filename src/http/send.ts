import { z } from 'zod';
import { answer } from '../contracts/common';
import {
  accepted,
  bulk,
  bulkResults,
  message,
  messageTemplate,
  outbox,
  sendingFindings,
  sendingQuestion,
} from '../contracts/send';
import { CHANNELS } from '../domain/channel';
import { ERRORS, type FieldError, isDomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { Delivery } from '../messaging/delivery';
import type { Accepted, Outcome } from '../messaging/model/outgoing';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';
import { findUnstorable } from './request/unstorable-text';
import { invalidRequest, parseBody, problemsOf } from './request/validation';

/** messaging-service.md, Send a message; api.md 4. */
export function sendRoutes(
  delivery: Pick<Delivery, 'accept' | 'acceptMany' | 'unknownTemplate' | 'findInabilities' | 'outboxDepth'>,
): (app: App) => void {
  // The uid makes both idempotent as long as its record exists; a key does so by its stored answer.
  const config = { auth: 'send', idempotent: true } as const;

  // Only of a message that is refused anyway, so that one answer has every finding and a valid one costs nothing more.
  const withUnknown = async (workspaceId: string, given: unknown, errors: readonly FieldError[]) => {
    const { data } = messageTemplate.safeParse(given);
    return invalidRequest([...errors, ...(data ? await delivery.unknownTemplate(workspaceId, data) : [])]);
  };

  return (app) => {
    const single = { config, attachValidation: true, schema: { operation: sendMessage, body: message } };
    app.post('/send-msg', single, async (request, reply) => {
      const { workspaceId } = callerOf(request);
      const found = problemsOf(request);
      if (found.length > 0) throw await withUnknown(workspaceId, request.body, found);
      const accepted = await delivery.accept(workspaceId, request.body);
      void reply.header(ROOM_HEADER, roomText(delivery.outboxDepth(workspaceId)));
      const status = accepted.duplicate ? 200 : 202;
      const text = accepted.duplicate ? 'This message was accepted before' : 'Message accepted';
      return reply.code(status).send(answer(status, text, accepted));
    });

    app.get('/outbox', { config: { auth: 'send' }, schema: { operation: readOutbox } }, async (request) =>
      answer(200, 'What waits in the outbox', delivery.outboxDepth(callerOf(request).workspaceId)),
    );

    const question = {
      config: { auth: 'send' } as const,
      schema: { operation: checkSending, querystring: sendingQuestion },
    };
    app.get('/send-msg/check', question, async (request) => {
      const { 'template-id': templateId, ...asked } = request.query;
      const { workspaceId } = callerOf(request);
      const findings = await delivery.findInabilities({ ...asked, templateId, workspaceId });
      const text =
        findings.length === 0 ? 'Carriers can send these messages' : 'Carriers cannot do all of it';
      return answer(200, text, { findings });
    });

    const many = {
      config: { ...config, checksEach: 'messages' },
      bodyLimit: LIMITS.bulkBodyBytes,
      schema: { operation: sendMessages, body: bulk },
    } as const;
    app.post('/send-msg/bulk', many, async (request, reply) => {
      const { maybeUnstorable } = request;
      const checked = request.body.messages.map((one) => check(one, maybeUnstorable));
      const sendable = checked.flatMap((one) => (one.ok ? [one.answer] : []));
      const { workspaceId } = callerOf(request);
      const outcomes = await delivery.acceptMany(workspaceId, sendable);
      await Promise.all(
        checked.map(async (one, i) => {
          if (one.ok || !isDomainError(one.error)) return;
          one.error = await withUnknown(workspaceId, request.body.messages[i], one.error.errors);
        }),
      );
      void reply.header(ROOM_HEADER, roomText(delivery.outboxDepth(workspaceId)));
      let taken = 0;
      const results = checked.map((one, i) => {
        const outcome = one.ok ? outcomes[taken++] : one;
        return resultOf(outcome as Outcome<Accepted>, request.body.messages[i]);
      });
      return reply.code(207).send(answer(207, 'Each message was checked alone', { results }));
    });
  };
}

/**
 * `marketing=<free>/<bound>, marketing_email=<free>/<bound>, …`, so that a sender of many messages knows when to wait: for each class
 * the room of the channel that has least, and of each channel that has not all.
 */
const ROOM_HEADER = 'x-outbox-room';

const CLASSES = ['marketing', 'transactional'] as const;

function roomText(depth: ReturnType<Delivery['outboxDepth']>): string {
  let text = '';
  for (const kind of CLASSES) {
    const { channels, bound } = depth[kind];
    const free = (undelivered: number) => `${Math.max(0, bound - undelivered)}/${bound}`;
    let most = 0;
    let busy = '';
    for (const channel of CHANNELS) {
      const undelivered = channels[channel];
      if (undelivered > most) most = undelivered;
      if (undelivered > 0) busy += `, ${kind}_${channel}=${free(undelivered)}`;
    }
    text += `${text && ', '}${kind}=${free(most)}${busy}`;
  }
  return text;
}

function check(given: unknown, maybeUnstorable: boolean) {
  const unstorable = maybeUnstorable ? findUnstorable(given) : undefined;
  const found = unstorable ? [unstorable] : [];
  try {
    if (!hasTooManyParams(given)) return { ok: true, answer: parseBody(message, given, found) } as const;
    // Not judged one by one: those of a thousand messages would hold up all other requests.
    found.push({ path: 'params', code: 'too_many', message: `At most ${LIMITS.paramsKeys} values` });
    return { ok: true, answer: parseBody(message, { ...given, params: {} }, found) } as const;
  } catch (error) {
    return { ok: false as const, error };
  }
}

function hasTooManyParams(given: unknown): given is { params: object } {
  const { params } = (given ?? {}) as { params?: unknown };
  return typeof params === 'object' && params !== null && Object.keys(params).length > LIMITS.paramsKeys;
}

/** `uid` as it was given, if it is readable, because the caller knows the message by it. */
function resultOf(outcome: Outcome<Accepted>, given: unknown) {
  if (outcome.ok) {
    const { uid, state, duplicate } = outcome.answer;
    return { uid, status: duplicate ? 200 : 202, state, duplicate };
  }
  if (!isDomainError(outcome.error)) throw outcome.error;
  const { code, message: text, errors, retryAfterSeconds } = outcome.error;
  const uid = (given as { uid?: unknown } | null)?.uid;
  return {
    uid: typeof uid === 'string' ? uid.slice(0, LIMITS.uidChars) : null,
    status: ERRORS[code].status,
    code,
    message: text,
    ...(errors.length > 0 ? { errors } : {}),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

const SMS = {
  channel: 'sms' as const,
  uid: 'order-4711-ready',
  to: '+1 202 555 0123',
  from: '12345',
  'template-id': EXAMPLE.smsTemplate,
  params: { NAME: 'Ada', TOTAL: 42.5 },
  campaign: 'spring-sale',
};

const EMAIL = {
  channel: 'email' as const,
  uid: 'order-4711-receipt',
  to: 'ada@example.com',
  from: '"Harbour Books" <shop@harbour-books.example>',
  subject: 'Your order, {{NAME}}',
  body: '<p>Dear {{NAME}}, your order is ready.</p>',
  params: { NAME: 'Ada' },
  class: 'transactional' as const,
  replyTo: 'help@harbour-books.example',
};

const VOICE = {
  channel: 'voice' as const,
  uid: 'order-4711-call',
  to: '+12025550123',
  from: '+12025550100',
  'template-id': EXAMPLE.voiceTemplate,
  version: 1,
  params: { NAME: 'Ada' },
  voice: { machine: 'leave_message' as const, ringTimeoutSeconds: 25 },
};

const ACCEPTED = {
  id: EXAMPLE.smsMessage,
  uid: SMS.uid,
  channel: SMS.channel,
  to: '+12025550123',
  state: 'accepted' as const,
  segments: 1,
  encoding: 'gsm7' as const,
  duplicate: false,
};

const sendMessage: Operation = {
  id: 'sendMessage',
  access: { scopes: ['send'] },
  bound: 'sending',
  tag: 'Sending',
  summary: 'Send a message',
  description: `One message to one recipient. It is on disk before the answer: once accepted it will be sent, whatever crashes.

**Idempotent on \`uid\`** within the workspace, for as long as the record lives. The same \`uid\` with the same content answers 200 with \`duplicate: true\` and the record's present state, and nothing is sent again; with other content it is 409 \`uid_conflict\`. Of two identical requests at the same moment one makes the message and both get it. So after a lost answer, send the very same request again.

\`template-id\` is required, except for an email with \`subject\` and \`body\`; an email's \`body\` replaces its template's. A placeholder without a value is 422 \`missing_params\`. A recipient who is suppressed is answered 202 with \`state: "suppressed"\`, and never written to. \`sendAt\` lies at most a year ahead; after \`expiresAt\` the message is not given to a provider any more. A workspace with 20,000 undelivered due messages of class \`marketing\`, or 5,000 of class \`transactional\`, gets 429 \`outbox_full\` for further ones of that class, and should wait for \`Retry-After\` seconds.`,
  body: jsonBody(message, { sms: SMS, email: EMAIL, voice: VOICE }),
  answers: {
    202: json('Accepted, and durable.', accepted, answered(202, 'Message accepted', ACCEPTED)),
    200: json(
      'This message was accepted before; nothing is sent again.',
      accepted,
      answered(200, 'This message was accepted before', { ...ACCEPTED, state: 'sent', duplicate: true }),
    ),
  },
  errors: [
    'uid_conflict',
    'template_not_found',
    'missing_params',
    'not_possible',
    'message_not_possible',
    'outbox_full',
    'overloaded',
    'dependency_down',
  ],
};

const sendMessages: Operation = {
  id: 'sendMessages',
  access: { scopes: ['send'] },
  bound: 'sending',
  tag: 'Sending',
  summary: 'Send many messages',
  description:
    'Up to 1,000 messages in one request, each checked as if it had come alone: `data.results` has one entry for each, in order, with the status that it would have got. Only a malformed envelope fails as a whole. Sent again after a lost answer, what was taken already is a duplicate.',
  body: jsonBody(
    bulk,
    {
      mixed: {
        messages: [
          { ...SMS, uid: 'order-4712-ready' },
          { ...SMS, uid: 'order-4713-ready', 'template-id': undefined },
        ],
      },
    },
    bulk.extend({ messages: z.array(message).min(1).max(LIMITS.bulkMessages) }),
  ),
  answers: {
    207: json(
      'Each message was checked alone.',
      bulkResults,
      answered(207, 'Each message was checked alone', {
        results: [
          { uid: 'order-4712-ready', status: 202, state: 'accepted', duplicate: false },
          {
            uid: 'order-4713-ready',
            status: 422,
            code: 'invalid_request',
            message: 'template-id: This is required, except for email with subject and body',
            errors: [
              {
                path: 'template-id',
                code: 'required',
                message: 'This is required, except for email with subject and body',
              },
            ],
          },
        ],
      }),
    ),
  },
};

const checkSending: Operation = {
  id: 'checkSending',
  access: { scopes: ['read'] },
  bound: 'sending',
  tag: 'Sending',
  summary: 'Ask whether carriers can send such messages',
  description: `Before messages by a template are sent: what the carriers cannot do by which they would leave, as accounts and routes are now. Recipients are not known yet, so that each route counts that one of them may take. A finding is an \`error\` when no account can send such messages at all; a \`warning\` when some can. Placeholders are taken for empty.

A service that answers this says \`checks\` in the \`capabilities\` of its token. Campaigns ask here when they are created, dry-run and started, and durable sends when they are created.`,
  parameters: {
    channel: 'sms',
    from: '12345',
    'template-id': EXAMPLE.smsTemplate,
    version: '1',
    class: 'marketing',
  },
  answers: {
    200: json(
      'What carriers cannot do.',
      sendingFindings,
      answered(200, 'Carriers can send these messages', { findings: [] }),
    ),
  },
  errors: ['not_found', 'dependency_down'],
};

const readOutbox: Operation = {
  id: 'readOutbox',
  access: { scopes: ['read'] },
  bound: 'sending',
  tag: 'Sending',
  summary: 'Tell how much room the outbox has',
  description:
    'How many messages of each class are due and not with a provider, and how many there may be on each channel. A program that sends many messages asks here before it offers more, so that none is refused with 429. Answers to sending carry the same as `x-outbox-room`: for each class the number that is free on the channel that has least and, after a slash, the bound, and the same for each channel that has messages waiting.',
  answers: {
    200: json(
      'What waits in the outbox.',
      outbox,
      answered(200, 'What waits in the outbox', {
        marketing: { undelivered: 1_250, channels: { email: 1_200, sms: 50, voice: 0 }, bound: 20_000 },
        transactional: { undelivered: 0, channels: { email: 0, sms: 0, voice: 0 }, bound: 5_000 },
      }),
    ),
  },
};
