import { z } from 'zod';
import { ACCOUNT_KINDS } from '../domain/account';
import { PHASES } from '../domain/campaign';
import { RECIPIENT_STATES } from '../domain/recipient';
import { channel, count, id, perChannel, success, tally, time } from './envelope';

/** What goes on in a workspace (api.md 16). */
export const overview = success(
  z
    .strictObject({
      campaigns: z.array(
        z.strictObject({
          id,
          name: z.string(),
          phase: z.enum(PHASES),
          counts: perChannel(tally(['total', ...RECIPIENT_STATES])),
          ratePerSecond: z.number().min(0),
          eta: time.nullable().meta({ description: 'Null when it is not known.' }),
        }),
      ),
      outbox: z.array(
        z.strictObject({
          channel,
          due: count.meta({ description: 'Messages that are due and not with a provider.' }),
          oldestSeconds: count.meta({ description: 'How long the oldest of them has been due.' }),
          held: count.meta({ description: 'Of those, the ones that a hold or a stop keeps back.' }),
        }),
      ),
      accounts: z.array(
        z.strictObject({
          id,
          name: z.string(),
          kind: z.enum(ACCOUNT_KINDS),
          state: z.enum(['ok', 'paused', 'throttled']),
          reason: z.string().optional(),
          since: time,
        }),
      ),
      lastHour: perChannel(
        z.strictObject({
          sent: count,
          delivered: count,
          failed: count.meta({ description: 'Rejected and undelivered ones included.' }),
        }),
      ),
    })
    .meta({ id: 'Overview' }),
);
