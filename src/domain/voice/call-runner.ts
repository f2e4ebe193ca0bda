import { LIMITS } from '../limits';
import { actionAfter } from './answer-detection/machine-behaviour';
import type { CallCommand, CallControl, Heard, TimedCommand, WaitingControl } from './call-control';
import { addressOf, fetchProgram, type Leaving } from './call-documents';
import { type Going, runGather } from './call-gather';
import { CallLine } from './call-line';
import { CALL_DEFAULTS, type CallOptions } from './call-options';
import type { CallRecord } from './call-record';
import { type RecordStep, type Step, spokenText, type VoiceProgram } from './program';
import { VERB_DEFAULTS } from './verbs';
import { wholeNumber } from './whole-number';

/** Runs one call by its program and returns its record. Never throws, and always ends. */
export function runCall(program: VoiceProgram, options: CallOptions, control: CallControl): CallRecord {
  const call = callSteps(program, options);
  let next = call.next({ atMs: 0 });
  while (!next.done) next = call.next(control.carryOut(next.value));
  return next.value;
}

/** The same for a call whose commands must be waited for. Throws what the control throws. */
export async function followCall(
  program: VoiceProgram,
  options: CallOptions,
  control: WaitingControl,
): Promise<CallRecord> {
  const call = callSteps(program, options);
  let next = call.next({ atMs: 0 });
  while (!next.done) next = call.next(await control.carryOut(next.value));
  return next.value;
}

/**
 * The call as a sequence of commands, each answered by what was heard. It has no side effects and no clock, so
 * that the same rules apply to a simulated call and to a real one.
 *
 * A loop in the document ends at the call's longest duration or, where no time passes, at LIMITS.callCommands.
 * A loop over several documents ends at LIMITS.callDocuments.
 */
export function* callSteps(
  program: VoiceProgram,
  options: CallOptions,
): Generator<CallCommand, CallRecord, Heard> {
  const line = new CallLine();
  if (program.steps.find(({ verb }) => verb !== 'Other')?.verb === 'Reject') {
    line.end('rejected_by_flow');
    return line.record('rejected');
  }
  const ringSeconds = options.ringTimeoutSeconds ?? CALL_DEFAULTS.ringTimeoutSeconds;
  const { dialed, problem } = yield* line.issue({ do: 'dial', maxMs: ringSeconds * 1_000 });
  if (dialed !== 'answered') return line.record(notAnswered(line, dialed, problem));
  line.answered((options.maxSeconds ?? CALL_DEFAULTS.maxSeconds) * 1_000);
  yield* line.report({ type: 'answered' });
  const says = yield* listen(line, options.machine ?? CALL_DEFAULTS.machine);
  if (says && !line.over) {
    yield* runDocuments(line, program);
    if (!line.over) line.end('finished');
  }
  if (line.over?.reason !== 'callee_hung_up') yield { do: 'hang_up' };
  return line.record(line.over?.reason === 'problem' ? 'failed' : 'completed');
}

function notAnswered(
  line: CallLine,
  dialed: Heard['dialed'],
  problem: string | undefined,
): CallRecord['end'] {
  line.over = undefined;
  switch (dialed) {
    case 'busy':
      line.end('busy');
      return 'busy';
    case 'no_answer':
      line.end('no_answer');
      return 'no_answer';
    case 'rejected':
      line.end('declined');
      return 'rejected';
    default:
      line.end('not_connected', problem);
      return 'failed';
  }
}

/** Finds out who answered, and returns whether to speak to them. */
function* listen(
  line: CallLine,
  behaviour: NonNullable<CallOptions['machine']>,
): Generator<CallCommand, boolean, Heard> {
  const since = line.nowMs;
  for (;;) {
    const passed = { nowMs: line.nowMs - since, waitMaxMs: LIMITS.callListenMs };
    const action = actionAfter(behaviour, line.detections, passed);
    if (action === 'hang_up') line.end('machine');
    if (action === 'leave') line.leaving = true;
    if (action !== 'wait') return action !== 'hang_up';
    const { detection } = yield* line.issue({ do: 'listen', maxMs: LIMITS.callListenMs - passed.nowMs });
    if (line.over) return false;
    // Nothing more will become known.
    if (!detection) line.detected('unknown');
    else line.detected(detection.answeredBy);
    const answeredBy = line.answeredBy ?? 'unknown';
    if (answeredBy === 'unknown') continue;
    yield* line.report({ type: answeredBy === 'human' ? 'human' : 'machine', data: { answeredBy } });
  }
}

function* runDocuments(line: CallLine, first: VoiceProgram): Generator<CallCommand, void, Heard> {
  for (let program: VoiceProgram | undefined = first; program; ) {
    const leaving: Leaving | undefined = yield* runProgram(line, program);
    program = leaving && (yield* fetchProgram(line, leaving));
  }
}

/** Returns what the call continues with, or undefined at its end. */
function* runProgram(
  line: CallLine,
  { steps }: VoiceProgram,
): Generator<CallCommand, Leaving | undefined, Heard> {
  const places = new Map(
    steps.flatMap((step, i) => (step.verb !== 'Other' && step.id !== undefined ? [[step.id, i]] : [])),
  );
  for (let from = 0; ; ) {
    const going = yield* runSteps(line, steps.slice(from));
    if (!going || line.over) return undefined;
    if ('leaving' in going) return going.leaving;
    const place = places.get(going.to);
    if (place === undefined) return undefined;
    from = place;
  }
}

/** Returns where the call continues, if not after these steps. */
function* runSteps(line: CallLine, steps: readonly Step[]): Generator<CallCommand, Going | undefined, Heard> {
  for (const step of steps) {
    const going = yield* runStep(line, step);
    if (line.over || going) return going;
  }
  return undefined;
}

function* runStep(line: CallLine, step: Step): Generator<CallCommand, Going | undefined, Heard> {
  if (!line.mayGoOn()) return undefined;
  line.note(step);
  switch (step.verb) {
    case 'Say':
    case 'Play':
    case 'Pause':
      yield* prompt(line, step, false);
      return undefined;
    case 'Gather': {
      // A callee who has opted out is not asked anything else.
      if (line.optedOut) return stop(line);
      const next = yield* runGather(line, step, prompt);
      if (next && 'leaving' in next) return next;
      const going = next && !line.over ? yield* runSteps(line, next.steps) : undefined;
      // Ends after the steps of the opt-out's branch.
      return going || !line.optedOut ? going : stop(line);
    }
    case 'Record':
      if (line.optedOut) return stop(line);
      return yield* record(line, step);
    case 'Goto':
      return { to: step.to };
    case 'Redirect':
      return { leaving: { url: step.url, method: step.method } };
    case 'Reject':
    case 'Hangup':
      line.end('finished');
      return undefined;
    // An outgoing call was answered before its first step; unknown verbs are not run, and a Dial only where the carrier can.
    case 'Answer':
      return undefined;
    case 'Other':
      if (step.element.name === 'Dial') {
        yield* line.issue({ do: 'connect', element: step.element, maxMs: Number.POSITIVE_INFINITY });
      }
      return undefined;
  }
}

function stop(line: CallLine): undefined {
  line.end('opted_out');
  return undefined;
}

/** Speaks, plays or is silent, as often as it should. With `bargeIn` it returns the key that ended it. */
function* prompt(
  line: CallLine,
  step: Extract<Step, { verb: 'Say' | 'Play' | 'Pause' }>,
  bargeIn: boolean,
): Generator<CallCommand, string | undefined, Heard> {
  if (step.verb === 'Pause') {
    const maxMs = wholeNumber(step.length, VERB_DEFAULTS.Pause.length, 60) * 1_000;
    return (yield* line.issue({ do: 'pause', bargeIn, maxMs })).key;
  }
  const times = wholeNumber(step.loop, VERB_DEFAULTS.Say.loop, 100);
  for (let i = 0; i < times && !line.over; i++) {
    const { key } = yield* line.issue(soundOf(step, line.documentUrl, bargeIn));
    if (key !== undefined && bargeIn) return key;
  }
  return undefined;
}

function soundOf(
  step: Extract<Step, { verb: 'Say' | 'Play' }>,
  base: string | undefined,
  bargeIn: boolean,
): TimedCommand {
  const maxMs = Number.POSITIVE_INFINITY;
  if (step.verb === 'Say') {
    const { content, voice, language } = step;
    return { do: 'speak', text: spokenText(content), voice, language, bargeIn, maxMs };
  }
  if (step.url === undefined) return { do: 'send', tones: step.digits ?? '', maxMs };
  const url = base === undefined ? step.url : (addressOf(step.url, base) ?? step.url);
  return { do: 'play', url, bargeIn, maxMs };
}

function* record(line: CallLine, step: RecordStep): Generator<CallCommand, Going | undefined, Heard> {
  const { recording } = yield* line.issue({
    do: 'record',
    silenceMs: wholeNumber(step.timeout, VERB_DEFAULTS.Record.timeout, 120) * 1_000,
    finishOnKey: step.finishOnKey ?? VERB_DEFAULTS.Record.finishOnKey,
    beep: step.playBeep !== false && step.playBeep !== 'false',
    maxMs: wholeNumber(step.maxLength, VERB_DEFAULTS.Record.maxLength, 14_400) * 1_000,
  });
  if (!recording) return undefined;
  if (line.keepRecording(recording)) yield* line.report({ type: 'recording', data: { ...recording } });
  if (step.action === undefined) return undefined;
  const fields = {
    RecordingSid: recording.reference,
    RecordingDuration: String(Math.round(recording.durationMs / 1_000)),
  };
  return { leaving: { url: step.action, method: step.method, fields } };
}
