import { z } from 'zod';
import { STEPS } from '../../domain/explanation';
import { LIMITS } from '../../domain/limits';
import { SKIP_REASONS } from '../../domain/recipient';
import { WAIT_WHYS } from '../../domain/wait-reasons';
import { recipient } from './campaigns';
import { channel, cursorPageOf, id, success, time } from './envelope';

/** What the endpoints that explain answer (api.md 19). */
const reason = z.enum(SKIP_REASONS);
const evidence = z.string().meta({ description: 'A sentence that can be read out.' });

const explanation = z.strictObject({
  recipient: recipient.nullable(),
  skipped: z
    .strictObject({ channel, reason, evidence })
    .optional()
    .meta({ description: 'Set where the contact did not become a recipient.' }),
  summary: z.string().meta({ description: 'Sentences that can be read out.' }),
  next: z
    .strictObject({
      at: time
        .optional()
        .meta({ description: 'When the recipient goes on; left out where that is not known.' }),
      why: z.enum(WAIT_WHYS),
      detail: z.string(),
    })
    .nullable()
    .meta({ description: 'Null when nothing is next.' }),
  steps: z
    .array(
      z.strictObject({
        at: time,
        what: z.enum(STEPS),
        code: z.string().optional(),
        detail: z.string(),
        data: z.record(z.string(), z.unknown()).optional(),
      }),
    )
    .meta({ description: 'Oldest first.' }),
});

export const recipientExplanation = success(explanation.meta({ id: 'Explanation' }));

export const personExplanation = success(
  explanation
    .extend({
      others: z
        .array(id)
        .max(LIMITS.explainedOthers)
        .meta({ description: 'The person’s other recipients in the campaign, newest run first.' }),
    })
    .meta({ id: 'PersonExplanation' }),
);

export const skippedContacts = cursorPageOf(
  z
    .strictObject({
      contactId: id,
      channel,
      address: z.string().nullable().meta({
        description: 'The one that was judged; null without one, and for runs of earlier releases.',
      }),
      reason,
      evidence,
    })
    .meta({ id: 'SkippedContact' }),
);
