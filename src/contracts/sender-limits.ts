import { z } from 'zod';
import { CHANNELS, type Channel } from '../domain/channel';
import { senderOf } from './addresses';
import { emptyAsAbsent, integer, pageQuery } from './common';
import { channel, count, pageOf, success, time } from './envelope';
import { finding } from './validation-issue';

/** What callers of the sender limit endpoints write. All of it is ours, so all of it is strict. */

const RATE_MAX = 100_000;
const givenChannel = z.enum(CHANNELS);
const givenCount = integer.min(1).max(RATE_MAX);

export const senderLimitBody = z
  .strictObject({
    channel: givenChannel,
    sender: z.string(),
    /** A second: emails, SMS segments or calls. Null or left out: not limited. */
    rate: z.number().positive().max(RATE_MAX).nullish(),
    burst: givenCount.nullish(),
    concurrentCalls: givenCount.nullish(),
  })
  .superRefine(
    (value, context) => {
      checkSender(value, context);
      if (value.channel !== 'voice' && typeof value.concurrentCalls === 'number') {
        context.addIssue(finding('not_applicable', 'Only voice has calls', ['concurrentCalls']));
      }
      if (typeof value.burst === 'number' && typeof value.rate !== 'number') {
        context.addIssue(finding('not_applicable', 'This needs a rate', ['burst']));
      }
    },
    // Beside the other fields' findings, so that all errors come at once.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  );

export const senderLimitQuery = z.object({
  page: pageQuery.page,
  limit: pageQuery.limit,
  channel: emptyAsAbsent(givenChannel.optional()),
});

export const senderLimitKey = z
  .object({
    channel: givenChannel,
    // A plus sign in a query string arrives as a space.
    sender: z.string().transform((value) => value.replace(/^ (?=\d)/, '+')),
  })
  .superRefine(checkSender);

function checkSender(value: { channel: Channel; sender: string }, context: z.core.$RefinementCtx): void {
  if (!CHANNELS.includes(value.channel) || typeof value.sender !== 'string') return;
  const checked = senderOf[value.channel].safeParse(value.sender);
  if (checked.success) value.sender = checked.data;
  else context.addIssue(finding('invalid_sender', 'This is not a sender of this channel', ['sender']));
}

const senderLimit = z
  .strictObject({
    channel,
    sender: z.string(),
    rate: z.number().nullable().meta({ description: 'A second: emails, SMS segments or calls.' }),
    burst: count.nullable(),
    concurrentCalls: count.nullable(),
    updatedAt: time,
  })
  .meta({ id: 'SenderLimit' });

export const senderLimits = pageOf(senderLimit);
export const savedSenderLimit = success(senderLimit);
export const liftedSenderLimit = success(z.strictObject({ channel }));
