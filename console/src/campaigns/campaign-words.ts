import type { Tone } from '../design/badge';
import { fill, formatNumber, formatShare, formatTime } from '../format';
import { TEXTS } from '../texts';
import type { Detail } from './campaign-queries';

export type Phase = Detail['phase'];
export type Channel = Detail['channel'][number];
export type Counts = Detail['counts'][string];
export type State = Exclude<keyof Counts, 'total'>;

const { phases, phaseMeans: phaseMeanings, stages, states } = TEXTS.campaign;

export const CHANNELS = ['email', 'sms', 'voice'] as const;

/** In the order in which a recipient goes through them. */
export const STATES = Object.keys(states) as State[];

export const isState = (value: unknown): value is State => STATES.some((state) => state === value);
export const isChannel = (value: unknown): value is Channel => CHANNELS.some((one) => one === value);

const PHASE_TONES: Record<Phase, Tone> = {
  draft: 'idle',
  scheduled: 'busy',
  planning: 'busy',
  running: 'busy',
  paused: 'warn',
  finishing: 'busy',
  completed: 'ok',
  canceled: 'idle',
  failed: 'bad',
};

const STATE_TONES: Record<State, Tone | 'open'> = {
  pending: 'open',
  waiting: 'warn',
  sending: 'busy',
  accepted: 'busy',
  sent: 'busy',
  delivered: 'ok',
  undelivered: 'bad',
  failed: 'bad',
  rejected: 'bad',
  suppressed: 'idle',
  expired: 'idle',
  canceled: 'idle',
  unknown: 'warn',
};

export const phaseTone = (phase: Phase): Tone => PHASE_TONES[phase];
export const phaseWord = (phase: Phase): string => phases[phase];

/** A run that waits for its next stage is `running`, though nothing leaves. */
export function phaseMeans({ phase, release }: Detail): string {
  const next = phase === 'running' ? (release?.next ?? null) : null;
  if (next === null) return phaseMeanings[phase];
  return next === 'manual' ? stages.manual : fill(stages.next, { time: formatTime(next) });
}

export const stateTone = (state: State): Tone | 'open' => STATE_TONES[state];
export const stateWord = (state: State): string => states[state].word;

export const isOver = (phase: Phase): boolean => ['completed', 'canceled', 'failed'].includes(phase);

/** Until it has begun it can be replaced, also while it is paused. */
export const isEditable = ({ phase, startedAt }: Pick<Detail, 'phase' | 'startedAt'>): boolean =>
  phase === 'draft' || phase === 'scheduled' || (phase === 'paused' && startedAt === null);

/** The parts of a bar, one for each tone, since a bar of thirteen colours says nothing. */
export function barParts(counts: Counts) {
  return (['ok', 'busy', 'warn', 'bad', 'idle', 'open'] as const).map((tone) => ({
    tone,
    count: STATES.filter((state) => STATE_TONES[state] === tone).reduce((sum, one) => sum + counts[one], 0),
  }));
}

/** `1,200 of 2,000 delivered, 12 failed`: the bar in words. */
export function countsSentence(counts: Counts): string {
  const named = STATES.filter((state) => counts[state] > 0).map(
    (state) => `${formatNumber(counts[state])} ${stateWord(state).toLowerCase()}`,
  );
  return named.length === 0 ? TEXTS.campaign.noRecipients : named.join(', ');
}

/** Those who need nothing more of us now, as a share of all. */
export function doneShare(counts: Counts): string {
  const open = counts.pending + counts.waiting + counts.sending + counts.accepted;
  return formatShare(counts.total - open, counts.total);
}

export function reasonText(reason: NonNullable<Detail['reason']>): string {
  if (typeof reason === 'string') return reason;
  const { reasons } = TEXTS.campaign;
  if (reason.code === 'approval_required')
    return fill(reasons.approval, { contacts: reason.contacts, allowed: reason.allowed });
  return fill(reasons.gate, {
    metric: reason.metric,
    value: formatShare(reason.value, 1),
    above: formatShare(reason.above, 1),
    sample: reason.sample,
  });
}

/** All channels together. */
export function sumOf(all: readonly Counts[]): Counts {
  const sum = { total: 0 } as Counts;
  for (const key of ['total', ...STATES] as const)
    sum[key] = all.reduce((before, counts) => before + (counts[key] ?? 0), 0);
  return sum;
}
