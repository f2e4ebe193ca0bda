import type { AnsweredBy, Detection } from './detection';

/** What to do when a machine answers (api.md 4 and 7, `voice.machine`). */
export const MACHINE_BEHAVIOURS = ['speak', 'hangup', 'leave_message'] as const;
export type MachineBehaviour = (typeof MACHINE_BEHAVIOURS)[number];

/**
 * - `speak`: say the message from its beginning; if it is being said already, continue.
 * - `leave`: say it from the beginning to a machine that records, whatever was said before.
 * - `wait`: continue to listen.
 * - `hang_up`: end the call.
 */
export type AnswerAction = 'speak' | 'leave' | 'wait' | 'hang_up';

/**
 * A callee who was not recognised is treated as a person, because regulators count the calls that hang up on
 * people. Fax machines are never spoken to. `unknown` after `machine_start` means that the greeting did not end
 * in time, so that a recording made now would not be found.
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
 * What to do after the detections of a call so far, in order, `nowMs` after it was answered. Waiting ends at
 * `waitMaxMs`, even if the detector gets no more frames.
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
  // No person is kept in a silent call: a machine that still talks is hung up on, and any other callee is
  // spoken to.
  return isMachine ? 'hang_up' : 'speak';
}
