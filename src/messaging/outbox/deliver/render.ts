import { BoundedCache } from '../../../domain/bounded-cache';
import { LIMITS } from '../../../domain/limits';
import { withSuffix } from '../../../domain/policy';
import { type CompiledText, compileText, UNSUBSCRIBE_URL } from '../../../domain/template';
import type { HandOver } from '../../../providers/provider';
import type { OutgoingMessage } from '../../model/outgoing';
import { plainTextOf } from '../../templates/plain-text';
import type { CompiledTemplate } from '../../templates/template-versions';
import type { ListUnsubscribe } from './list-unsubscribe';

/** A message's texts with its values filled in, as a provider takes them. */
export function render(
  message: OutgoingMessage,
  template: CompiledTemplate | undefined,
  listUnsubscribe?: ListUnsubscribe | undefined,
): HandOver {
  const { channel, params } = message;
  const handOver = addressed(message);
  if (channel === 'sms') {
    // Only an answer to a keyword has a text of its own, and it has no placeholders.
    handOver.text = template ? withSuffix(template.body.render(params), message.suffix) : message.body;
    return handOver;
  }
  if (channel === 'voice') {
    handOver.xml = template?.body.render(params);
    handOver.flow = template?.flow?.render(params);
    handOver.voice = message.voice;
    return handOver;
  }
  const own = ownTexts(message);
  const body = own.body ?? template?.body;
  const link = listUnsubscribe?.linkFor(message, body?.placeholders.includes(UNSUBSCRIBE_URL) ?? false);
  const values = link === undefined ? params : { [UNSUBSCRIBE_URL]: link, ...params };
  handOver.subject = (own.subject ?? template?.subject)?.render(values);
  handOver.html = body?.render(values);
  // A body of the message's own says something else than the template's plain text.
  handOver.text = (own.body ? own.text : template?.text)?.render(values);
  handOver.headers = headersOf(message, link, listUnsubscribe);
  return handOver;
}

/** What all channels have. Written out, because an object that is made by spreading costs 2 µs, for every message. */
function addressed(message: OutgoingMessage): HandOver {
  const { id, uid, workspaceId, channel, to, from, campaign, expiresAtMs } = message;
  const expiresAt = expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString();
  return { id, uid, workspaceId, channel, to, from, campaign, expiresAt, attempt: message.attempt + 1 };
}

function headersOf(
  message: OutgoingMessage,
  link: string | undefined,
  listUnsubscribe: ListUnsubscribe | undefined,
): HandOver['headers'] {
  const ofList =
    message.class === 'marketing' && link !== undefined && listUnsubscribe?.headersFor(message, link);
  if (!ofList) return message.replyTo === undefined ? undefined : { 'Reply-To': message.replyTo };
  return message.replyTo === undefined ? ofList : { 'Reply-To': message.replyTo, ...ofList };
}

interface OwnTexts {
  subject?: CompiledText;
  body?: CompiledText;
  text?: CompiledText;
}

function ownTexts({ subject, body }: OutgoingMessage): OwnTexts {
  return {
    ...(subject === undefined ? {} : { subject: compileText(subject, 'none') }),
    ...(body === undefined ? {} : ownBody(body)),
  };
}

/**
 * The text part of a body costs 30 microseconds a kilobyte, by the quick pass at that. A caller that sends bodies
 * often sends the same one to many, so the last ones are remembered; a long one gets no text part.
 */
function ownBody(html: string): Pick<OwnTexts, 'body' | 'text'> {
  if (html.length > LIMITS.ownBodyTextChars) return { body: compileText(html, 'html') };
  const known = lastBodies.get(html);
  if (known) return known;
  const body = compileText(html, 'html');
  const text = compileText(plainTextOf(html), 'none', new Set(body.placeholders));
  lastBodies.set(html, { body, text }, html.length);
  return { body, text };
}

const lastBodies = new BoundedCache<Pick<OwnTexts, 'body' | 'text'>>(LIMITS.ownBodiesKeptChars);
