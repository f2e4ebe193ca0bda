import { z } from 'zod';
import { answer } from '../../contracts/common';
import { inboundBody, inboundEntry } from '../../contracts/inbound';
import { DomainError, type FieldError, isDomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { hashSecret, matchesHash } from '../../messaging/access/secrets';
import type { InboundSink, ReceiptSink } from '../../providers/provider';
import { reportReceipts } from '../operations/service';
import type { App } from '../routing';
import { invalidRequest, parseBody } from '../validation';

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
        config: { auth: 'open' },
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
      entries.push(parseBody(inboundEntry, one));
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
