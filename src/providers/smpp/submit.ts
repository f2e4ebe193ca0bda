import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { BoundedCache } from '../../domain/bounded-cache';
import { LIMITS } from '../../domain/limits';
import { messageReference } from '../../domain/message-reference';
import { OPTED_OUT, type OptedOutCodes } from '../../domain/opted-out-codes';
import type { HandOver, HandOverResult, MayLeave } from '../provider';
import { smppAddress } from './address';
import { encodeSms, encodeWhole, PARTS_MAX, type SmsPart } from './encode-sms';
import { newPdu, type Pdu } from './library';
import type { SentPart } from './part-ids';
import type { SentMessage } from './parts';
import type { NoSlot, Pool } from './pool';
import type { Answer } from './session';
import { ABOUT_TLVS, ACCEPTED, isThrottle, resultOfStatus, statusCode } from './statuses';

export interface SubmitDeps {
  pool: Pool;
  longAsPayload: boolean;
  /** Every submit_sm carries a reference, by which a receipt finds its message when the answer is lost. */
  sendsReference: boolean;
  tlvs: Record<string, Buffer>;
  optedOut: OptedOutCodes | undefined;
  /** As soon as the centre has answered, and before its receipts are looked at. */
  onPart(part: SentPart): void;
  log: Logger | undefined;
}

/** `long`: what is to be kept of a message that went out in several parts. */
export interface Submitted {
  result: HandOverResult;
  long?: SentMessage | undefined;
}

/** What became of one part. */
type PartOutcome = { kind: 'accepted'; partId: string } | Exclude<HandOverResult, { kind: 'accepted' }>;

/** Whether the message may still leave, asked when there is room for it in a window. */
type MayBegin = () => boolean;

/** Fields of a submit_sm, without the text. */
type Fields = Readonly<Record<string, unknown>>;

/** ESME_RINVEXPIRY */
const INVALID_VALIDITY = statusCode(0x62);
const UDH_INDICATOR = 0x40;
const FULL_RECEIPT = 1;
const RETRY_FIRST_MS = 200;

/**
 * Submits a message, part by part. The first goes ahead alone: a refusal nearly always concerns sender or
 * recipient, and then nothing of the message has left. The others follow together, and of them one that the
 * centre does not take yet is offered again for a while, since with the same reference it still completes the
 * message. The state of the whole:
 *
 *   all taken                            accepted
 *   the first not taken                  what the first was answered
 *   one of the others refused for good   rejected: it will never be complete
 *   one of them not taken in time        unknown, because sending the whole again would double the others
 *   an answer lost                       unknown
 */
export function createSubmit(
  deps: SubmitDeps,
): (message: HandOver, mayLeave: MayLeave) => Promise<Submitted> {
  const { longAsPayload } = deps;
  const partReferenceOf = createReferences();
  let sendsReference = deps.sendsReference;
  let sendsValidity = true;

  /** A centre that refuses a time of its own is spared it from then on: our own end is kept until here. */
  async function submit(
    message: HandOver,
    part: SmsPart,
    parts: number,
    fields: Fields,
    mayBegin: MayBegin,
  ): Promise<PartOutcome> {
    const validity = sendsValidity ? validityPeriod(message.expiresAt, Date.now()) : undefined;
    if (validity === undefined) return submitReferenced(message, part, parts, fields, mayBegin);
    const given = { ...fields, validity_period: validity };
    const outcome = await submitReferenced(message, part, parts, given, mayBegin);
    if (!('code' in outcome) || outcome.code !== INVALID_VALIDITY) return outcome;
    const without = await submitReferenced(message, part, parts, fields, mayBegin);
    if (without.kind === 'accepted' && sendsValidity) {
      sendsValidity = false;
      deps.log?.warn('The SMS centre refuses validity_period; messages go without it from now on');
    }
    return without;
  }

  /** A centre that refuses what it does not know is spared it from then on: it has not taken the message. */
  async function submitReferenced(
    message: HandOver,
    part: SmsPart,
    parts: number,
    fields: Fields,
    mayBegin: MayBegin,
  ): Promise<PartOutcome> {
    const submitWith = (given: Fields) => submitPart(deps, message, part, parts, given, mayBegin);
    if (!sendsReference) return submitWith(fields);
    const reference = { user_message_reference: messageReference(message.id) };
    const outcome = await submitWith({ ...fields, ...reference });
    if (!('code' in outcome) || !ABOUT_TLVS.has(outcome.code)) return outcome;
    const without = await submitWith(fields);
    if (without.kind === 'accepted' && sendsReference) {
      sendsReference = false;
      deps.log?.warn('The SMS centre refuses user_message_reference; messages go without it from now on');
    }
    return without;
  }

  return async (message, mayLeave) => {
    const text = message.text ?? '';
    const parts = longAsPayload ? [encodeWhole(text)] : encodeSms(text, partReferenceOf(message.to));
    if (parts.length > PARTS_MAX) return { result: tooManyParts(parts.length) };
    const common = fieldsOf(message, deps.tlvs);
    const submitted = (part: SmsPart, mayBegin: MayBegin) =>
      submit(message, part, parts.length, common, mayBegin);
    const first = await submitted(parts[0] as SmsPart, () => mayLeave(message));
    if (parts.length === 1) return { result: resultOf(first) };
    if (first.kind !== 'accepted' && first.kind !== 'unknown') return { result: first };
    const untilMs = Date.now() + LIMITS.smppFurtherPartsMs;
    // Once the first part has left, the other parts are sent in any case.
    const others = await Promise.all(
      parts.slice(1).map((part) => insist(() => submitted(part, () => true), untilMs)),
    );
    return whole(message.id, [first, ...others]);
  };
}

const tooManyParts = (count: number): Submitted['result'] => ({
  kind: 'rejected',
  code: 'too_many_parts',
  message: `${count} parts, and ${PARTS_MAX} can be numbered`,
});

async function submitPart(
  deps: SubmitDeps,
  message: HandOver,
  part: SmsPart,
  parts: number,
  fields: Fields,
  mayBegin: MayBegin,
): Promise<PartOutcome> {
  const { pool, optedOut, onPart } = deps;
  const slot = await pool.take(Date.now() + LIMITS.smppWindowWaitMs);
  if ('kind' in slot) return withoutSlot(slot);
  if (!mayBegin()) {
    pool.giveBack(slot);
    return { kind: 'stayed' };
  }
  const told = (pdu: Pdu): string | undefined => {
    const partId = pdu.command_status === ACCEPTED ? pdu.message_id : undefined;
    if (partId) onPart({ partId, messageId: message.id, parts, to: message.to });
    return partId;
  };
  // An answer that comes too late for the result still says whose the receipts are that follow.
  const answer = await slot.session.request(newPdu('submit_sm', { ...fields, ...bodyOf(part) }), told);
  pool.giveBack(slot);
  if (answer.kind !== 'answered') return unanswered(answer);
  const { command_status: status } = answer.pdu;
  if (optedOut?.hasStatus(status)) {
    const message = `The operator blocks this sender for the subscriber (${statusCode(status)})`;
    return { kind: 'rejected', code: OPTED_OUT, message };
  }
  if (isThrottle(status)) slot.window.throttled(Date.now());
  if (status !== ACCEPTED) return resultOfStatus(status);
  slot.window.accepted();
  // A centre that gives no id sends no receipts either, so that the message keeps our id.
  return { kind: 'accepted', partId: told(answer.pdu) ?? message.id };
}

/** A missing connection counts as no failed attempt of any message. */
function withoutSlot(none: NoSlot): PartOutcome {
  switch (none.kind) {
    case 'account':
      return none;
    case 'busy':
      return { kind: 'throttled', retryAfterMs: BUSY_MS };
    case 'closed':
      return { kind: 'transient', code: 'provider_closed' };
    case 'unbound':
      return { kind: 'throttled', retryAfterMs: none.retryAfterMs };
  }
}

const BUSY_MS = 1_000;

const unanswered = (answer: Exclude<Answer, { kind: 'answered' }>): PartOutcome =>
  answer.kind === 'lost' ? { kind: 'unknown' } : { kind: 'throttled', retryAfterMs: BUSY_MS };

async function insist(submit: () => Promise<PartOutcome>, untilMs: number): Promise<PartOutcome> {
  for (let waitMs = RETRY_FIRST_MS; ; waitMs *= 2) {
    const outcome = await submit();
    const mayPass =
      outcome.kind === 'throttled' || (outcome.kind === 'transient' && outcome.code !== 'provider_closed');
    if (!mayPass || Date.now() + waitMs > untilMs) return outcome;
    await delay(waitMs);
  }
}

function whole(id: string, outcomes: readonly PartOutcome[]): Submitted {
  const partIds = outcomes.flatMap((one) => (one.kind === 'accepted' ? [one.partId] : []));
  const long = { id, parts: outcomes.length, partIds };
  if (partIds.length === outcomes.length)
    return { result: { kind: 'accepted', providerId: partIds.join(',') }, long };
  const number = outcomes.findIndex(isRefusal);
  const refused = outcomes[number];
  if (refused && isRefusal(refused)) {
    const message = `Part ${number + 1} of ${outcomes.length} was refused: ${refused.message}`;
    // The parts that were accepted are reported all the same, and no other message is.
    return { result: { kind: 'rejected', code: refused.code, message }, long };
  }
  return { result: { kind: 'unknown' }, long };
}

/** A refused sender or field waits for a person, and the parts that were taken do not wait for theirs. */
const isRefusal = (
  one: PartOutcome,
): one is Extract<PartOutcome, { kind: 'rejected' | 'sender' | 'account' }> =>
  one.kind === 'rejected' || one.kind === 'sender' || (one.kind === 'account' && one.orRecipient === true);

const resultOf = (outcome: PartOutcome): HandOverResult =>
  outcome.kind === 'accepted' ? { kind: 'accepted', providerId: outcome.partId } : outcome;

function fieldsOf({ from, to }: HandOver, tlvs: Record<string, Buffer>): Fields {
  const source = smppAddress(from);
  const destination = smppAddress(to);
  return {
    source_addr: source.digits,
    source_addr_ton: source.ton,
    source_addr_npi: source.npi,
    destination_addr: destination.digits,
    dest_addr_ton: destination.ton,
    dest_addr_npi: destination.npi,
    registered_delivery: FULL_RECEIPT,
    ...tlvs,
  };
}

/** 254 octets are what the field holds; only a text that the centre is to cut is longer. */
function bodyOf({ dataCoding, octets, hasHeader }: SmsPart): Record<string, unknown> {
  const body = octets.length > SHORT_MESSAGE_MAX ? { message_payload: octets } : { short_message: octets };
  return { data_coding: dataCoding, esm_class: hasHeader ? UDH_INDICATOR : 0, ...body };
}

const SHORT_MESSAGE_MAX = 254;

/**
 * Numbers that join the parts of a message at the phone, which distinguishes messages to one destination by
 * them: counted for each, so that the same comes again only after 255 others. Where the count is not known,
 * because the process is new or the destination was forgotten, it begins anywhere: at the same place each
 * time it would meet the number of a message still on its way after every restart, and not after one in 256.
 */
export function createReferences(): (destination: string) => () => number {
  const last = new BoundedCache<number>(LIMITS.smppReferences);
  return (destination) => () => {
    const next = ((last.get(destination) ?? randomInt(256)) + 1) & 0xff;
    last.set(destination, next);
    return next;
  };
}

/**
 * How long a centre is to try, as SMPP 3.4 (7.1.1) writes a relative time: YYMMDDhhmmsstnnR. Relative, because a
 * centre's clock or time zone may be wrong. Undefined without an end, and for one so far away that centres refuse it.
 */
export function validityPeriod(expiresAt: string | undefined, nowMs: number): string | undefined {
  if (expiresAt === undefined) return undefined;
  // Nothing at all would mean as long as the centre likes.
  const seconds = Math.max(1, Math.ceil((Date.parse(expiresAt) - nowMs) / 1_000));
  if (seconds > LIMITS.smppValidityHours * 3_600) return undefined;
  const parts = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
  return `0000${parts.map((part) => String(part).padStart(2, '0')).join('')}000R`;
}
