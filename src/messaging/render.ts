import { type CompiledText, compileText } from '../domain/template';
import type { HandOver } from '../providers/provider';
import type { OutgoingMessage } from './outgoing';
import type { CompiledTemplate } from './template-versions';

/** A message's texts with its values filled in, as a provider takes them. */
export function render(message: OutgoingMessage, template: CompiledTemplate | undefined): HandOver {
  const { id, uid, channel, to, from, campaign, params } = message;
  const common = { id, uid, channel, to, from, campaign, attempt: message.attempt + 1 };
  if (channel === 'sms') return { ...common, text: template?.body.render(params) };
  if (channel === 'voice') return { ...common, xml: template?.body.render(params) };
  const own = ownTexts(message);
  return {
    ...common,
    subject: (own.subject ?? template?.subject)?.render(params),
    html: (own.body ?? template?.body)?.render(params),
    // A body of the message's own says something else than the template's plain text.
    text: own.body ? undefined : template?.text?.render(params),
    headers: message.replyTo === undefined ? undefined : { 'Reply-To': message.replyTo },
  };
}

function ownTexts(message: OutgoingMessage): { subject?: CompiledText; body?: CompiledText } {
  return {
    ...(message.subject === undefined ? {} : { subject: compileText(message.subject, 'none') }),
    ...(message.body === undefined ? {} : { body: compileText(message.body, 'html') }),
  };
}
