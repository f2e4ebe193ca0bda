import { z } from 'zod';
import { LIMITS } from '../../domain/limits';
import { MESSAGE_STATES, RECEIPT_STATE, type ReceiptType } from '../../domain/message';
import { MESSAGE_WAITS } from '../../domain/message-story';
import { callOptions } from '../send';
import { channel, count, cursorPageOf, id, success, successToo, time } from './envelope';
import { fieldErrors } from './problem';
import { stopped } from './stop';

/** What the send endpoints answer (api.md 4). */
const state = z.enum(MESSAGE_STATES);
const uid = z.string().max(LIMITS.uidChars);
const encoding = z.enum(['gsm7', 'ucs2']);
const segments = z.int().min(1);

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

const EVENT_TYPES = [
  ...new Set([...MESSAGE_STATES, ...(Object.keys(RECEIPT_STATE) as ReceiptType[]), 'inbound' as const]),
] as const;

const event = z
  .strictObject({
    seq: z.int().min(0).meta({ description: 'Where it stands in the order of the workspace’s events.' }),
    at: time,
    uid,
    id,
    channel,
    campaign: z.string().optional(),
    type: z.enum(EVENT_TYPES),
    state: state.meta({ description: 'Of the message, after this event.' }),
    code: z.string().optional(),
    provider: z.string().optional(),
    attempt: count.optional(),
    data: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'What the carrier told besides.' }),
  })
  .meta({ id: 'MessageEvent' });

const recordMembers = {
  id,
  uid,
  channel,
  to: z.string().nullable().meta({ description: 'Null once the person was erased.' }),
  from: z.string(),
  'template-id': id.optional(),
  version: z.int().min(1).optional(),
  subject: z.string().optional(),
  params: z.record(z.string(), z.union([z.string(), z.number()])),
  campaign: z.string().optional(),
  class: z.enum(['marketing', 'transactional']),
  replyTo: z.string().optional(),
  voice: callOptions.optional(),
  segments: segments.optional(),
  encoding: encoding.optional(),
  state,
  code: z.string().optional(),
  provider: z.string().optional(),
  providerId: z.string().optional(),
  attempt: count,
  sendAt: time.optional(),
  expiresAt: time.optional(),
  createdAt: time,
  updatedAt: time,
};

export const messages = cursorPageOf(z.strictObject(recordMembers).meta({ id: 'MessageRecord' })).extend({
  stopped,
});

export const trackedMessage = success(
  z.strictObject({ ...recordMembers, events: z.array(event) }).meta({ id: 'TrackedMessage' }),
);

const story = z
  .strictObject({
    uid,
    channel,
    state,
    code: z.string().optional(),
    account: z.string().optional().meta({ description: 'Through which it was handed over.' }),
    providerId: z.string().optional(),
    templateId: id.optional(),
    version: z.int().min(1).optional(),
    segments: segments.optional(),
    encoding: encoding.optional(),
    attempt: count.meta({ description: 'Hand-overs so far.' }),
    attemptsMax: count.meta({ description: 'After so many hand-overs the service gives up.' }),
    updatedAt: time,
    events: z.array(
      z.strictObject({
        at: time,
        type: z.string(),
        state,
        code: z.string().optional(),
        attempt: count.optional(),
        data: z.record(z.string(), z.unknown()).optional(),
      }),
    ),
    waits: z
      .strictObject({
        why: z.enum(MESSAGE_WAITS),
        at: time.optional().meta({ description: 'When it is tried next, where that is known.' }),
        code: z.string().optional().meta({ description: 'The latest answer of the carrier.' }),
      })
      .nullable()
      .meta({ description: 'Null when it is with a carrier, or at its end.' }),
    suppression: z
      .strictObject({
        channel: z.string(),
        sender: z.string().meta({ description: 'Empty for every sender.' }),
        reason: z.string(),
        source: z.string(),
        since: time,
      })
      .optional()
      .meta({
        description: 'The entry of the suppression list that kept it back, also if it was lifted since.',
      }),
  })
  .meta({ id: 'MessageStory' });

export const stories = success(z.array(story));

export const events = z.strictObject({
  result: z.literal('success'),
  status: z.int(),
  message: z.string(),
  data: z.array(event),
  next: z.string().meta({ description: 'Goes back as `after`; never null, since more will come.' }),
});

export const held = success(z.strictObject({ campaign: z.string(), held: z.boolean() }));

const classDepth = z.strictObject({
  undelivered: count.meta({ description: 'Due and not with a provider.' }),
  bound: count.meta({ description: 'From here on a message is refused with 429.' }),
});
export const outbox = success(z.strictObject({ marketing: classDepth, transactional: classDepth }));
