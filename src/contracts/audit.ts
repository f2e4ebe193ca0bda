import { z } from 'zod';
import { AUDIT_ACTIONS } from '../audit/actions';
import { LIMITS } from '../domain/limits';
import { emptyAsAbsent, pageLimit, queriedInstant } from './common';
import { success, time } from './envelope';
import { refused } from './validation-issue';

/** The audit log as administrators read it (api.md 17). */

const filter = z.string().max(LIMITS.idChars);

export const auditQuery = z.strictObject({
  cursor: z
    .string()
    .refine(
      (value) => /^[1-9][0-9]{0,14}$/.test(value),
      refused(
        'invalid_cursor',
        'This is no cursor of this list; send `next` of an earlier page, or none for the first page',
      ),
    )
    .meta({ description: '`next` of the page before.' })
    .optional(),
  limit: emptyAsAbsent(pageLimit().default(LIMITS.pageSizeMax)),
  order: emptyAsAbsent(z.enum(['newest', 'oldest']).default('newest')),
  actor: emptyAsAbsent(filter.optional()).meta({ description: 'An id, or one of the kinds.' }),
  action: emptyAsAbsent(filter.optional()).meta({ description: 'One of docs/audit.md.' }),
  object: emptyAsAbsent(filter.optional()).meta({ description: 'An id, or a kind such as `campaign`.' }),
  from: queriedInstant,
  to: queriedInstant,
});

const hash = z.string().regex(/^[0-9a-f]{64}$/);

const entry = z
  .strictObject({
    id: z.string(),
    at: time,
    actor: z.strictObject({
      kind: z.enum(['user', 'client', 'key', 'system']),
      id: z.string().nullable(),
    }),
    address: z
      .string()
      .nullable()
      .meta({ description: 'Of the caller; null for what Fanfare does by itself.' }),
    requestId: z.string().nullable(),
    action: z.enum(AUDIT_ACTIONS),
    object: z.strictObject({ kind: z.string(), id: z.string().nullable() }),
    result: z.enum(['ok', 'refused', 'failed']),
    detail: z.record(z.string(), z.unknown()).meta({ description: 'Ids and choices, by action.' }),
    prev: hash.nullable().meta({ description: 'The hash of the entry before; null at the first.' }),
    hash: hash.meta({ description: 'SHA-256 of the RFC 8785 JSON of the entry without this member.' }),
  })
  .meta({ id: 'AuditEntry' });

export const auditEntries = z.strictObject({
  result: z.literal('success'),
  status: z.int(),
  message: z.string(),
  data: z.array(entry),
  next: z.string().nullable(),
});

export const auditChain = success(
  z
    .strictObject({
      written: z.int().min(0).meta({ description: 'Entries ever written.' }),
      last: hash.nullable().meta({ description: 'The hash of the newest entry.' }),
      start: z
        .strictObject({ prev: hash, entries: z.int().min(1), cutAt: time })
        .nullable()
        .meta({
          description:
            'Where retention has cut the chain: the hash before the first entry that is kept, and how many were deleted. Null while all are kept.',
        }),
    })
    .meta({ id: 'AuditChain' }),
);
