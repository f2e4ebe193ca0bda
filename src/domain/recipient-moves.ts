import { RECIPIENT_RANK, RECIPIENT_STATES, RETRIED, type RecipientState } from './recipient';

/** A change of a recipient's state that is allowed: from one of these states to one of those. */
export interface MoveRule {
  from: readonly RecipientState[];
  to: readonly RecipientState[];
  /**
   * Of the new state's rank beside the old one's: `above`; `notBelow`; `aboveUnlessAnew`, which any rank may follow if
   * the recipient gets another attempt with it; and `any` for a rule that is named because it may lower the rank.
   */
  rank: 'above' | 'notBelow' | 'aboveUnlessAnew' | 'any';
}

const OPEN = ['pending', 'waiting', 'sending'] as const;
/** A recipient is pending from the freeze on until something is written, and never again; pending ones are not counted. */
const WRITTEN = RECIPIENT_STATES.filter((state) => state !== 'pending');

/**
 * How recipients may move. States move up, except where a recipient gets another attempt or call, or another place
 * in its campaign's order; each of these is a rule of its own. The ledger writes no state otherwise
 * (campaigns/ledger/move-recipients.ts).
 */
export const MOVES = {
  /** What an event says of the present message, or of a former one that got through. */
  event: { from: RECIPIENT_STATES, to: WRITTEN, rank: 'above' },
  /** What recipient-transitions.ts decides: it may give the recipient another attempt, which waits. */
  followed: { from: RECIPIENT_STATES, to: WRITTEN, rank: 'aboveUnlessAnew' },
  /** What a page came to. A retry that is put off waits on. */
  result: { from: RECIPIENT_STATES, to: WRITTEN, rank: 'notBelow' },
  /** The run is canceled before the recipient was sent to; what was offered is `accepted` until the service says more. */
  cancel: { from: ['pending', 'waiting'], to: ['canceled', 'accepted'], rank: 'above' },
  /** The run is canceled, and the service never had the message. */
  absent: { from: ['pending', 'accepted'], to: ['canceled'], rank: 'above' },
  /** Its time is over while its workspace is stopped, and it has not been offered. */
  overdue: { from: ['pending', 'waiting'], to: ['expired'], rank: 'above' },
  /** The campaign's owner wants another attempt. */
  retry: { from: RETRIED, to: ['waiting'], rank: 'any' },
  /** In a fallback campaign: the recipient's channel begins, or is needed no more. */
  turn: { from: ['waiting'], to: ['waiting', 'canceled'], rank: 'notBelow' },
  /** A workflow says how its call goes on: it rings, waits to be redialled, or is over. */
  call: { from: OPEN, to: WRITTEN, rank: 'any' },
  /** A recipient that waited for a call's workflow has one. */
  dial: { from: ['waiting'], to: ['sending'], rank: 'above' },
  /** The end of a call that was in doubt. */
  learned: { from: ['unknown'], to: WRITTEN, rank: 'above' },
} as const satisfies Record<string, MoveRule>;

export type MoveName = keyof typeof MOVES;

/** Whether the recipient may come from one state to the other without another attempt. */
export function mayMove(name: MoveName, from: RecipientState, to: RecipientState): boolean {
  const rule: MoveRule = MOVES[name];
  if (!rule.from.includes(from) || !rule.to.includes(to)) return false;
  const rise = RECIPIENT_RANK[to] - RECIPIENT_RANK[from];
  if (rule.rank === 'any') return true;
  return rule.rank === 'notBelow' ? rise >= 0 : rise > 0;
}
