/**
 * A campaign is what the operator created; a run is one execution of it.
 *
 *   draft → scheduled → planning → running ⇄ paused → finishing → completed
 *                                    └────────────→ canceled | failed
 *
 * A `failed` run continues where it stopped when it is resumed. A failed or `completed` run continues when its
 * recipients are retried. Both are the same run in a new workflow. A failed run that is canceled also gets a new
 * workflow, which takes back what was not sent.
 *
 * A recurring campaign stays `scheduled` while its occurrences run, each as a run of its own. The last one gives
 * the campaign its end phase. Only recurring campaigns have the stages `held` and `canceled`: they say what the
 * operator wants of the schedule, and `control` says what they want of a run.
 *
 * `draft` and `scheduled` belong to the campaign (its stage). The other phases belong to its current run: the
 * run's own phase, overlaid by what the operator wants of it (`control`). `paused` is never stored: it means a live
 * or scheduled run whose control says `pause`. A live run whose control says `cancel` is `canceled` at once,
 * because nothing more is handed over; its own phase follows when the run is closed.
 */
export const PHASES = [
  'draft',
  'scheduled',
  'planning',
  'running',
  'paused',
  'finishing',
  'completed',
  'canceled',
  'failed',
] as const;
export type Phase = (typeof PHASES)[number];
export type Status = 'active' | 'paused' | 'completed';

export type Stage = 'draft' | 'scheduled' | 'held' | 'started' | 'canceled';
export type RunPhase = 'planning' | 'running' | 'finishing' | 'completed' | 'canceled' | 'failed';
/**
 * What is wanted of a run. The operator sets it; the run itself sets `fail` when it must send to no further
 * recipient.
 */
export type Control = 'run' | 'pause' | 'cancel' | 'fail';

export function phaseOf(stage: Stage, run?: { phase: RunPhase; control: Control }): Phase {
  if (stage === 'draft') return 'draft';
  if (stage === 'held') return 'paused';
  const isCanceling = run?.control === 'cancel' && isLive(run.phase);
  if (stage === 'canceled') return run && isLive(run.phase) && !isCanceling ? run.phase : 'canceled';
  if (!run) return 'scheduled';
  if (run.control === 'pause' && isLive(run.phase)) return 'paused';
  if (stage === 'scheduled') return 'scheduled';
  return isCanceling ? 'canceled' : run.phase;
}

export function isLive(phase: RunPhase): boolean {
  return phase === 'planning' || phase === 'running' || phase === 'finishing';
}

const STATUS: Record<Phase, Status> = {
  draft: 'paused',
  scheduled: 'active',
  planning: 'active',
  running: 'active',
  paused: 'paused',
  finishing: 'active',
  completed: 'completed',
  canceled: 'completed',
  failed: 'completed',
};

/** The specification has three words; the phase says the rest. */
export function statusOf(phase: Phase): Status {
  return STATUS[phase];
}

export type Action = 'start' | 'pause' | 'resume' | 'cancel';

/** Which actions a phase allows. `noop`: it is so already, so answer success and change nothing. */
export const ACTIONS: Record<Action, Partial<Record<Phase, 'do' | 'noop'>>> = {
  start: { draft: 'do', scheduled: 'do', planning: 'noop', running: 'noop', finishing: 'noop' },
  pause: { scheduled: 'do', planning: 'do', running: 'do', finishing: 'do', paused: 'noop' },
  resume: {
    paused: 'do',
    failed: 'do',
    planning: 'noop',
    running: 'noop',
    finishing: 'noop',
    scheduled: 'noop',
  },
  cancel: {
    draft: 'do',
    scheduled: 'do',
    planning: 'do',
    running: 'do',
    paused: 'do',
    finishing: 'do',
    failed: 'do',
    canceled: 'noop',
  },
};

/** Phases in which recipients may be sent to again. */
export const RETRYING: readonly Phase[] = ['running', 'paused', 'finishing', 'completed', 'failed'];

/** Phases in which a campaign's delivery options may be changed. */
export const DELIVERY_CHANGING: readonly Phase[] = [
  'draft',
  'scheduled',
  'planning',
  'running',
  'paused',
  'finishing',
];
