import { z } from 'zod';
import { CALL_OUTCOMES } from '../domain/call-policy';
import { count, success, time } from './envelope';

const outcome = z.enum(CALL_OUTCOMES);

export const callSummary = success(
  z
    .strictObject({
      calls: count,
      open: count.meta({ description: 'Calls whose end is not known yet.' }),
      carrierFaults: count.meta({
        description: 'Calls that their carrier could not place. They are `failed`, and no attempts.',
      }),
      outcomes: z.partialRecord(outcome, count),
    })
    .meta({ id: 'CallSummary' }),
);

/** One call of a recipient. */
export const call = z
  .strictObject({
    attempt: z.int().min(1),
    uid: z.string(),
    placedAt: time,
    answeredAt: time.nullable(),
    endedAt: time.nullable(),
    outcome: outcome.nullable().meta({ description: 'Null while it goes on.' }),
    code: z.string().nullable(),
    answeredBy: z.string().nullable(),
    durationMs: count.nullable(),
    digits: z.string().nullable(),
    branch: z
      .unknown()
      .meta({ description: 'As the provider reports it; so are `said`, `recording` and `documents`.' }),
    said: z.unknown(),
    recording: z.unknown(),
    documents: z.unknown().meta({ description: 'Other documents than its template, where it went on.' }),
  })
  .meta({ id: 'Call' });
