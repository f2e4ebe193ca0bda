import { z } from 'zod';
import { normalMailbox, normalRecipient, normalSender } from '../domain/address';
import { CHANNELS, type Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { MESSAGE_STATES } from '../domain/message';

/**
 * What callers of the send endpoints write (api.md 4). Fields of the specification and ours live side by
 * side; unknown ones are ignored, since a caller may be newer than we are. Runs for every message sent.
 */

/** PostgreSQL stores neither U+0000 nor half a surrogate pair; one such message would fail its neighbours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: to refuse it is the point.
const UNSTORABLE = /\u0000|\p{Surrogate}/u;
const LINE_BREAK = /[\r\n]/;

const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !UNSTORABLE.test(value), 'Holds characters that cannot be stored');
const line = (max: number) => text(max).refine((value) => !LINE_BREAK.test(value), 'Must be one line');
const id = text(LIMITS.idChars).min(1);

const ADDRESS_CHARS_MAX = 400;
const SUBJECT_CHARS_MAX = 998;
const UID = /^[\x21-\x7e]+$/;
const PARAM_NAME = /^[A-Z][A-Z0-9_]*$/;
const DAY_MS = 86_400_000;

const params = z
  .record(z.string(), z.union([text(LIMITS.paramsValueBytes), z.number()]))
  .superRefine((value, context) => {
    const names = Object.keys(value);
    if (names.length > LIMITS.paramsKeys) {
      context.addIssue({ code: 'custom', message: `At most ${LIMITS.paramsKeys} params` });
    }
    for (const name of names) {
      const content = value[name];
      if (name.length > LIMITS.paramsKeyChars || !PARAM_NAME.test(name)) {
        const message = `Names are upper-case letters, digits and _, at most ${LIMITS.paramsKeyChars}`;
        context.addIssue({ code: 'custom', path: [name], message });
      } else if (typeof content === 'string' && isOver(content, LIMITS.paramsValueBytes)) {
        const message = `At most ${LIMITS.paramsValueBytes} bytes`;
        context.addIssue({ code: 'custom', path: [name], message });
      }
    }
  });

const instant = z.iso.datetime({ offset: true }).transform((value) => new Date(value).toISOString());

export const campaignTag = text(LIMITS.campaignTagChars).min(1);

export const message = z
  .object({
    channel: z.enum(CHANNELS),
    uid: z.string().min(1).max(LIMITS.uidChars).regex(UID, 'Printable characters without spaces'),
    to: text(ADDRESS_CHARS_MAX),
    from: text(ADDRESS_CHARS_MAX),
    'template-id': id.optional(),
    params: params.optional(),
    body: text(LIMITS.jsonBodyBytes).optional(),
    version: z.int().positive().max(2_147_483_647).optional(),
    subject: line(SUBJECT_CHARS_MAX).optional(),
    sendAt: instant.optional(),
    expiresAt: instant.optional(),
    campaign: campaignTag.optional(),
    class: z.enum(['marketing', 'transactional']).default('marketing'),
    replyTo: line(ADDRESS_CHARS_MAX).optional(),
  })
  // `when`: fields that belong together are checked beside the others, so that all errors come at once.
  .superRefine(
    (value, context) => {
      const problem = (path: string, message: string) =>
        context.addIssue({ code: 'custom', path: [path], message });
      checkAddresses(value, problem);
      const stored = typeof value['template-id'] === 'string';
      const whole = value.channel === 'email' && isText(value.body) && isText(value.subject);
      if (!stored && !whole && value['template-id'] === undefined) {
        problem('template-id', 'Required, except for email with subject and body');
      }
      if (typeof value.sendAt === 'string') {
        const aheadMs = Date.parse(value.sendAt) - Date.now();
        if (aheadMs > LIMITS.sendAtDaysMax * DAY_MS) problem('sendAt', 'At most one year ahead');
      }
    },
    { when: ({ value }) => typeof value === 'object' && value !== null },
  )
  .transform((value) => ({
    ...value,
    // Checked above, so these answer.
    to: normalRecipient(value.channel, value.to) ?? value.to,
    from: normalSender(value.channel, value.from) ?? value.from,
    replyTo: value.replyTo === undefined ? undefined : normalMailbox(value.replyTo),
  }));

export type Message = z.output<typeof message>;

function checkAddresses(
  value: { channel: Channel; to: string; from: string; replyTo?: string | undefined },
  problem: (path: string, message: string) => void,
): void {
  const { channel, to, from, replyTo } = value;
  if (replyTo !== undefined && isText(replyTo) && !normalMailbox(replyTo)) {
    problem('replyTo', 'Must be an email address');
  }
  if (!CHANNELS.includes(channel)) return;
  if (isText(to) && !normalRecipient(channel, to)) {
    problem(
      'to',
      channel === 'email' ? 'Must be an email address' : 'Must be a phone number as in +15550100',
    );
  }
  if (isText(from) && !normalSender(channel, from)) problem('from', SENDER_RULE[channel]);
}

const SENDER_RULE: Record<Channel, string> = {
  email: 'Must be an email address, with a display name or without',
  sms: 'Must be a phone number, a short code of 3 to 8 digits, or at most 11 letters and digits',
  voice: 'Must be a phone number as in +15550100',
};

const isText = (value: unknown): value is string => typeof value === 'string';
/** Most values are short: counting bytes is left for those that could be too long. */
const isOver = (value: string, bytes: number) => value.length * 3 > bytes && Buffer.byteLength(value) > bytes;

/** The envelope alone: each message in it is judged by itself. */
export const bulk = z.object({ messages: z.array(z.unknown()).min(1).max(LIMITS.bulkMessages) });

export const messageKey = z.object({ uid: z.string().min(1).max(LIMITS.uidChars) });
export const holdKey = z.object({ campaign: campaignTag });

const limit = (standard: number) =>
  z.coerce.number().int().min(1).max(LIMITS.longPageSizeMax).default(standard);
const filter = text(ADDRESS_CHARS_MAX).optional();

export const messageList = z.object({
  channel: z.enum(CHANNELS).optional(),
  state: z.enum(MESSAGE_STATES).optional(),
  campaign: campaignTag.optional(),
  /** A time bounds when the message was accepted; anything else is an address. */
  from: filter,
  to: filter,
  cursor: id.optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.pageSizeMax).default(LIMITS.pageSizeDefault),
});
export type MessageList = z.output<typeof messageList>;

export const eventFeed = z.object({
  after: text(LIMITS.idChars).optional(),
  limit: limit(LIMITS.longPageSizeMax),
  wait: z.coerce.number().min(0).max(LIMITS.feedWaitSecondsMax).default(0),
});
