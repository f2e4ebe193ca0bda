import { z } from 'zod';
import { LIMITS } from '../domain/limits';

/** messaging-service.md, Create token. */
export const tokenBody = z.object({
  grant_type: z.literal('client_credentials'),
  valid_hour: z.int().min(1).max(LIMITS.tokenHoursMax).default(LIMITS.tokenHoursDefault),
});

/** RFC 7009, 2.1. There is one type of token, so `token_type_hint` and whatever else is sent are ignored. */
export const revokeBody = z.object({ token: z.string().min(1).max(LIMITS.tokenChars) });

/**
 * Capabilities of this service beyond the specification. The token answer lists them, because every client
 * reads it.
 */
export const CAPABILITIES = ['bulk', 'checks', 'events', 'holds', 'idempotent', 'stories'] as const;

/** `YYYY-MM-DD HH:MM:SS`, in UTC. */
export function validTill(date: Date): string {
  return date.toISOString().slice(0, 19).replace('T', ' ');
}

export const issuedToken = z
  .strictObject({
    access_token: z.string(),
    valid_till: z
      .string()
      .regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/)
      .meta({ description: 'UTC.' }),
    token_type: z.literal('Bearer'),
    expires_in: z.int().min(0).meta({ description: 'Seconds.' }),
    capabilities: z
      .array(z.enum(CAPABILITIES))
      .meta({ description: 'What this service does beyond the specification.' }),
  })
  .meta({ id: 'AccessToken' });

export const nothing = z.strictObject({});
