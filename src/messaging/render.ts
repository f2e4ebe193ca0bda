import { LIMITS } from '../domain/limits';
import { type CompiledText, compileText } from '../domain/template';
import type { HandOver } from '../providers/provider';
import type { OutgoingMessage } from './outgoing';
import { plainTextOf } from './plain-text';
import type { CompiledTemplate } from './template-versions';

/** A message's texts with its values filled in, as a provider takes them. */
export function render(message: OutgoingMessage, template: CompiledTemplate | undefined): HandOver {
  const { id, uid, channel, to, from, campaign, params } = message;
  const common = { id, uid, channel, to, from, campaign, attempt: message.attempt + 1 };
  if (channel === 'sms') return { ...common, text: template?.body.render(params) };
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

/** Read anew for every message, so the text part is made by the quick pass, and of bodies of some size only. */
function ownTexts(message: OutgoingMessage): OwnTexts {
  const own: OwnTexts = {};
  if (message.subject !== undefined) own.subject = compileText(message.subject, 'none');
  if (message.body === undefined) return own;
  own.body = compileText(message.body, 'html');
  if (message.body.length > LIMITS.ownBodyTextChars) return own;
  own.text = compileText(plainTextOf(message.body), 'none', new Set(own.body.placeholders));
  return own;
}
