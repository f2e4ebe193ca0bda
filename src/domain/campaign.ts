/**
 * A campaign is what the user made; a run is one execution of it.
 *
 *   draft → scheduled → planning → running ⇄ paused → finishing → completed
 *                                    └────────────→ canceled | failed
 *
 * What has `failed` goes on where it stopped when it is resumed, and what has failed or is `completed` when
 * recipients are to be retried: as the same run, in a new workflow. One that has failed and is canceled gets a new
 * workflow as well, which takes back what was not sent.
 *
 * A recurring campaign stays `scheduled` while its occurrences, a run each, come and go; the last of them takes
 * it along to its end. `held` and `canceled` are stages of recurring campaigns alone: what is wished of the
 * schedule, beside what is wished of a run.
 *
 * `draft` and `scheduled` belong to the campaign (its stage). The rest belong to its current run: the
 * run's own phase, overlaid by what its owner asked of it (`control`). `paused` is never stored: it is
 * a live run, or one that waits for its hour, whose control says `pause`. A live run whose control says `cancel` is
 * `canceled` at once, because nothing more is handed over; its own phase follows when its books are closed.
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
/** What is wished of a run: by its owner, and `fail` by the run itself when nobody more should be sent to. */
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

/** The specification knows three words; the phase says the rest. */
export function statusOf(phase: Phase): Status {
  return STATUS[phase];
}

export type Action = 'start' | 'pause' | 'resume' | 'cancel';

/** Which actions a phase allows. `noop`: already so, answer success and change nothing. */
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

/** When recipients may be sent to again. */
export const RETRYING: readonly Phase[] = ['running', 'paused', 'finishing', 'completed', 'failed'];

/** When how a campaign is delivered may be changed. */
export const DELIVERY_CHANGING: readonly Phase[] = [
  'draft',
  'scheduled',
  'planning',
  'running',
  'paused',
  'finishing',
];
