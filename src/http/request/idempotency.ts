import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest, onSendHookHandler, preHandlerHookHandler } from 'fastify';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import { type IdGenerator, RANDOM } from '../../messaging/access/id-generator';
import type { Claim, Idempotency, StoredAnswer } from '../../messaging/idempotency';
import { callerOf } from './caller';
import type { App } from './routing';
import { invalidRequest } from './validation';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The route accepts an Idempotency-Key. Its handler promises that it can run again with the same
     * `generatorOf(request)`, after a crash anywhere, without creating a second thing. All ids of what it
     * creates come from there. An id that exists already is the work of an earlier attempt, and the answer to
     * it is the same. A handler that is idempotent by other means, such as a uid, need not take one. A handler
     * that creates nothing recognises an earlier attempt by `noteOf(request)`.
     *
     * `secret`: the answer holds a secret that is shown once.
     */
    idempotent?: true | 'secret';
  }
  interface FastifyRequest {
    idempotencyClaim: Claim | undefined;
  }
}

/** Source of the ids and secrets of what a request creates. */
export const generatorOf = (request: FastifyRequest): IdGenerator =>
  request.idempotencyClaim?.generator ?? RANDOM;

/** Tells a call that changes existing things whether an earlier attempt did so; undefined without a key. */
export const noteOf = (request: FastifyRequest): Claim['note'] | undefined => request.idempotencyClaim?.note;

/**
 * Handles the Idempotency-Key on every route whose `config.idempotent` asks for it (api.md 1). Without the
 * header it costs nothing. The key is used after the request was found valid, so that an invalid request may be
 * corrected under the same key.
 */
export function acceptIdempotencyKeys(app: App, idempotency: Idempotency, log: Log): void {
  app.decorateRequest('idempotencyClaim', undefined);

  const claimOrReplay: preHandlerHookHandler = (request, reply, done) => {
    const key = request.headers[HEADER];
    // An import reads its rows as they arrive, so that two imports cannot be compared beforehand.
    if (key === undefined || request.body instanceof Readable) return done();
    begin(request, String(key), idempotency).then((begun) => {
      if ('answer' in begun) return replay(reply, begun.answer);
      request.idempotencyClaim = begun.claim;
      done();
    }, done);
  };

  const keepAnswer: onSendHookHandler = (request, reply, payload, done) => {
    const claim = request.idempotencyClaim;
    if (claim === undefined) return done(null, payload);
    request.idempotencyClaim = undefined;
    // Store the answer before sending it, so that a caller who has it can always get it again. If it cannot be
    // stored, a repetition gives the same answer, because it creates the same ids.
    claim
      .settle(answerOf(reply, payload))
      .catch((error: unknown) =>
        log.warn(
          { err: error, requestId: request.id },
          'an answer could not be kept for its Idempotency-Key',
        ),
      )
      .finally(() => done(null, payload));
  };

  app.addHook('onRoute', (route) => {
    if (route.config?.idempotent === undefined) return;
    route.preHandler = [...[route.preHandler ?? []].flat(), claimOrReplay];
    route.onSend = [...[route.onSend ?? []].flat(), keepAnswer];
  });
}

const HEADER = 'idempotency-key';
const PRINTABLE = new RegExp(`^[\\x20-\\x7e]{1,${LIMITS.idempotencyKeyChars}}$`);
/** The answer's headers that belong to its content and not to the request. */
const KEPT_HEADERS = ['content-type', 'cache-control'];

async function begin(request: FastifyRequest, key: string, idempotency: Idempotency) {
  if (!PRINTABLE.test(key)) {
    const message = `This must be 1 to ${LIMITS.idempotencyKeyChars} printable ASCII characters`;
    throw invalidRequest([{ path: HEADER, code: 'invalid_format', message }]);
  }
  const { workspaceId, userId, via } = callerOf(request);
  const [path = '', query = ''] = request.url.split('?');
  return idempotency.begin({
    workspaceId,
    scope: JSON.stringify([via === 'cookie' ? userId : via, request.method, path.replace(/(?<=.)\/$/, '')]),
    key,
    payload: [query, request.body ?? null],
    secret: request.routeOptions.config.idempotent === 'secret',
  });
}

function replay(reply: FastifyReply, { status, headers, body }: StoredAnswer): void {
  reply.code(status).headers(headers).header('idempotent-replay', 'true').send(body);
}

function answerOf(reply: FastifyReply, payload: unknown): StoredAnswer {
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = reply.getHeader(name);
    return value === undefined ? [] : [[name, String(value)]];
  });
  return {
    status: reply.statusCode,
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: typeof payload === 'string' ? payload : '',
  };
}
