import { z } from 'zod';
import { CHANNELS, type Channel } from '../domain/channel';
import type { FieldCode } from '../domain/field-codes';
import { LIMITS } from '../domain/limits';
import { MESSAGE_STATES } from '../domain/message';
import { MACHINE_BEHAVIOURS } from '../domain/voice/answer-detection/machine-behaviour';
import { email, recipientOf, senderOf } from './addresses';
import { givenId, INT_MAX, instant, integer, wholeNumber } from './common';
import { channel, count, id, success, successToo, time } from './envelope';
import { params } from './params';
import { fieldErrors } from './problem';
import { finding } from './validation-issue';
import { isWithinAYear } from './year-ahead';

/**
 * What callers of the send endpoints write (api.md 4). Fields of the specification and ours live side by
 * side; unknown ones are ignored, since a caller may be newer than we are. Runs for every message sent.
 */
const SUBJECT_CHARS_MAX = 998;
const UID = /^[\x21-\x7e]+$/;

const line = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[^\r\n]*$/, 'This must be one line');

/** No caller means to send an empty email: the template's text is sent then, and without a template nothing is. */
const blankAsAbsent = (value: string) => (value.trim() === '' ? undefined : value);

export const campaignTag = z.string().min(1).max(LIMITS.campaignTagChars);

/** One of ours, so that what it does not know is refused: a misspelt limit must not be no limit. */
export const callOptions = z
  .strictObject({
    machine: z
      .enum(MACHINE_BEHAVIOURS)
      .optional()
      .meta({ description: 'When a machine answers; `speak` if not given.' }),
    ringTimeoutSeconds: integer.min(LIMITS.ringSecondsMin).max(LIMITS.ringSecondsMax).optional(),
    maxSeconds: integer.min(LIMITS.callSecondsMin).max(LIMITS.callSecondsMax).optional(),
  })
  .meta({ id: 'CallOptions' });

export const message = z
  .object({
    channel: z.enum(CHANNELS),
    uid: z
      .string()
      .max(LIMITS.uidChars)
      .regex(UID, 'Printable characters without spaces')
      .meta({ description: 'Chosen by the caller; the same uid is the same message.' }),
    to: z.string().meta({ description: 'An email address, or a phone number with its country code.' }),
    from: z.string().meta({
      description:
        'An email address, with or without a display name; a phone number; for SMS also a short code, or a name of up to 11 letters, digits and spaces.',
    }),
    'template-id': givenId.optional(),
    params: params.optional(),
    body: z
      .string()
      .transform(blankAsAbsent)
      .optional()
      .meta({ description: 'Email only: HTML, in the place of the template’s.' }),
    version: integer.min(1).max(INT_MAX).optional(),
    subject: line(SUBJECT_CHARS_MAX).transform(blankAsAbsent).optional().meta({ description: 'Email only.' }),
    sendAt: instant.optional().meta({ description: 'Not before; at most a year ahead.' }),
    expiresAt: instant.optional().meta({ description: 'Not given to a provider after this.' }),
    campaign: campaignTag.optional().meta({ description: 'A tag, for holds and reports.' }),
    class: z.enum(['marketing', 'transactional']).default('marketing'),
    replyTo: email.optional(),
    voice: callOptions.optional().meta({ description: 'Calls only: how the call is made.' }),
  })
  // `when`: fields that belong together are checked beside the others, so that all errors come at once.
  .superRefine(
    (value, context) => {
      const problem = (path: string, code: FieldCode, text: string) =>
        context.addIssue(finding(code, text, [path]));
      normaliseAddresses(value, problem);
      const ownTexts = value.channel === 'email' && value.body !== undefined && value.subject !== undefined;
      if (value['template-id'] === undefined && !ownTexts) {
        problem('template-id', 'required', 'This is required, except for email with subject and body');
      }
      if (value.voice !== undefined && value.channel !== 'voice')
        problem('voice', 'not_applicable', 'This is for calls only');
      if (typeof value.sendAt === 'string' && !isWithinAYear(value.sendAt)) {
        problem('sendAt', 'too_far_ahead', 'At most one year ahead');
      }
    },
    { when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value) },
  )
  .meta({ id: 'Message' });

export type Message = z.output<typeof message>;

/** What of a malformed message names a template. */
export const messageTemplate = z.object({
  channel: z.enum(CHANNELS),
  'template-id': givenId,
  version: integer.min(1).max(INT_MAX).optional(),
});

export type MessageTemplate = z.output<typeof messageTemplate>;

/** What an address may be depends on the channel, so that the object has to be there before it is checked. */
function normaliseAddresses(
  value: { channel: Channel; to: string; from: string },
  problem: (path: string, code: FieldCode, text: string) => void,
): void {
  if (!CHANNELS.includes(value.channel)) return;
  for (const [field, schema, code] of [
    ['to', recipientOf[value.channel], 'invalid_address'],
    ['from', senderOf[value.channel], 'invalid_sender'],
  ] as const) {
    if (typeof value[field] !== 'string') continue;
    const checked = schema.safeParse(value[field]);
    if (checked.success) value[field] = checked.data;
    else problem(field, code, checked.error.issues[0]?.message ?? 'This is not an address');
  }
}

/** Messages by one template, before any of them exists; the same names and rules as in a message. */
export const sendingQuestion = z
  .object({
    channel: z.enum(CHANNELS),
    from: z.string(),
    'template-id': givenId,
    version: wholeNumber({ min: 1, max: INT_MAX }).optional(),
    class: z.enum(['marketing', 'transactional']).default('marketing'),
  })
  .superRefine((value, context) => {
    const checked = senderOf[value.channel].safeParse(value.from);
    if (checked.success) value.from = checked.data;
    else context.addIssue(finding('invalid_sender', 'This is no sender of the channel', ['from']));
  });

export const sendingFindings = success(
  z.strictObject({
    findings: z.array(
      z
        .strictObject({
          about: z.enum(['account', 'sender', 'template']),
          severity: z
            .enum(['error', 'warning'])
            .meta({ description: '`error`: no account that the messages may leave by can send them so.' }),
          message: z.string(),
        })
        .meta({ id: 'SendingFinding' }),
    ),
  }),
);

/** The envelope alone, because each message in it is checked by itself. */
export const bulk = z.strictObject({ messages: z.array(z.unknown()).min(1).max(LIMITS.bulkMessages) });

/** What the send endpoints answer (api.md 4). */
export const state = z.enum(MESSAGE_STATES);
export const uid = z.string().max(LIMITS.uidChars);
export const encoding = z.enum(['gsm7', 'ucs2']);
export const segments = z.int().min(1);

const acceptedMessage = z
  .strictObject({
    id,
    uid,
    channel,
    to: z.string().meta({ description: 'Normalised.' }),
    state,
    segments: segments.optional(),
    encoding: encoding.optional(),
    sendAt: time.optional(),
    duplicate: z.boolean().meta({ description: 'Accepted before; nothing is sent again.' }),
  })
  .meta({ id: 'AcceptedMessage' });

export const accepted = success(acceptedMessage);
export const acceptedTest = z.strictObject({ ...successToo, data: acceptedMessage });

export const bulkResults = success(
  z.strictObject({
    results: z.array(
      z
        .strictObject({
          uid: uid.nullable(),
          status: z.int().meta({ description: 'The status that the message alone would have got.' }),
          state: state.optional(),
          duplicate: z.boolean().optional(),
          code: z.string().optional(),
          message: z.string().optional(),
          errors: fieldErrors.optional(),
          retryAfterSeconds: z.number().optional(),
        })
        .meta({ id: 'BulkResult' }),
    ),
  }),
);

const classDepth = z.strictObject({
  undelivered: count.meta({ description: 'Due and not with a provider.' }),
  channels: z
    .strictObject({ email: count, sms: count, voice: count })
    .meta({ description: 'How many of these each channel has.' }),
  bound: count.meta({ description: 'With so many on its channel a message is refused with 429.' }),
});
export const outbox = success(z.strictObject({ marketing: classDepth, transactional: classDepth }));
