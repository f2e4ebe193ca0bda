import { z } from 'zod';
import { CHANNELS, type Channel } from '../domain/channel';
import type { FieldCode } from '../domain/field-codes';
import {
  SUPPRESSION_CHANNELS,
  SUPPRESSION_SOURCES,
  type Suppression,
  senderKey,
} from '../domain/suppression';
import { recipientOf, searchedAddress, senderOf } from './addresses';
import { emptyAsAbsent, pageQuery, searchTerm } from './common';
import { count, id, importReport, pageOf, success, time } from './envelope';
import { finding, refused } from './validation-issue';

/**
 * What callers of the suppression endpoints write (api.md 9). All of it is ours, so all of it is strict.
 *
 * `scope` says whose messages a block stops: `workspace`, everybody's, which is meant when it is left out,
 * or `sender:<from>`, those of one sender. With a word in front, no sender can be mistaken for another
 * scope, and there is room for more kinds.
 */
const REASON_CHARS_MAX = 200;
const SENDER_SCOPE = /^sender:(.+)$/i;
/** A reason is shown in one line, and stands in a CSV. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: to refuse them is the point.
const CONTROL = /[\u0000-\u001f\u007f]/;

const channel = z.enum(SUPPRESSION_CHANNELS);
const reason = z
  .string()
  .trim()
  .min(1)
  .max(REASON_CHARS_MAX)
  .refine(
    (value) => !CONTROL.test(value),
    refused('control_character', 'This holds line breaks or other control characters'),
  );
const scope = z.string().trim().max(600);

export const suppressionBody = z
  .strictObject({ channel, address: z.string(), reason, scope: scope.optional() })
  .superRefine(
    (value, context) =>
      checkKey(value, (path, code, message) => context.addIssue(finding(code, message, [path]))),
    // Beside the other fields' findings, so that all errors come at once.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  )
  .transform(toBlock);

/** A row of a CSV: every value is text, and an empty one was not given. */
export const suppressionRow = z.preprocess(
  (values) =>
    Object.fromEntries(
      Object.entries(values as Record<string, string>)
        .map(([name, value]) => [name, name === 'channel' ? value.trim().toLowerCase() : value.trim()])
        .filter(([, value]) => value !== ''),
    ),
  suppressionBody,
);

export const suppressionQuery = z.object({
  ...pageQuery,
  channel: emptyAsAbsent(channel.optional()),
  search: emptyAsAbsent(searchTerm.transform(searchedAddress).optional()),
});

/** Without a scope, the blocks of every scope. */
export const suppressionKey = z
  .object({
    channel,
    address: z.string().transform(plusInQuery),
    scope: emptyAsAbsent(scope.transform(plusInQuery).optional()),
  })
  .superRefine((value, context) =>
    checkKey(value, (path, code, message) => context.addIssue(finding(code, message, [path]))),
  )
  .transform((value) => ({ ...toBlock({ ...value, reason: '' }), anySender: value.scope === undefined }));

/** The scope as callers write it. */
export const scopeOf = (sender: string): string => (sender === '' ? 'workspace' : `sender:${sender}`);

type Problem = (path: string, code: FieldCode, message: string) => void;

/** Normalises the address as for sending; what an address may be depends on the channel. */
function checkKey(
  value: { channel: Channel | 'all'; address: string; scope?: string | undefined },
  problem: Problem,
): void {
  if (!SUPPRESSION_CHANNELS.includes(value.channel)) return;
  const channels = value.channel === 'all' ? CHANNELS : [value.channel];
  if (typeof value.address === 'string') {
    const address = firstValid(
      channels.map((one) => recipientOf[one]),
      value.address,
    );
    if (address === undefined) problem('address', 'invalid_address', ADDRESS_HINT[value.channel]);
    else value.address = address;
  }
  if (typeof value.scope !== 'string' || isWorkspace(value.scope)) return;
  const sender = SENDER_SCOPE.exec(value.scope)?.[1];
  const valid =
    sender === undefined
      ? undefined
      : firstValid(
          channels.map((one) => senderOf[one]),
          sender,
        );
  if (valid === undefined)
    problem('scope', 'invalid_sender', 'This must be workspace, or sender: and a sender of this channel');
  else value.scope = `sender:${valid}`;
}

const ADDRESS_HINT: Record<Channel | 'all', string> = {
  email: 'This must be an email address',
  sms: 'This must be a phone number such as +14155550123',
  voice: 'This must be a phone number such as +14155550123',
  all: 'This must be an email address, or a phone number such as +14155550123',
};

function firstValid(schemas: readonly z.ZodType<string, string>[], value: string): string | undefined {
  for (const schema of schemas) {
    const checked = schema.safeParse(value);
    if (checked.success) return checked.data;
  }
  return undefined;
}

const isWorkspace = (value: string) => value === '' || value.toLowerCase() === 'workspace';

function toBlock(value: {
  channel: Channel | 'all';
  address: string;
  reason: string;
  scope?: string | undefined;
}): Suppression {
  const sender = SENDER_SCOPE.exec(value.scope ?? '')?.[1];
  return {
    channel: value.channel,
    address: value.address,
    reason: value.reason,
    sender: sender === undefined ? undefined : senderKey(sender),
  };
}

/** A plus sign in a query string arrives as a space. */
function plusInQuery(value: string): string {
  return value.replace(/^((?:sender:)?) (?=\d)/, '$1+');
}

/** What the endpoints of suppression and of senders' limits answer (api.md 9). */
const suppression = z
  .strictObject({
    id,
    channel: z.enum(SUPPRESSION_CHANNELS),
    address: z.string().nullable().meta({ description: 'Null for a person who was erased: a hash is kept.' }),
    reason: z.string(),
    scope: z.string().meta({ description: '`workspace`, or `sender:` and one sender.' }),
    source: z.enum(SUPPRESSION_SOURCES),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Suppression' });

export const suppressed = success(suppression);
export const suppressions = pageOf(suppression);
export const importedSuppressions = success(importReport);
export const liftedSuppression = success(
  z.strictObject({
    removed: count,
    stillSuppressed: z
      .boolean()
      .meta({ description: 'Another block, of another channel or sender, still covers the address.' }),
  }),
);
