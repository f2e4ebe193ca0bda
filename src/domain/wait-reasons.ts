/** What a sentence about a wait may mention; each reason reads its own members. */
export interface WaitFacts {
  /** Number of the next attempt, counting from 1, and the most attempts allowed. */
  attempt?: number | undefined;
  of?: number | undefined;
  /** The code of the last answer or error. */
  code?: string | undefined;
  /** How the last call ended. */
  outcome?: string | undefined;
  /** Number of recipients before this one. */
  ahead?: number | undefined;
  /** A channel before this one in the campaign's order. */
  channel?: string | undefined;
  reason?: string | undefined;
  /** Contacts of a campaign that waits for an approval, and to how many it may send without one. */
  approval?: { contacts: number; allowed: number } | undefined;
}

interface WaitReason {
  /**
   * Set for reasons that are shown before all others, in this order, because a person must act or because they
   * concern the whole campaign. Of the other reasons, the one that ends last is shown, because the recipient
   * continues when it ends.
   */
  first?: number;
  /** A sentence that a support person can read out, without the time at which the wait ends. */
  sentence(facts: WaitFacts): string;
}

/** Why a recipient waits (api.md 19, `next.why`): one entry for each reason. */
export const WAIT_REASONS = {
  stopped: {
    first: 1,
    sentence: ({ reason }) =>
      `The workspace is stopped${because(reason)}: nothing is handed over until the stop is lifted.`,
  },
  paused: {
    first: 2,
    sentence: ({ approval }) =>
      approval
        ? `The campaign is paused, because it has ${approval.contacts} contacts and may send to ${approval.allowed} without an approval: nothing is handed over until it is approved.`
        : 'The campaign is paused: nothing is handed over until it is resumed.',
  },
  gate: {
    first: 3,
    sentence: ({ reason }) =>
      `The campaign’s release stopped at a gate${because(reason)}: it goes on when the campaign is resumed.`,
  },
  stage: {
    first: 4,
    sentence: () => 'The recipient belongs to a later stage of the release, which has not begun.',
  },
  schedule: {
    first: 5,
    sentence: () => 'The campaign’s schedule has not come to this recipient’s hour.',
  },
  hold: {
    first: 6,
    sentence: () =>
      'The messaging service holds the campaign’s messages back: they leave when the hold is released.',
  },
  window: { sentence: () => 'It is outside of the hours in which the campaign may call.' },
  quiet_hours: { sentence: () => 'It is within quiet hours, in which nothing is sent to this recipient.' },
  cap: {
    sentence: () =>
      'The address has had as many messages as the workspace’s policy allows for now; the next one waits until there is room.',
  },
  pace: {
    sentence: ({ ahead }) =>
      `The campaign keeps to its pace${ahead ? `: ${people(ahead)} before this one` : ''}.`,
  },
  retry: {
    sentence: ({ attempt, of, code, outcome }) => {
      const before =
        outcome === undefined || outcome === 'failed'
          ? `The attempt before failed for the moment${code ? ` (${code})` : ''}`
          : `The call before ended with “${outcome.replaceAll('_', ' ')}”`;
      return `${before}; attempt ${attempt ?? 2}${of ? ` of ${of}` : ''} follows.`;
    },
  },
  fallback: {
    sentence: ({ channel }) =>
      `The campaign goes from channel to channel: this one begins when ${channel ?? 'the one before'} had no success in time.`,
  },
  outbox: {
    sentence: ({ ahead }) =>
      ahead === undefined
        ? 'The message is in the outbox of the messaging service, and leaves in its turn.'
        : `Nothing keeps the recipient back: ${ahead > 0 ? `${people(ahead)} before this one` : 'it is the next one'}, and the outbox takes them in turn.`,
  },
  account: {
    sentence: ({ code }) =>
      `The account by which messages leave is refused${code ? ` (${code})` : ''}: nothing is lost, single messages are tried, and the operator must look at the account.`,
  },
  outcome: {
    sentence: () => 'The message is with the carrier; the carrier’s report will say what became of it.',
  },
} as const satisfies Record<string, WaitReason>;

export type WaitWhy = keyof typeof WAIT_REASONS;
export const WAIT_WHYS = Object.keys(WAIT_REASONS) as [WaitWhy, ...WaitWhy[]];

/** A reason that applies to a recipient. Without `at`, its end is not known. */
export interface Wait extends WaitFacts {
  why: WaitWhy;
  at?: Date | undefined;
}

/** The reason to show. A reason without a known end counts as ending last. */
export function toldWait(waits: readonly Wait[]): Wait | undefined {
  const [told] = [...waits].sort((one, other) => firstOf(one) - firstOf(other) || endOf(other) - endOf(one));
  return told;
}

/** When the recipient continues; undefined while one of the reasons has no known end. */
export function goesOnAt(waits: readonly Wait[]): Date | undefined {
  const end = Math.max(...waits.map(endOf));
  return Number.isFinite(end) ? new Date(end) : undefined;
}

const firstOf = ({ why }: Wait): number => (WAIT_REASONS[why] as WaitReason).first ?? Number.MAX_SAFE_INTEGER;
const endOf = ({ at }: Wait): number => at?.getTime() ?? Number.POSITIVE_INFINITY;
const because = (reason: string | undefined) => (reason ? ` (${reason})` : '');
const people = (ahead: number) => (ahead === 1 ? 'one recipient is' : `${ahead} recipients are`);
