import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import type { AuditLog } from '../../audit/audit-log';
import type { Actor, AuditEvent } from '../../audit/entry';
import type { Log } from '../../log';
import { Companion, withFirstChange } from '../../storage/with-first-change';
import { AUDITED_OPERATIONS, type AuditRule } from './audited-operations';
import { bearerOf } from './auth';
import type { Authenticator, Caller } from './caller';
import { originOf } from './caller-address';
import { sessionTokenOf } from './cookie';
import type { App } from './routing';

/** A call that writes an entry when it changes something. */
interface AuditedCall {
  companion: Companion;
  /** The id that was made for the rule's object. */
  made?: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    audited: AuditedCall | undefined;
  }
}

/**
 * Writes who called what (api.md 17): a change in its own transaction, and what was refused or has failed after
 * the fact. Which operations write, and what, stands in audited-operations.ts; operations that are not there, as
 * those that send messages, pay nothing.
 */
export function auditCalls(app: App, audit: AuditLog, authenticator: Authenticator, log: Log): void {
  app.decorateRequest('audited', undefined);

  app.addHook('onRoute', (route) => {
    const rule = ruleFor(route.schema?.operation?.id);
    if (rule) route.handler = audited(route.handler, rule, audit);
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    // Whatever a handler does after its answer is not what the call was for.
    request.audited?.companion.close();
    const { statusCode } = reply;
    if (statusCode !== 401 && statusCode !== 403 && statusCode < 500) return done(null, payload);
    void tell(request, reply).then(() => done(null, payload));
  });

  async function tell(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { statusCode } = reply;
    try {
      if (statusCode < 500) await tellRefusal(request, reply, audit, authenticator);
      else await tellFailure(request, reply, audit);
    } catch (error) {
      log.warn({ err: error, requestId: request.id }, 'A refused call could not be written to the audit log');
    }
  }
}

function audited(handler: RouteHandlerMethod, rule: AuditRule, audit: AuditLog): RouteHandlerMethod {
  return function (request, reply) {
    const companion = new Companion(() => audit.appending(eventOf(request, rule, 'ok')));
    request.audited = { companion };
    return withFirstChange(companion, () => handler.call(this, request, reply));
  };
}

/** Remembers the id that a call makes for its object, which the entry names. */
export function rememberMade(request: FastifyRequest, id: string): void {
  const call = request.audited;
  const makes = ruleFor(request.routeOptions.schema?.operation?.id)?.makes;
  if (call && makes !== undefined && id.startsWith(`${makes}_`)) call.made ??= id;
}

async function tellFailure(request: FastifyRequest, reply: FastifyReply, audit: AuditLog): Promise<void> {
  const rule = ruleFor(request.routeOptions.schema?.operation?.id);
  if (!rule || !request.caller) return;
  const event = eventOf(request, rule, 'failed');
  await audit.record({ ...event, detail: { ...event.detail, status: reply.statusCode } });
}

async function tellRefusal(
  request: FastifyRequest,
  reply: FastifyReply,
  audit: AuditLog,
  authenticator: Authenticator,
): Promise<void> {
  const operation = request.routeOptions.schema?.operation?.id;
  const known = operation && (await identify(request, authenticator));
  if (!known) return;
  const rule = ruleFor(operation);
  const told = rule
    ? whatOf(request, rule, known)
    : { action: 'access.refused' as const, object: { kind: 'operation', id: operation } };
  await audit.recordRepeated({
    ...callOf(request, known),
    ...told,
    result: 'refused',
    detail: { status: reply.statusCode },
  });
}

interface Known {
  workspaceId: string;
  actor: Actor;
  userId?: string | undefined;
}

/** Looked up again, because a refused caller is not handed on. What was valid a moment ago is cached. */
async function identify(request: FastifyRequest, authenticator: Authenticator): Promise<Known | undefined> {
  if (request.caller) return known(request.caller);
  const token = bearerOf(request);
  const session = token === undefined ? sessionTokenOf(request.headers.cookie) : undefined;
  const caller =
    token !== undefined
      ? await authenticator.byAccessToken(token)
      : session !== undefined && (await authenticator.bySession(session));
  if (caller) return known(caller);
  const key = request.headers['x-api-key'];
  const holder = typeof key === 'string' ? await authenticator.byApiKey(key) : undefined;
  return holder && { workspaceId: holder.workspaceId, actor: { kind: 'key', id: holder.id } };
}

const known = ({ workspaceId, userId, clientId, via }: Caller): Known => ({
  workspaceId,
  userId,
  actor: via === 'cookie' ? { kind: 'user', id: userId ?? null } : { kind: 'client', id: clientId ?? null },
});

function eventOf(request: FastifyRequest, rule: AuditRule, result: AuditEvent['result']): AuditEvent {
  const by = known(request.caller as Caller);
  // A client may name anything there.
  const isActing = by.actor.kind === 'client' && /^usr_[0-9a-z]{19,26}$/.test(by.userId ?? '');
  return {
    ...callOf(request, by),
    ...whatOf(request, rule, by),
    result,
    detail: { ...rule.detail?.(request), ...(isActing ? { userId: by.userId as string } : {}) },
  };
}

/** Some operations do one of two things, by what their body holds. */
function whatOf(request: FastifyRequest, rule: AuditRule, by: Known): Pick<AuditEvent, 'action' | 'object'> {
  const { edits, confirms, action } = rule;
  const member = (name: string) => (request.body as Record<string, unknown> | null | undefined)?.[name];
  const edited = edits && member(edits.member);
  if (edits && typeof edited === 'string') {
    return { action: edits.action, object: { kind: rule.object, id: edited } };
  }
  const isConfirmed = confirms && member(confirms.member) !== undefined;
  return { action: isConfirmed ? confirms.action : action, object: objectOf(request, rule, by) };
}

const callOf = (request: FastifyRequest, { workspaceId, actor }: Known) => ({
  workspaceId,
  actor,
  address: originOf(request).address,
  requestId: request.id,
});

/** A refused call may have an email address or a phone number in place of an id, and entries are kept for years. */
const ADDRESS = /@|^\+?[\d\s().-]{7,}$/;

function objectOf(request: FastifyRequest, rule: AuditRule, { workspaceId, userId }: Known) {
  const { kind, id } = { kind: rule.object, id: idOf() };
  return { kind, id: id === undefined || ADDRESS.test(id) ? null : id };

  function idOf(): string | undefined {
    if (rule.makes) return request.audited?.made;
    if (rule.of === 'workspace') return workspaceId;
    if (rule.of === 'user') return userId;
    if (rule.of === 'nothing') return undefined;
    return (request.params as Record<string, string>)[rule.of ?? 'id'];
  }
}

function ruleFor(operation: string | undefined): AuditRule | undefined {
  const rule = operation === undefined ? undefined : AUDITED_OPERATIONS[operation];
  return rule && 'action' in rule ? rule : undefined;
}
