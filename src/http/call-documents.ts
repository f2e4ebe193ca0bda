import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { FoundAccount } from '../messaging/carriers/callback-accounts';
import { AGAIN } from '../messaging/vendor-calls';
import type { CallFacts } from '../providers/vendor/call-control';
import type { VendorVoice } from '../providers/vendor/vendor';
import { callbackOf, type InboundVendorsDeps, takeBytes } from './inbound-vendors';
import { EXAMPLE } from './openapi/examples';
import type { Operation } from './openapi/operation';
import { OPEN } from './request/access';
import type { App } from './request/routing';

type Deps = Pick<InboundVendorsDeps, 'accounts' | 'calls' | 'publicUrl' | 'receiptsOf' | 'vendors' | 'log'>;

/**
 * What calls at vendors say, step by step. The token is known to the vendor alone, so that a request without a signature
 * is answered; a wrong signature means a caller who has the address and not the account.
 */
export function callDocumentRoutes(deps: Deps): (app: App) => void {
  const route = (operation: typeof readCallDocument) => ({
    config: { auth: 'open' } as const,
    schema: { operation, params: z.object({ token: z.string(), step: z.string() }) },
    bodyLimit: LIMITS.callbackBytes,
  });
  return (app) => {
    takeBytes(app);
    app.get('/calls/:token/:step', route(readCallDocument), (request, reply) => serve(deps, request, reply));
    app.post('/calls/:token/:step', route(readCallDocumentPosted), (request, reply) =>
      serve(deps, request, reply),
    );
  };
}

async function serve(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  const { token, step } = request.params as { token: string; step: string };
  const call = await deps.calls.accountOf(token);
  const voice = call && deps.vendors[call.kind]?.voice;
  const account = call && (await deps.accounts.find(call.kind, call.account_id));
  if (!voice || !account) throw nothing();
  const reading = voice.readRequest(callbackOf(request, deps.publicUrl()), account);
  if (reading.kind === 'refused')
    throw new DomainError(
      'forbidden',
      'The signature is not the carrier’s; compare the secret of the account with the carrier’s',
    );
  const next = await deps.calls.next(token, step, reading.facts);
  if (!next) throw nothing();
  await deps.receiptsOf(account.provider)(next.receipts);
  if (reading.isUnread) await leadOn(deps, voice, account, { token, facts: reading.facts });
  const { type, body } = voice.write(next.instructions, `${deps.publicUrl()}/calls/${next.path}`);
  return reply.type(type).header('cache-control', 'no-store').send(body);
}

/** The call goes on where it stands now; without it, when what it waits for is over. */
async function leadOn(
  deps: Deps,
  voice: VendorVoice,
  { id, settings, secrets: [present = {}] }: FoundAccount,
  { token, facts }: { token: string; facts: CallFacts },
): Promise<void> {
  if (facts.providerId === undefined) return;
  const url = `${deps.publicUrl()}/calls/${token}/${AGAIN}`;
  try {
    await voice.steer({ id, settings, secrets: present }, facts.providerId, { url });
  } catch (error) {
    deps.log.warn({ err: error }, 'A call could not be led on; it waits until its step is over');
  }
}

const nothing = () => new DomainError('not_found', 'There is nothing at this path');

const readCallDocument: Operation = {
  id: 'readCallDocument',
  access: OPEN,
  tag: 'Provider callbacks',
  summary: 'Go on with a call',
  description: `For vendors that make calls by documents: what the call says next. Each document names the address of the next one; the same request again is the same document. Without a signature it is served, because only the vendor knows the token; a wrong signature is 403. 10 minutes after the call's end it is gone.`,
  parameters: { token: EXAMPLE.callToken, step: 'start' },
  answers: {
    200: {
      description: 'The next step, in the language of the vendor.',
      content: {
        'text/xml': {
          schema: z.string(),
          example: '<?xml version="1.0" encoding="UTF-8"?><Response><Say>Hello</Say></Response>',
        },
      },
    },
  },
  errors: ['forbidden', 'not_found', 'overloaded', 'dependency_down'],
};

const readCallDocumentPosted: Operation = {
  ...readCallDocument,
  id: 'readCallDocumentPosted',
  description: 'The same, with what the callee entered in the body.',
};
