import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import { isOfCalendar } from '../domain/instants';
import { LIMITS } from '../domain/limits';
import { MESSAGE_STATES } from '../domain/message';
import { MESSAGE_WAITS } from '../domain/message-history';
import { lookedForAddress, lookedForSender } from './addresses';
import { emptyAsAbsent, idCursor, pageLimit, TIME_FORM } from './common';
import { channel, count, cursorPageOf, id, success, time } from './envelope';
import { event } from './events';
import { callOptions, campaignTag, encoding, segments, state, uid } from './send';
import { stopped } from './stop';
import { finding } from './validation-issue';

export const messageKey = z.object({ uid: z.string().min(1).max(LIMITS.uidChars) });
/** A uid has no spaces, so that one parameter holds several. */
export const storyQuery = z.object({
  uids: z
    .string()
    .min(1)
    .max(LIMITS.storyUids * (LIMITS.uidChars + 1))
    .transform((text) => [...new Set(text.split(' ').filter((uid) => uid !== ''))])
    .pipe(z.array(z.string().max(LIMITS.uidChars)).min(1).max(LIMITS.storyUids))
    .meta({ type: 'string', description: `Up to ${LIMITS.storyUids}, with spaces between them.` }),
});
export const holdKey = z.object({ campaign: campaignTag });
export const holdQuery = z.object({
  aside: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'With `true`, what is held does not count towards the bound of the outbox.' }),
});

const TIME = /^\d{4}-\d{2}-\d{2}(?:T|$)/;
/** A time without an offset would be of the server's own zone. A date is a day's beginning in UTC. */
const WITHOUT_OFFSET = /T(?!.*(?:Z|[+-]\d{2}:\d{2})$)/;

/** A time bounds when the message was accepted; anything else is an address, normalised as messages have it. */
const timeOr = (addressOf: (value: string) => string) =>
  z
    .string()
    .max(LIMITS.searchChars)
    .transform((value, context) => {
      if (!TIME.test(value)) return addressOf(value);
      // A plus sign in a query string arrives as a space.
      const written = value.replace(/ (?=\d{2}:\d{2}$)/, '+');
      const time = new Date(written);
      if (isOfCalendar(time.getTime()) && !WITHOUT_OFFSET.test(written)) return time;
      context.addIssue(finding('invalid_time', TIME_FORM));
      return z.NEVER;
    });

export const messageList = z.object({
  channel: emptyAsAbsent(z.enum(CHANNELS).optional()),
  state: emptyAsAbsent(z.enum(MESSAGE_STATES).optional()),
  campaign: emptyAsAbsent(campaignTag.optional()),
  from: emptyAsAbsent(timeOr(lookedForSender).optional()),
  to: emptyAsAbsent(timeOr(lookedForAddress).optional()),
  cursor: idCursor('msg'),
  limit: emptyAsAbsent(pageLimit().default(LIMITS.pageSizeDefault)),
});
export type MessageList = z.output<typeof messageList>;

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
  z.strictObject({ ...recordMembers, events: z.array(event), stopped }).meta({ id: 'TrackedMessage' }),
);

/** In the export of a person, with the text that the message had in place of a template's. */
export const personMessage = z
  .strictObject({ ...recordMembers, events: z.array(event), body: z.string().optional() })
  .meta({ id: 'PersonMessage' });

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

export const held = success(z.strictObject({ campaign: z.string(), held: z.boolean() }));
