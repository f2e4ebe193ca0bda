import type { AnsweredBy, Detection } from './detection';

/** What to do when a machine picks up (api.md 4 and 7, `voice.machine`). */
export const MACHINE_BEHAVIOURS = ['speak', 'hangup', 'leave_message'] as const;
export type MachineBehaviour = (typeof MACHINE_BEHAVIOURS)[number];

/**
 * - `speak`    says the message, from its beginning; what is being said already goes on.
 * - `leave`    says it from the beginning to a machine that records, whatever was said before.
 * - `wait`     goes on listening.
 * - `hang_up`  ends the call.
 */
export type AnswerAction = 'speak' | 'leave' | 'wait' | 'hang_up';

/**
 * Who hears a message without having been recognised is taken for a person: hanging up on people is what
 * regulators count. Fax machines are never spoken to. `unknown` after `machine_start` is a greeting that did
 * not end in time: nothing recorded then would be found.
 */
const ACTIONS: Readonly<Record<MachineBehaviour, Readonly<Record<AnsweredBy, AnswerAction>>>> = {
  speak: {
    human: 'speak',
    machine_start: 'speak',
    machine_end_beep: 'speak',
    machine_end_silence: 'speak',
    fax: 'hang_up',
    unknown: 'speak',
  },
  hangup: {
    human: 'speak',
    machine_start: 'hang_up',
    machine_end_beep: 'hang_up',
    machine_end_silence: 'hang_up',
    fax: 'hang_up',
    unknown: 'speak',
  },
  leave_message: {
    human: 'speak',
    machine_start: 'wait',
    machine_end_beep: 'leave',
    machine_end_silence: 'leave',
    fax: 'hang_up',
    unknown: 'speak',
  },
};

/**
 * What to do after the detections of a call so far, in their order, `nowMs` after it was answered. Waiting
 * ends with `waitMaxMs`, also if the detector's frames stopped coming.
 */
export function actionAfter(
  behaviour: MachineBehaviour,
  detections: readonly Detection[],
  { nowMs, waitMaxMs }: { nowMs: number; waitMaxMs: number },
): AnswerAction {
  const last = detections.at(-1);
  const isMachine = detections.some(({ answeredBy }) => answeredBy === 'machine_start');
  if (last?.answeredBy === 'unknown' && isMachine) return behaviour === 'speak' ? 'speak' : 'hang_up';
  const action = last ? ACTIONS[behaviour][last.answeredBy] : 'wait';
  if (action !== 'wait' || nowMs < waitMaxMs) return action;
  // Nobody is left in a silent call: a machine that goes on talking is left, anybody else is spoken to.
  return isMachine ? 'hang_up' : 'speak';
}
