import type { Channel } from '../../domain/channel';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { type CompiledText, compileText } from '../../domain/template';

type Params = Readonly<Record<string, string | number>>;

/** A message's texts: those that it brings along take the place of the template's. */
export interface TextsToFill {
  subject?: Pick<CompiledText, 'filledLength'> | undefined;
  body?: Pick<CompiledText, 'filledLength'> | undefined;
  flow?: Pick<CompiledText, 'filledLength'> | undefined;
}

/**
 * A placeholder may stand in a text a hundred thousand times, and its value may be long: what they come to
 * is bounded before anything is filled in. Throws `invalid_request`.
 */
export function requireRenderedSize(channel: Channel, texts: TextsToFill, params: Params): void {
  requireLength(texts.subject, LIMITS.subjectChars, 'subject', params);
  requireLength(texts.body, BODY_MAX[channel], 'text', params);
  requireLength(texts.flow, LIMITS.voiceFlowChars, 'flow', params);
}

const BODY_MAX: Record<Channel, number> = {
  email: LIMITS.filledEmailChars,
  sms: LIMITS.smsBodyChars,
  voice: LIMITS.voiceXmlChars,
};

function requireLength(text: TextsToFill['body'], max: number, what: string, params: Params): void {
  const chars = text?.filledLength(params) ?? 0;
  if (chars <= max) return;
  const message = `Filled in, the ${what} has ${chars} characters; at most ${max} can be sent`;
  throw new DomainError('invalid_request', message, {
    errors: [{ path: 'params', code: 'too_long', message }],
  });
}

/** For a body that a message brings along: most are far from the bound, and need not be taken apart to see it. */
export function ownBodyToFill(body: string, params: Params): TextsToFill['body'] {
  const longest = Math.max(0, ...Object.values(params).map((value) => String(value).length));
  const atMost = body.length + (body.length / SHORTEST_PLACEHOLDER) * longest;
  return atMost <= LIMITS.filledEmailChars ? undefined : compileText(body, 'none');
}

const SHORTEST_PLACEHOLDER = '{{A}}'.length;
