import { z } from 'zod';
import { CHANNELS, type Channel } from '../domain/channel';
import { senderOf } from './addresses';
import { emptyAsAbsent, integer, pageQuery } from './common';
import { finding } from './finding';

/** What callers of the sender limit endpoints write. All of it is ours, so all of it is strict. */

const RATE_MAX = 100_000;
const channel = z.enum(CHANNELS);
const count = integer.min(1).max(RATE_MAX);

export const senderLimitBody = z
  .strictObject({
    channel,
    sender: z.string(),
    /** A second: emails, SMS segments or calls. Null or left out: not limited. */
    rate: z.number().positive().max(RATE_MAX).nullish(),
    burst: count.nullish(),
    concurrentCalls: count.nullish(),
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
  channel: emptyAsAbsent(channel.optional()),
});

export const senderLimitKey = z
  .object({
    channel,
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
