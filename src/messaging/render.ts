import { BoundedCache } from '../domain/bounded-cache';
import { LIMITS } from '../domain/limits';
import { type CompiledText, compileText } from '../domain/template';
import type { HandOver } from '../providers/provider';
import type { OutgoingMessage } from './outgoing';
import { plainTextOf } from './plain-text';
import { withSuffix } from './policy-rules';
import type { CompiledTemplate } from './template-versions';

/** A message's texts with its values filled in, as a provider takes them. */
export function render(message: OutgoingMessage, template: CompiledTemplate | undefined): HandOver {
  const { id, uid, channel, to, from, campaign, params } = message;
  const common = { id, uid, channel, to, from, campaign, attempt: message.attempt + 1 };
  if (channel === 'sms') {
    return { ...common, text: template && withSuffix(template.body.render(params), message.suffix) };
  }
  if (channel === 'voice') {
    return { ...common, xml: template?.body.render(params), flow: template?.flow?.render(params) };
  }
  const own = ownTexts(message);
  return {
    ...common,
    subject: (own.subject ?? template?.subject)?.render(params),
    html: (own.body ?? template?.body)?.render(params),
    // A body of the message's own says something else than the template's plain text.
    text: (own.body ? own.text : template?.text)?.render(params),
    headers: message.replyTo === undefined ? undefined : { 'Reply-To': message.replyTo },
  };
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
 * The text part of a body costs 30 microseconds a kilobyte, by the quick pass at that. Whoever sends bodies
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
