import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import { ROLES } from '../domain/task-queues';
import { id, success, time } from './envelope';

/** Answers about the process itself, which need no credentials, and answers to carriers. */
export const alive = z.strictObject({ status: z.literal('ok') });

export const ready = z.strictObject({
  status: z.literal('ready'),
  checks: z
    .record(z.string(), z.literal(true))
    .meta({ description: 'What the process depends on, by name.' }),
  accounts: z
    .array(
      z.strictObject({
        channel: z.enum(CHANNELS),
        kind: z.string(),
        account: id.optional(),
        state: z.enum(['ok', 'paused', 'throttled']),
        reason: z.string().optional(),
        since: z.iso.datetime().optional(),
        nextTryAt: z.iso.datetime().optional(),
      }),
    )
    .meta({
      description:
        'The accounts at the carriers. While one is `paused` its carrier refuses it: messages wait, and single ones are tried until one is taken. `throttled`: the carrier asked for a pause.',
    }),
});

/** What an owner sees of the installation as a whole. */
export const installation = success(
  z
    .strictObject({
      version: z.string().meta({ description: 'Of Fanfare, in the process that answers.' }),
      node: z.string(),
      processes: z
        .array(
          z.strictObject({
            id,
            host: z.string().meta({ description: 'Name of its machine or container.' }),
            pid: z.int(),
            roles: z.array(z.enum(['http', ...ROLES])).meta({
              description: '`http` serves the API and hands messages over; the others are workers.',
            }),
            version: z.string(),
            buildId: z.string().nullable().meta({ description: 'As `FANFARE_WORKER_BUILD_ID` names it.' }),
            startedAt: time,
            lastSeenAt: time,
            state: z.enum(['lives', 'silent']).meta({
              description: '`silent`: no sign of life for a minute, because it was killed or cut off.',
            }),
            answers: z.boolean().meta({ description: 'It is the one that answers this request.' }),
          }),
        )
        .meta({ description: 'Those that live first, oldest first, at most 200.' }),
      database: z.strictObject({
        version: z.string(),
        schema: z.string().meta({ description: 'The newest migration.' }),
        isManaged: z.boolean().meta({ description: 'Fanfare runs it by itself.' }),
      }),
      temporal: z.strictObject({
        address: z.string(),
        namespace: z.string(),
        version: z.string().nullable().meta({ description: 'Null while it does not answer.' }),
        uiUrl: z.string().nullable().meta({
          description: 'Of its web UI: as `FANFARE_TEMPORAL_UI` names it, or the managed server’s.',
        }),
      }),
    })
    .meta({ id: 'Installation' }),
);
