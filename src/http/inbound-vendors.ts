import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { answer } from '../contracts/common';
import { isMailVendor, isVendor, type MailVendor, type VendorKind } from '../domain/account';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import type { CallbackAccounts, FoundAccount } from '../messaging/carriers/callback-accounts';
import { type CommandedCall, commandAgain, commandNext } from '../messaging/commanded-calls';
import type { Delivery } from '../messaging/delivery';
import type { CallReport, VendorCalls } from '../messaging/vendor-calls';
import type { MailEventTools } from '../providers/mail-events/mail-events';
import { MAIL_SERVICES } from '../providers/mail-events/mail-services';
import type { InboundSink, ReceiptSink } from '../providers/provider';
import type { CallFacts } from '../providers/vendor/call-control';
import { errorClass } from '../providers/vendor/error-class';
import {
  type Callback,
  type CallbackReading,
  MESSAGE_PARAMETER,
  type Obedience,
  type Vendor,
  type VendorAccount,
  type VendorCommands,
} from '../providers/vendor/vendor';
import { EXAMPLE } from './openapi/examples';
import type { Operation } from './openapi/operation';
import { OPEN } from './request/access';
import type { App } from './request/routing';

export interface InboundVendorsDeps {
  accounts: CallbackAccounts;
  /** Takes the receipts of one provider, which is named by its account. */
  receiptsOf(provider: string): ReceiptSink;
  inboundOf(provider: string): InboundSink;
  sendersRefused: Delivery['sendersRefused'];
  /** How events of mail are proved. */
  mailTools: MailEventTools;
  /** The address that carriers were given, without a slash at its end. */
  publicUrl(): string;
  calls: VendorCalls;
  /** Every kind that messages can leave by. */
  vendors: Partial<Record<VendorKind, Vendor>>;
  log: Log;
}

/**
 * Callbacks of carriers with an API of their own, one address for each account. The account is found by its id, the body
 * is kept as it came, and the carrier's kind decides whether the signature is its own.
 */
export function inboundVendorRoutes(deps: InboundVendorsDeps): (app: App) => void {
  const route = (operation: typeof reportByVendor) => ({
    config: { auth: 'open' } as const,
    schema: { operation, params: z.object({ kind: z.string(), account: z.string() }) },
    bodyLimit: LIMITS.callbackBytes,
  });
  return (app) => {
    takeBytes(app);
    app.get('/inbound/:kind/:account', route(reportByVendor), (request, reply) => take(deps, request, reply));
    app.post('/inbound/:kind/:account', route(reportByVendorPosted), (request, reply) =>
      take(deps, request, reply),
    );
  };
}

/** Whatever a carrier sends, for the scope of these routes: a signature covers bytes. */
export function takeBytes(app: App): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
}

type Request = FastifyRequest & { params: unknown };

async function take(deps: InboundVendorsDeps, request: Request, reply: FastifyReply) {
  const { kind } = request.params as { kind: string };
  if (isMailVendor(kind)) return takeMailEvents(deps, kind, request);
  const { vendor, account } = await accountOf(deps, request.params as { kind: string; account: string });
  const reading = vendor.readCallback(callbackOf(request, deps.publicUrl()), account);
  if (reading.kind === 'refused') throw wrongSignature('carrier', account.id);
  if (reading.kind === 'unsigned') {
    const text = 'There is no signature; sent again with one, it is taken';
    throw new DomainError('dependency_down', text, { retryAfterSeconds: 1 });
  }
  await deps.receiptsOf(account.provider)(reading.receipts);
  await deps.sendersRefused(account.provider, refusalsAmong(vendor.kind, reading));
  for (const facts of reading.calls) await hear(deps, vendor, account, facts);
  await deps.inboundOf(account.provider)(reading.inbound);
  return reply.type(reading.reply.type).send(reading.reply.body);
}

const wrongSignature = (whose: 'carrier' | 'service', account: string) =>
  new DomainError(
    'forbidden',
    `The signature is not the ${whose}’s; compare the secrets of account ${account} with the ${whose}’s`,
  );

/**
 * A carrier may take a message and then refuse its sender, as for a number that is not registered. One that refuses the account
 * then goes on taking its messages, so that only closing their senders keeps the others.
 */
const refusalsAmong = (kind: VendorKind, { receipts, calls }: Extract<CallbackReading, { kind: 'read' }>) =>
  [
    ...receipts,
    ...calls.map(({ messageId, providerId, end }) => ({ id: messageId, providerId, code: end?.code })),
  ].flatMap(({ id, providerId, code }) =>
    code !== undefined && CLOSING.has(errorClass(kind, code)) ? [{ id, providerId, code }] : [],
  );

const CLOSING: ReadonlySet<ReturnType<typeof errorClass>> = new Set(['sender', 'account']);

/** Events of a mail service, at the account of kind `smtp` that names the service. */
async function takeMailEvents(deps: InboundVendorsDeps, service: MailVendor, request: Request) {
  const { account: id } = request.params as { account: string };
  const account = request.method === 'POST' ? await deps.accounts.find('smtp', id) : undefined;
  if (account?.settings.events !== service) {
    throw new DomainError('not_found', 'There is nothing at this path');
  }
  const callback = callbackOf(request, deps.publicUrl());
  const { get, ...tools } = deps.mailTools;
  const reading = await MAIL_SERVICES[service].read(callback, account, {
    ...tools,
    get: (url) =>
      get(url).catch((error: unknown) => {
        const text = 'What the proof needs cannot be fetched; send the event again';
        throw new DomainError('dependency_down', text, { cause: error });
      }),
  });
  if (reading.kind === 'unauthenticated') {
    throw new DomainError(
      'unauthenticated',
      `Name or password are not those of account ${account.id}; correct them at the service`,
    );
  }
  if (reading.kind === 'refused') throw wrongSignature('service', account.id);
  await deps.receiptsOf(account.provider)(reading.receipts);
  return answer(200, 'Taken', { receipts: reading.receipts.length, inbound: 0 });
}

/** Stores the receipts before it steers the call, and before the call may be forgotten. */
async function hear(
  deps: InboundVendorsDeps,
  vendor: Vendor,
  account: FoundAccount,
  facts: CallFacts,
): Promise<void> {
  const { receipts, isOver, steer, isRepeated } = await deps.calls.hear(account.provider, facts);
  await deps.receiptsOf(account.provider)(receipts);
  if (isOver && facts.messageId !== undefined) await deps.calls.ended(facts.messageId);
  if (facts.providerId === undefined) return;
  const { providerId } = facts;
  if (vendor.commands)
    return isOver ? undefined : command(deps, vendor.commands, account, { ...facts, providerId }, steer);
  // A command that is repeated is carried out once. A document that is fetched a second time is said from its beginning.
  if (!steer || isRepeated || !vendor.voice) return;
  const to = 'path' in steer ? { url: `${deps.publicUrl()}/calls/${steer.path}` } : steer;
  try {
    await vendor.voice.steer(presentOf(account), providerId, to);
  } catch (error) {
    deps.log.warn({ err: error }, 'A call could not be steered; it goes on as it is until its next step');
  }
}

/** Throws `dependency_down` for a command that was not taken: the carrier then sends the event again. */
async function command(
  deps: InboundVendorsDeps,
  commands: VendorCommands,
  { id, ...found }: FoundAccount,
  facts: CallFacts & { providerId: string },
  steer: CallReport['steer'],
): Promise<void> {
  const { messageId, providerId } = facts;
  if (messageId === undefined) return;
  const account = presentOf({ id, ...found });
  const callback = `${deps.publicUrl()}/inbound/${commands.kind}/${id}?${MESSAGE_PARAMETER}=${encodeURIComponent(messageId)}`;
  const call: CommandedCall = {
    ...{ calls: deps.calls, provider: found.provider, write: commands.write },
    take: deps.receiptsOf(found.provider),
    carryOut: (one, place) => commands.carryOut(account, { providerId, messageId, callback }, one, place),
  };
  if (steer && 'hangUp' in steer) return repeatable(await commands.hangUp(account, providerId));
  if (steer) repeatable(await commands.interrupt(account, providerId));
  const obeyed = await (steer ? commandAgain(call, facts) : commandNext(call, facts));
  repeatable(obeyed);
  if (obeyed !== 'refused') return;
  deps.log.warn(
    { account: id, messageId },
    'A carrier refuses a command for a call, which is therefore hung up',
  );
  repeatable(await commands.hangUp(account, providerId));
}

function repeatable(obeyed: Obedience | undefined): void {
  if (obeyed !== 'later') return;
  const text = 'The carrier did not take a command for the call; send the event again';
  throw new DomainError('dependency_down', text, { retryAfterSeconds: 1 });
}

const presentOf = ({ id, settings, secrets: [present = {}] }: FoundAccount): VendorAccount => ({
  ...{ id, settings, secrets: present },
});

async function accountOf(
  { accounts, vendors }: InboundVendorsDeps,
  { kind, account: id }: { kind: string; account: string },
): Promise<{ vendor: Vendor; account: FoundAccount }> {
  const vendor = isVendor(kind) ? vendors[kind] : undefined;
  const account = vendor && (await accounts.find(vendor.kind, id));
  if (!account) throw new DomainError('not_found', 'There is nothing at this path');
  return { vendor, account };
}

/** The address as the carrier has it: what stands in front of our path is known only to the operator. */
export function callbackOf({ raw, body, method }: FastifyRequest, publicUrl: string): Callback {
  const target = raw.url ?? '';
  const at = target.indexOf('?');
  return {
    method,
    url: publicUrl + target,
    query: new URLSearchParams(at < 0 ? '' : target.slice(at + 1)),
    headers: raw.headers,
    body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
  };
}

const reportByVendor: Operation = {
  id: 'reportByVendor',
  access: OPEN,
  tag: 'Provider callbacks',
  summary: 'Report by a vendor',
  description: `For Twilio and other carriers with an API of their own: \`kind\` is the account's, \`account\` its id. Status of messages and calls, and what subscribers write, in the vendor's own form and with its own signature, which covers the address: it is compared with \`FANFARE_PUBLIC_URL\`, path and query.

403 for a signature that is not the account's. Telling it again changes nothing, and it may come before the answer to what it is about.`,
  parameters: { kind: 'twilio', account: EXAMPLE.account },
  answers: {
    200: {
      description: 'Taken and stored, in the form that the vendor expects.',
      content: {
        'text/xml': { schema: z.string(), example: '<?xml version="1.0" encoding="UTF-8"?><Response/>' },
      },
    },
  },
  errors: ['forbidden', 'not_found', 'overloaded', 'dependency_down'],
};

const reportByVendorPosted: Operation = {
  ...reportByVendor,
  id: 'reportByVendorPosted',
  description: 'The same, with the fields in the body, as vendors do it unless they are told otherwise.',
};
