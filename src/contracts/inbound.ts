import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { RECEIPT_STATE, type ReceiptType } from '../domain/message';
import { instant } from './common';
import { count, success } from './envelope';
import { refused } from './validation-issue';

/** Reports of carriers (api.md 12). Members that are not listed here are ignored. */
const TYPES = (Object.keys(RECEIPT_STATE) as ReceiptType[]).filter((type) => type !== 'sent');

/** Cut as the one in a carrier's answer is, so that the two still meet. */
const carrierId = z
  .union([z.string().min(1), z.number()])
  .transform((value) => String(value).slice(0, LIMITS.providerIdChars));
const data = z
  .record(z.string(), z.unknown())
  .refine(
    (value) => JSON.stringify(value).length <= LIMITS.receiptDataChars,
    refused('too_large', 'This is too large'),
  );

/** Many carriers write null for what they do not know. A refusal would lose the rest of the receipt. */
const known = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

const receipt = z
  .object({
    id: known(z.string().min(1).max(LIMITS.idChars)),
    providerId: known(carrierId),
    type: z.enum(TYPES),
    code: known(z.union([z.string(), z.number()]).transform((value) => String(value).slice(0, 200))),
    at: known(instant),
    data: known(data),
  })
  .refine(({ id, providerId }) => id !== undefined || providerId !== undefined, {
    path: ['id'],
    ...refused('required', 'Either id or providerId is needed, to say which message this is about'),
  });

const inboundSms = z.object({
  type: z.literal('inbound'),
  id: carrierId,
  from: z.string().min(1).max(64),
  to: z.string().min(1).max(64),
  text: z.string(),
  at: known(instant),
});

/** One entry. It is checked by itself, so that a wrong one does not keep the others from being taken. */
export const inboundEntry = z.discriminatedUnion('type', [receipt, inboundSms], {
  error: 'This must be a type of receipt, or inbound',
});

export const inboundBody = z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())], {
  error: 'This must be an object or an array of objects',
});

export const takenReceipts = success(z.strictObject({ receipts: count, inbound: count }));
