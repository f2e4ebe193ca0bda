import type { Message, MessageTemplate } from '../../../contracts/send';
import { DomainError, type FieldError } from '../../../domain/errors';
import { type MaybePromise, whenDone } from '../../../domain/maybe-promise';
import { type WorkspacePolicy, withSuffix } from '../../../domain/policy';
import type { Routed } from '../../../domain/route';
import { measureSms } from '../../../domain/sms-encoding';
import { compileText, placeholdersOf, UNSUBSCRIBE_URL } from '../../../domain/template';
import { newIdInOrder } from '../../../storage/new-id';
import type { ImpossibleRule } from '../../carriers/possible-rule';
import type { Draft, Suffix } from '../../model/outgoing';
import { ownBodyToFill, requireRenderedSize, type TextsToFill } from '../../templates/rendered-size';
import type { CompiledTemplate, TemplateVersions } from '../../templates/template-versions';
import { flowOf } from '../queue/flow';
import { payloadHash } from './payload-hash';
import { refusedSender, type SenderRule, suffixOf } from './policy-rules';
import { refusal } from './refusal';

/**
 * Everything that can be wrong with one message by itself, checked before it may join an insert. Throws
 * `template_not_found`, `missing_params`, `invalid_request`; `dependency_down` when its template cannot be read.
 */
export function validateMessages(
  templates: TemplateVersions,
  workspaceId: string,
  message: Message,
  nowMs: number,
  {
    policy,
    flowWay,
    senderRule,
    impossible,
  }: {
    policy?: WorkspacePolicy | undefined;
    flowWay?: FlowWay | undefined;
    senderRule?: SenderRule | undefined;
    impossible?: ImpossibleRule | undefined;
  } = {},
): MaybePromise<Draft> {
  return whenDone(templateOf(templates, workspaceId, message), (template) =>
    draftOf(message, template, { workspaceId, nowMs, policy, flowWay, senderRule, impossible }),
  );
}

interface Workspace {
  workspaceId: string;
  nowMs: number;
  policy: WorkspacePolicy | undefined;
  flowWay: FlowWay | undefined;
  senderRule: SenderRule | undefined;
  impossible: ImpossibleRule | undefined;
}

function draftOf(
  message: Message,
  template: CompiledTemplate | undefined,
  { workspaceId, nowMs, policy, flowWay, senderRule, impossible }: Workspace,
): Draft {
  const params = message.params ?? {};
  requireParams(message, template, params);
  requireRenderedSize(message.channel, textsOf(message, template, params), params);
  const text = message.channel === 'sms' ? template?.body.render(params) : undefined;
  const sms = text === undefined ? undefined : measureSms(text);
  const paramsJson = message.params ? JSON.stringify(params) : '{}';
  const scheduled = message.sendAt !== undefined && Date.parse(message.sendAt) > nowMs;
  const id = newIdInOrder('msg', nowMs);
  const { channel, from, to, class: kind, campaign, voice } = message;
  const routed = { id, workspaceId, channel, from, to, class: kind, campaign, voice };
  const ending = suffixOf(message, text, policy);
  const filled = () => filledText(message, template, ending, params);
  return {
    id,
    workspaceId,
    uid: message.uid,
    channel: message.channel,
    to: message.to,
    from: message.from,
    templateId: template?.templateId,
    templateVersion: template?.version,
    subject: message.subject,
    body: message.channel === 'email' ? message.body : undefined,
    params,
    paramsJson,
    campaign: message.campaign,
    class: message.class,
    replyTo: message.replyTo,
    voice: message.voice,
    payloadHash: payloadHash(message),
    segments: sms?.segments,
    encoding: sms?.encoding,
    state: scheduled ? 'scheduled' : 'accepted',
    sendAt: message.sendAt,
    expiresAt: message.expiresAt,
    expiresAtMs: message.expiresAt === undefined ? undefined : Date.parse(message.expiresAt),
    flow: flowOf(workspaceId, message, flowWay?.(routed)),
    attempt: 0,
    ending,
    refusal:
      refusedSender(workspaceId, message, policy, senderRule) ?? impossible?.(routed, { filled, template }),
    size: 500 + paramsJson.length + (message.body?.length ?? 0),
  };
}

/** What a carrier would be given. An ending that only the first message to a number has may be missing. */
function filledText(
  { channel }: Message,
  template: CompiledTemplate | undefined,
  ending: Suffix | undefined,
  params: Draft['params'],
): string {
  const body = template?.body.render(params) ?? '';
  return channel === 'sms' && ending?.onlyFirst === false ? withSuffix(body, ending.text) : body;
}

/** The way of a message that a route leads elsewhere than to its channel's default. */
export type FlowWay = (message: Routed) => string | undefined;

/** At once for a template that this process knows, which is nearly every one. */
function templateOf(
  templates: TemplateVersions,
  workspaceId: string,
  message: Message,
): MaybePromise<CompiledTemplate | undefined> {
  const templateId = message['template-id'];
  if (templateId === undefined) return undefined;
  const known = templates.known(workspaceId, templateId, message.version);
  if (known) return ofChannel(known, message, templateId);
  return templates.get(workspaceId, templateId, message.version).then(
    (template) => ofChannel(template, message, templateId),
    (error: unknown) => {
      throw refusal(error);
    },
  );
}

/** The template that a malformed message names and the workspace does not have, to be reported with what is malformed. */
export async function unknownTemplate(
  templates: TemplateVersions,
  workspaceId: string,
  named: MessageTemplate,
): Promise<FieldError[]> {
  const templateId = named['template-id'];
  // The message is refused in any case, so that a database that does not answer now changes nothing.
  const found = await templates
    .get(workspaceId, templateId, named.version)
    .catch(() => 'unanswered' as const);
  return found === 'unanswered' || found?.channel === named.channel ? [] : [noTemplate(named, templateId)];
}

function ofChannel(
  template: CompiledTemplate | undefined,
  message: Message,
  templateId: string,
): CompiledTemplate {
  if (template?.channel === message.channel) return template;
  const finding = noTemplate(message, templateId);
  throw new DomainError('template_not_found', finding.message, { errors: [finding] });
}

function noTemplate(message: Pick<Message, 'channel' | 'version'>, templateId: string): FieldError {
  const version = message.version === undefined ? '' : ` with version ${message.version}`;
  const text = `template-id: no ${message.channel} template '${templateId}'${version} in this workspace`;
  return { path: 'template-id', code: 'not_found', message: text };
}

function requireParams(
  message: Message,
  template: CompiledTemplate | undefined,
  params: Record<string, string | number>,
): void {
  const missing = neededNames(message, template).filter(
    (name) => params[name] === undefined && !(message.channel === 'email' && name === UNSUBSCRIBE_URL),
  );
  if (missing.length > 0) {
    throw new DomainError('missing_params', `No value for ${missing.join(', ')}`, {
      errors: missing.map((name) => ({
        path: `params.${name}`,
        code: 'missing',
        message: `No value for ${name}`,
      })),
    });
  }
  if (message.channel !== 'email') return;
  const inSubject =
    message.subject === undefined ? template?.subject?.placeholders : placeholdersOf(message.subject);
  const broken = (inSubject ?? []).filter((name) => /[\r\n]/.test(String(params[name])));
  if (broken.length > 0) {
    throw new DomainError(
      'invalid_request',
      `A subject is one line: ${broken.join(', ')} holds a line break`,
      {
        errors: broken.map((name) => ({
          path: `params.${name}`,
          code: 'line_break',
          message: 'Stands in the subject, which must be one line',
        })),
      },
    );
  }
}

function textsOf(
  message: Message,
  template: CompiledTemplate | undefined,
  params: Draft['params'],
): TextsToFill {
  if (message.channel !== 'email') return { body: template?.body, flow: template?.flow };
  const { subject, body } = message;
  return {
    subject: subject === undefined ? template?.subject : compileText(subject, 'none'),
    body: body === undefined ? template?.body : ownBodyToFill(body, params),
  };
}

/** A subject or body of the message's own takes the place of the template's. */
function neededNames(message: Message, template: CompiledTemplate | undefined): readonly string[] {
  if (message.channel !== 'email' || (message.subject === undefined && message.body === undefined)) {
    return template?.placeholders ?? [];
  }
  const subject =
    message.subject === undefined ? template?.subject?.placeholders : placeholdersOf(message.subject);
  const body = message.body === undefined ? template?.body.placeholders : placeholdersOf(message.body);
  return [...new Set([...(subject ?? []), ...(body ?? [])])];
}
