import { z } from 'zod';
import { answer } from '../contracts/common';
import { takenReceipts } from '../contracts/inbound';
import { kannelReport } from '../contracts/inbound-kannel';
import { DomainError } from '../domain/errors';
import { NO_OPTED_OUT_CODES, OPTED_OUT, type OptedOutCodes } from '../domain/opted-out-codes';
import { hashSecret, matchesHash } from '../messaging/access/secrets';
import type { InboundSink, Receipt, ReceiptSink } from '../providers/provider';
import { ABOUT_SENDER } from '../providers/smpp/statuses';
import { answered, EXAMPLE } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { OPEN } from './request/access';
import type { App } from './request/routing';
import { invalidRequest } from './request/validation';

export interface InboundKannelDeps {
  secret: string;
  takeReceipts: ReceiptSink;
  takeInbound: InboundSink;
  /** Receipts by which the centre refuses the senders of their messages. */
  sendersRefused(receipts: readonly { id: string | undefined; code: string }[]): Promise<void>;
  /** The operator's codes for an opted-out subscriber. */
  optedOut?: OptedOutCodes | undefined;
}

/**
 * Takes Kannel's reports about messages of the provider `kannel`, and what subscribers write. Everything is in
 * the query, because `dlr-url` and `get-url` can fill only that. After an error status Kannel repeats the
 * request, if it is configured to (docs/sms.md).
 */
export function inboundKannelRoutes(deps: InboundKannelDeps): (app: App) => void {
  const expected = hashSecret(deps.secret);
  const route = (operation: typeof reportByKannel) => ({
    config: { auth: 'open' } as const,
    schema: { operation, params: z.object({ secret: z.string() }), querystring: kannelReport },
    onRequest: async (request: { params: unknown }) => {
      const { secret } = request.params as { secret: string };
      if (!matchesHash(secret, expected)) throw new DomainError('not_found', 'There is nothing at this path');
    },
  });

  return (app) => {
    app.get('/inbound/kannel/:secret', route(reportByKannel), ({ query }) => take(deps, query));
    app.post('/inbound/kannel/:secret', route(reportByKannelPosted), ({ query }) => take(deps, query));
  };
}

async function take(deps: InboundKannelDeps, report: z.output<typeof kannelReport>) {
  const { id, dlr, from, to, text, time } = report;
  if (dlr !== undefined) {
    const receipt = receiptOf(report, Number(dlr), deps.optedOut ?? NO_OPTED_OUT_CODES);
    if (receipt) await deps.takeReceipts([receipt]);
    if (receipt?.code !== undefined && ABOUT_SENDER.has(receipt.code))
      await deps.sendersRefused([{ id, code: receipt.code }]);
    return answer(200, 'Taken', { receipts: receipt ? 1 : 0, inbound: 0 });
  }
  if (from === undefined || to === undefined) {
    const path = from === undefined ? 'from' : 'to';
    throw invalidRequest([{ path, code: 'required', message: 'Needed, unless this is a receipt with dlr' }]);
  }
  await deps.takeInbound([{ id, from, to, text: text ?? '', at: time }]);
  return answer(200, 'Taken', { receipts: 0, inbound: 1 });
}

/** The kinds that `dlr-mask` can ask for. The others, 4, 8 and 32, do not end a message. */
const KINDS: Record<number, Receipt['type']> = { 1: 'delivered', 2: 'undelivered', 16: 'rejected' };
/** Kannel reports every message that was not delivered as undelivered, and adds the centre's own words. */
const WORDS: readonly [RegExp, Receipt['type']][] = [
  [/\bstat:EXPIR/i, 'expired'],
  [/\bstat:DELETE/i, 'failed'],
  [/\bstat:REJEC/i, 'rejected'],
];

function receiptOf(
  { id, answer: words = '', time }: z.output<typeof kannelReport>,
  kind: number,
  optedOut: OptedOutCodes,
): Receipt | undefined {
  const known = KINDS[kind];
  if (!known) return undefined;
  const type = kind === 2 ? (WORDS.find(([pattern]) => pattern.test(words))?.[1] ?? known) : known;
  if (type === 'delivered') return { id, type, at: time };
  const { code, hasOptedOut } = codeIn(words, optedOut);
  return hasOptedOut
    ? { id, type, code: OPTED_OUT, at: time, data: { carrierCode: code } }
    : { id, type, code, at: time };
}

/** `NACK/0x0000000b/Invalid Destination Address` or a receipt's text; the codes are those of the provider `smpp`. */
function codeIn(words: string, optedOut: OptedOutCodes) {
  const state = /\bstat:(\w{1,10})/i.exec(words)?.[1]?.toLowerCase();
  const status = /0x0*([\da-f]+)/i.exec(words)?.[1];
  // The ids of some centres begin with 0x as well.
  if (state === undefined && status !== undefined) {
    const code = `smpp_0x${status.toLowerCase().padStart(2, '0')}`;
    return { code, hasOptedOut: optedOut.hasStatus(Number.parseInt(status, 16)) };
  }
  const error = /\berr:(\w{1,20})/i.exec(words)?.[1];
  if (state === undefined) return { code: undefined, hasOptedOut: false };
  const code = `smpp_${state}${error && !/^0*$/.test(error) ? `_${error}` : ''}`;
  return { code, hasOptedOut: optedOut.hasError(error) };
}

const reportByKannel: Operation = {
  id: 'reportByKannel',
  access: OPEN,
  tag: 'Provider callbacks',
  summary: 'Report by Kannel',
  description: `For Kannel, everything in the query. With \`dlr\` it is a receipt, of the kind that \`%d\` gives, about the message \`id\`; Kannel is given the address with every message. Without, it is what a subscriber has written, for the \`get-url\` of an \`sms-service\`: \`?from=%p&to=%P&text=%a&id=%I&time=%T\`. Known by the secret in the path.

200 means taken and stored. Telling it again changes nothing.`,
  parameters: {
    secret: EXAMPLE.inboundSecret,
    id: EXAMPLE.smsMessage,
    dlr: '1',
    answer: 'id:17 sub:001 dlvrd:001 stat:DELIVRD err:000',
    time: '1795255200',
  },
  answers: { 200: json('Taken.', takenReceipts, answered(200, 'Taken', { receipts: 1, inbound: 0 })) },
  errors: ['overloaded', 'dependency_down'],
};

const reportByKannelPosted: Operation = {
  ...reportByKannel,
  id: 'reportByKannelPosted',
  access: OPEN,
  description: 'The same as by GET, for a Kannel that posts; the body is passed over.',
  parameters: {
    secret: EXAMPLE.inboundSecret,
    id: 'kannel-18',
    from: '+12025550123',
    to: '12345',
    text: 'STOP',
  },
  answers: { 200: json('Taken.', takenReceipts, answered(200, 'Taken', { receipts: 0, inbound: 1 })) },
};
