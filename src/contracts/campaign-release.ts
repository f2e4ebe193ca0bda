import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { GATE_METRICS } from '../domain/release';
import { INT_MAX, integer } from './common';
import { count, time } from './envelope';
import { finding } from './validation-issue';

/** Release in stages (docs/campaigns.md). */
const stage = z
  .strictObject({
    recipients: integer
      .min(1)
      .max(INT_MAX)
      .optional()
      .meta({ description: 'How many contacts the stage has, whatever their channels.' }),
    percent: z
      .number()
      .min(0)
      .max(100)
      .optional()
      .meta({ description: 'The same in percent of all contacts that were frozen, rounded up.' }),
    waitSeconds: integer.min(0).max(LIMITS.stageWaitSecondsMax).optional().meta({
      description:
        'Between the stage and the next one; without it the next one waits for `POST …/release`. The gates are judged after it.',
    }),
  })
  .superRefine(
    (value, context) => {
      const { recipients, percent } = value as { recipients?: unknown; percent?: unknown };
      if ((recipients === undefined) !== (percent === undefined)) return;
      const given = recipients !== undefined;
      context.addIssue(
        given
          ? finding('not_applicable', 'A stage has either recipients or percent', ['percent'])
          : finding('required', 'A stage needs its size: recipients or percent'),
      );
    },
    // Beside the other findings, not after them.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  );

const gate = z.strictObject({
  metric: z.enum(GATE_METRICS),
  above: z.number().min(0).max(1).meta({
    description:
      'The gate is closed above this share of what was handed over so far; of `suppressed`, of the contacts.',
  }),
  minSample: integer.min(1).max(INT_MAX).meta({ description: 'A smaller sample passes.' }),
});

const stages = z
  .array(stage)
  .min(1)
  .max(LIMITS.releaseStages)
  .superRefine(
    (value, context) => {
      if (!Array.isArray(value)) return;
      const percents = value.map((one: { percent?: unknown } | null) => one?.percent);
      const sum = percents.reduce<number>((all, one) => all + (typeof one === 'number' ? one : 0), 0);
      // A sum of tenths is not exact in binary.
      if (sum <= 100 + 1e-9) return;
      context.addIssue(finding('too_much', 'All stages together are more than 100 percent'));
    },
    { when: ({ value }) => Array.isArray(value) },
  );

const releaseFields = {
  stages,
  gates: z.array(gate).max(LIMITS.releaseGates).optional(),
  onGate: z.enum(['pause', 'cancel']).optional().meta({ description: '`pause` if left out.' }),
};

const asAnswered = z.unknown().optional().meta({ description: 'As it was answered; it says nothing here.' });

/** With how far it is, so that a campaign can be sent back as it was read. */
export const release = z
  .strictObject({
    ...releaseFields,
    ...{ stage: asAnswered, of: asAnswered, next: asAnswered, judged: asAnswered },
  })
  .transform(({ stage: _, of: __, next: ___, judged: ____, ...rule }) => rule)
  .meta({
    description:
      'A part of the audience first, in random order. What the stages leave is the last stage, which is not judged.',
  });

/** `POST …/release`: how many waits are left out, the one that comes or is on included. */
export const releaseBody = z
  .strictObject({
    stages: z
      .union([integer.min(1).max(INT_MAX), z.literal('all')])
      .optional()
      .meta({
        description: 'How many stages may begin; 1 if left out, and as many as there are if it is more.',
      }),
  })
  .optional();

export const releaseView = z
  .strictObject({
    ...releaseFields,
    stage: z.int().min(0).meta({ description: 'The stage that has begun last; 0 before the first.' }),
    of: z.int().min(2).meta({ description: 'How many there are, the last one with the rest included.' }),
    next: z
      .union([time, z.literal('manual')])
      .nullable()
      .meta({
        description:
          'When the next stage begins; `manual` when it waits for `POST …/release`; null while a stage is being sent, at a closed gate and after the last.',
      }),
    judged: z
      .array(
        z.strictObject({
          stage: z.int().min(1),
          at: time,
          metric: z.enum(GATE_METRICS),
          value: z.number().min(0),
          sample: count,
          passed: z.boolean(),
        }),
      )
      .meta({ description: 'What the gates came to, in order.' }),
  })
  .meta({ id: 'Release' });
