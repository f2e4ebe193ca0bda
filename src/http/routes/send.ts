import { answer } from '../../contracts/common';
import { bulk, message } from '../../contracts/send';
import { ERRORS, isDomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { Delivery } from '../../messaging/delivery';
import type { Accepted, Outcome } from '../../messaging/outbox/outgoing';
import { callerOf } from '../caller';
import { readOutbox, sendMessage, sendMessages } from '../operations/sending';
import type { App } from '../routing';
import { parseBody } from '../validation';

/** messaging-service.md, Send a message; api.md 4. */
export function sendRoutes(
  delivery: Pick<Delivery, 'accept' | 'acceptMany' | 'outboxDepth'>,
): (app: App) => void {
  // The uid makes both idempotent as long as its record exists; a key does so by its stored answer.
  const config = { auth: 'send', idempotent: true } as const;

  return (app) => {
    const single = { config, schema: { operation: sendMessage, body: message } };
    app.post('/send-msg', single, async (request, reply) => {
      const { workspaceId } = callerOf(request);
      const accepted = await delivery.accept(workspaceId, request.body);
      void reply.header(ROOM_HEADER, roomText(delivery.outboxDepth(workspaceId)));
      const status = accepted.duplicate ? 200 : 202;
      const text = accepted.duplicate ? 'This message was accepted before' : 'Message accepted';
      return reply.code(status).send(answer(status, text, accepted));
    });

    app.get('/outbox', { config: { auth: 'send' }, schema: { operation: readOutbox } }, async (request) =>
      answer(200, 'What waits in the outbox', delivery.outboxDepth(callerOf(request).workspaceId)),
    );

    const many = { config, bodyLimit: LIMITS.bulkBodyBytes, schema: { operation: sendMessages, body: bulk } };
    app.post('/send-msg/bulk', many, async (request, reply) => {
      const judged = request.body.messages.map(judge);
      const sendable = judged.flatMap((one) => (one.ok ? [one.answer] : []));
      const { workspaceId } = callerOf(request);
      const outcomes = await delivery.acceptMany(workspaceId, sendable);
      void reply.header(ROOM_HEADER, roomText(delivery.outboxDepth(workspaceId)));
      let taken = 0;
      const results = judged.map((one, i) => {
        const outcome = one.ok ? outcomes[taken++] : one;
        return resultOf(outcome as Outcome<Accepted>, request.body.messages[i]);
      });
      return reply.code(207).send(answer(207, 'Each message was judged alone', { results }));
    });
  };
}

/** `marketing=<free>/<bound>, transactional=<free>/<bound>`, so that a sender of many messages knows when to wait. */
const ROOM_HEADER = 'x-outbox-room';

const roomText = (depth: ReturnType<Delivery['outboxDepth']>) =>
  Object.entries(depth)
    .map(([kind, { undelivered, bound }]) => `${kind}=${Math.max(0, bound - undelivered)}/${bound}`)
    .join(', ');

function judge(given: unknown) {
  try {
    return { ok: true, answer: parseBody(message, given) } as const;
  } catch (error) {
    return { ok: false, error } as const;
  }
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
