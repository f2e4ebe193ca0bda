import type { Channel } from '../../domain/channel';
import type { ReceiptType } from '../../domain/message';
import type { HandOver } from '../provider';
import { hash64 } from './simulator-ids';

/**
 * What the simulator does with a message is decided by its address. Reserved addresses say it outright;
 * every other one gets a seeded draw from MIX. docs/simulator.md holds this table too.
 *
 *   email     sms   hand-over                        receipts
 *   delivered ..90  accepted                         delivered
 *   reject    ..91  rejected                         none
 *   transient ..92  transient once, then accepted    delivered
 *   throttle  ..93  throttled once, then accepted    delivered
 *   bounce    ..94  accepted                         undelivered
 *   expire    ..95  accepted                         expired
 *   lost      ..96  taken, but answered `unknown`    delivered
 *   silent    ..97  accepted                         none, ever
 *   late      ..98  accepted                         delivered, ten times later than others
 *   down      ..99  transient, always                none
 *   account         account, always                  none
 *
 *   voice  hand-over                        receipts
 *   ..80   accepted                         ringing, answered, human, digits, completed
 *   ..81   accepted                         ringing, answered, machine (machine_end_beep), completed
 *   ..82   accepted                         ringing, rejected (the callee declines)
 *   ..83   accepted                         none, ever
 *   ..84   transient, always                none
 *   ..85   accepted                         as ..80: the first opt-out key of the document
 *   ..86   accepted                         as ..80: a key that means nothing
 *   ..87   accepted                         as ..90: hangs up in the middle of what is said
 *   ..90   accepted                         ringing, answered, human, completed
 *   ..91   rejected                         none
 *   ..92   transient once, then accepted    as ..90
 *   ..93   throttled once, then accepted    as ..90
 *   ..94   accepted                         busy
 *   ..95   accepted                         ringing, no_answer
 *   ..96   taken, but answered `unknown`    as ..90
 *   ..97   accepted                         failed
 *   ..98   accepted                         ringing, answered, machine (machine_start), completed
 *   ..99   accepted                         busy on the first call, as ..90 on a redial
 *
 * An email address is reserved by its local part (`bounce@…`) or the tag in it (`ann+bounce@…`); a
 * number is when it ends in 55501 and the two digits (+1 212 555 0194), which no telephone has.
 */
export interface Plan {
  answer: 'accepted' | 'lost' | 'rejected' | 'transient_once' | 'transient' | 'throttled_once' | 'account';
  fate: Fate;
  /** Instead of `fate` when the message is not the first call to its recipient. */
  redialFate?: Fate;
}

/** What becomes of a message that was taken. The record keeps it, since it does not keep the address. */
export type Fate =
  | 'delivered'
  | 'late'
  | 'undelivered'
  | 'expired'
  | 'silent'
  | 'human'
  | 'human_digits'
  | 'human_opt_out'
  | 'human_wrong_key'
  | 'human_hangs_up'
  | 'machine_start'
  | 'machine_end_beep'
  | 'busy'
  | 'no_answer'
  | 'failed'
  | 'declined';

export function planFor(message: HandOver, seed: number): Plan {
  const reserved = reservedPlan(message.channel, message.to);
  if (reserved) return reserved;
  // The same mailbox bounces every time, but a call that found a line busy may find it free later.
  const subject = message.channel === 'voice' ? `${message.to} ${message.uid}` : message.to.toLowerCase();
  let draw = hash64(subject, seed).low % 1000;
  const mix = MIX[message.channel];
  for (const [share, plan] of mix) {
    if (draw < share) return plan;
    draw -= share;
  }
  throw new Error(`The shares of ${message.channel} do not sum to 1000`);
}

/** The fate of this very message: a plan's, or its other one for a redial (`<recipient>.<attempt>`). */
export function fateOf(plan: Plan, uid: string): Fate {
  if (!plan.redialFate) return plan.fate;
  const attempt = Number(/\.(\d{1,4})$/.exec(uid)?.[1] ?? 1);
  return attempt > 1 ? plan.redialFate : plan.fate;
}

/** A receipt to come; `part` is how much of the message's whole delay has passed by then. */
interface Step {
  type: ReceiptType;
  part: number;
  code?: string;
}

/** A message's receipts in order; those of a call that is answered only when its record has none of its own. */
export const STEPS: Record<Fate, readonly Step[]> = {
  delivered: [{ type: 'delivered', part: 1 }],
  late: [{ type: 'delivered', part: 1 }],
  undelivered: [{ type: 'undelivered', part: 1, code: 'unreachable' }],
  expired: [{ type: 'expired', part: 1, code: 'validity_expired' }],
  silent: [],
  human: answered('human', { type: 'completed', part: 1 }),
  human_digits: answered('human', { type: 'digits', part: 0.8 }, { type: 'completed', part: 1 }),
  human_opt_out: answered('human', { type: 'completed', part: 1 }),
  human_wrong_key: answered('human', { type: 'completed', part: 1 }),
  human_hangs_up: answered('human', { type: 'completed', part: 1 }),
  machine_start: answered('machine', { type: 'completed', part: 1 }),
  machine_end_beep: answered('machine', { type: 'completed', part: 1 }),
  busy: [{ type: 'busy', part: 0.3, code: 'user_busy' }],
  no_answer: [
    { type: 'ringing', part: 0.2 },
    { type: 'no_answer', part: 1, code: 'ring_timeout' },
  ],
  failed: [{ type: 'failed', part: 0.5, code: 'network_failure' }],
  declined: [
    { type: 'ringing', part: 0.2 },
    { type: 'rejected', part: 0.5, code: 'call_declined' },
  ],
};

/** A message's whole delay is this many times the latency: 1 to 20, and for one in fifty ten times that. */
export function delayFactor(id: string, fate: Fate, seed: number): number {
  const draw = hash64(id, seed);
  const late = fate === 'late' || draw.high % 50 === 0;
  return (1 + (draw.low % 1901) / 100) * (late ? 10 : 1);
}

/** Further members of a receipt of this type. */
export function receiptData(
  type: ReceiptType,
  fate: Fate,
  id: string,
  seed: number,
): Record<string, unknown> | undefined {
  const answeredBy = fate.startsWith('human') ? 'human' : fate;
  if (type === 'human' || type === 'machine') return { answeredBy };
  if (type === 'digits') return { digits: '1' };
  if (type !== 'completed') return undefined;
  const durationMs = 2_000 + (hash64(id, seed).high % 58_000);
  return fate === 'human_digits' ? { answeredBy, durationMs, digits: '1' } : { answeredBy, durationMs };
}

function answered(by: 'human' | 'machine', ...rest: Step[]): Step[] {
  return [{ type: 'ringing', part: 0.2 }, { type: 'answered', part: 0.4 }, { type: by, part: 0.5 }, ...rest];
}

const EMAIL: Record<string, Plan> = {
  delivered: { answer: 'accepted', fate: 'delivered' },
  reject: { answer: 'rejected', fate: 'silent' },
  transient: { answer: 'transient_once', fate: 'delivered' },
  throttle: { answer: 'throttled_once', fate: 'delivered' },
  bounce: { answer: 'accepted', fate: 'undelivered' },
  expire: { answer: 'accepted', fate: 'expired' },
  lost: { answer: 'lost', fate: 'delivered' },
  silent: { answer: 'accepted', fate: 'silent' },
  late: { answer: 'accepted', fate: 'late' },
  down: { answer: 'transient', fate: 'silent' },
  account: { answer: 'account', fate: 'silent' },
};

const SMS: Record<string, Plan | undefined> = {
  '90': EMAIL.delivered,
  '91': EMAIL.reject,
  '92': EMAIL.transient,
  '93': EMAIL.throttle,
  '94': EMAIL.bounce,
  '95': EMAIL.expire,
  '96': EMAIL.lost,
  '97': EMAIL.silent,
  '98': EMAIL.late,
  '99': EMAIL.down,
};

const VOICE: Record<string, Plan> = {
  '80': { answer: 'accepted', fate: 'human_digits' },
  '81': { answer: 'accepted', fate: 'machine_end_beep' },
  '82': { answer: 'accepted', fate: 'declined' },
  '83': { answer: 'accepted', fate: 'silent' },
  '84': { answer: 'transient', fate: 'silent' },
  '85': { answer: 'accepted', fate: 'human_opt_out' },
  '86': { answer: 'accepted', fate: 'human_wrong_key' },
  '87': { answer: 'accepted', fate: 'human_hangs_up' },
  '90': { answer: 'accepted', fate: 'human' },
  '91': { answer: 'rejected', fate: 'silent' },
  '92': { answer: 'transient_once', fate: 'human' },
  '93': { answer: 'throttled_once', fate: 'human' },
  '94': { answer: 'accepted', fate: 'busy' },
  '95': { answer: 'accepted', fate: 'no_answer' },
  '96': { answer: 'lost', fate: 'human' },
  '97': { answer: 'accepted', fate: 'failed' },
  '98': { answer: 'accepted', fate: 'machine_start' },
  '99': { answer: 'accepted', fate: 'busy', redialFate: 'human' },
};

/** Shares in thousandths; a lost answer and silence are left to the reserved addresses. */
const TEXT_MIX: [number, Plan][] = [
  [930, { answer: 'accepted', fate: 'delivered' }],
  [25, { answer: 'accepted', fate: 'undelivered' }],
  [15, { answer: 'rejected', fate: 'silent' }],
  [12, { answer: 'transient_once', fate: 'delivered' }],
  [8, { answer: 'throttled_once', fate: 'delivered' }],
  [10, { answer: 'accepted', fate: 'expired' }],
];

const MIX: Record<Channel, [number, Plan][]> = {
  email: TEXT_MIX,
  sms: TEXT_MIX,
  voice: [
    [420, { answer: 'accepted', fate: 'human' }],
    [140, { answer: 'accepted', fate: 'human_digits' }],
    [110, { answer: 'accepted', fate: 'machine_start' }],
    [90, { answer: 'accepted', fate: 'machine_end_beep' }],
    [90, { answer: 'accepted', fate: 'busy' }],
    [100, { answer: 'accepted', fate: 'no_answer' }],
    [20, { answer: 'accepted', fate: 'failed' }],
    [15, { answer: 'accepted', fate: 'declined' }],
    [15, { answer: 'rejected', fate: 'silent' }],
  ],
};

export const isReserved = (channel: Channel, to: string): boolean => reservedPlan(channel, to) !== undefined;

function reservedPlan(channel: Channel, to: string): Plan | undefined {
  if (channel !== 'email') {
    if (to.slice(-7, -2) !== '55501') return undefined;
    return (channel === 'sms' ? SMS : VOICE)[to.slice(-2)];
  }
  const local = to.slice(0, to.lastIndexOf('@')).toLowerCase();
  const name = local.slice(local.lastIndexOf('+') + 1);
  return Object.hasOwn(EMAIL, name) ? EMAIL[name] : undefined;
}
