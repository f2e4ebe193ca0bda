import { z } from 'zod';
import { answer } from '../contracts/common';
import { inboundBody, inboundEntry, takenReceipts } from '../contracts/inbound';
import { DomainError, type FieldError, isDomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import { hashSecret, matchesHash } from '../messaging/access/secrets';
import type { InboundSink, ReceiptSink } from '../providers/provider';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { OPEN } from './request/access';
import type { App } from './request/routing';
import { findUnstorable } from './request/unstorable-text';
import { invalidRequest, parseBody } from './request/validation';

export interface InboundRoutesDeps {
  secret: string;
  /** Takes receipts for the `http` provider; after a rejection the carrier sends them again. */
  takeReceipts: ReceiptSink;
  /** The same for what subscribers write. */
  takeInbound: InboundSink;
}

/** api.md 12: reports of carriers behind the HTTP provider, one object or many. */
export function inboundRoutes({ secret, takeReceipts, takeInbound }: InboundRoutesDeps): (app: App) => void {
  const expected = hashSecret(secret);

  return (app) => {
    app.post(
      '/inbound/http/:secret',
      {
        config: { auth: 'open', checksEach: '' },
        schema: { operation: reportReceipts, params: z.object({ secret: z.string() }), body: inboundBody },
        onRequest: async (request) => {
          const { secret: given } = request.params as { secret: string };
          if (!matchesHash(given, expected))
            throw new DomainError('not_found', 'There is nothing at this path');
        },
      },
      async (request) => {
        const { entries, errors } = sort(request.body);
        const receipts = entries.flatMap((entry) => (entry.type === 'inbound' ? [] : [entry]));
        for (let i = 0; i < receipts.length; i += LIMITS.receiptBatch) {
          await takeReceipts(receipts.slice(i, i + LIMITS.receiptBatch));
        }
        const inbound = entries.filter((entry) => entry.type === 'inbound');
        await takeInbound(inbound);
        // The others are stored by now. Sent again with the corrected ones, they change nothing.
        if (errors.length > 0) throw invalidRequest(errors);
        return answer(200, 'Taken', { receipts: receipts.length, inbound: inbound.length });
      },
    );
  };
}

type Entry = z.output<typeof inboundEntry>;

function sort(body: z.output<typeof inboundBody>): { entries: Entry[]; errors: FieldError[] } {
  const entries: Entry[] = [];
  const errors: FieldError[] = [];
  const all = Array.isArray(body) ? body : [body];
  for (const [i, one] of all.entries()) {
    try {
      const unstorable = findUnstorable(partiesOf(one));
      entries.push(parseBody(inboundEntry, one, unstorable && [unstorable]));
    } catch (error) {
      if (!isDomainError(error)) throw error;
      const at = Array.isArray(body) ? [i] : [];
      const found = error.errors.map((field) => ({
        ...field,
        path: [...at, field.path].filter((part) => part !== '').join('.'),
      }));
      if (errors.length < LIMITS.importErrorsListed) errors.push(...found);
    }
  }
  return { entries, errors };
}

/**
 * What the database is asked for. Receipts are cleaned when they are stored, and an SMS is only read, so that a wish to
 * opt out counts whatever characters are around it.
 */
function partiesOf(entry: unknown): unknown {
  const { type, from, to } = (entry ?? {}) as { type?: unknown; from?: unknown; to?: unknown };
  return type === 'inbound' ? { from, to } : undefined;
}

const reportReceipts: Operation = {
  id: 'reportReceipts',
  access: OPEN,
  tag: 'Provider callbacks',
  summary: 'Report what became of messages',
  description: `For the carrier behind the HTTP provider: one object or an array of them, in any order, as often as it likes and as early as it likes, even before its answer to the hand-over. Known by the secret in the path.

- A receipt names its message by \`id\`, the one that came with the hand-over, or by \`providerId\`, the one the carrier answered with. Its \`type\` is \`delivered\`, \`undelivered\`, \`failed\`, \`expired\` or \`rejected\`, and of a call also \`ringing\`, \`answered\`, \`machine\`, \`human\`, \`digits\`, \`recording\`, \`completed\`, \`busy\`, \`no_answer\` or \`canceled\`.
- An SMS from a subscriber has the type \`inbound\`.

200 means taken and stored. Entries that are wrong are named in a 422, and the others are taken nevertheless; telling all of them again changes nothing.`,
  parameters: { secret: EXAMPLE.inboundSecret },
  body: jsonBody(
    inboundBody,
    {
      receipt: { id: EXAMPLE.smsMessage, type: 'delivered', at: EXAMPLE.at },
      several: [
        { providerId: 'carrier-17', type: 'completed', data: { answeredBy: 'human', durationMs: 14_200 } },
        { type: 'inbound', id: 'carrier-18', from: '+12025550123', to: '12345', text: 'STOP' },
      ],
    },
    z.union([inboundEntry, z.array(inboundEntry)]),
  ),
  answers: { 200: json('Taken.', takenReceipts, answered(200, 'Taken', { receipts: 1, inbound: 0 })) },
  errors: ['overloaded', 'dependency_down'],
};
