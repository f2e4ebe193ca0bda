import type { CallCommand, Heard } from './call-control';
import type { Leaving } from './call-documents';
import type { CallLine } from './call-line';
import type { Branch, GatherStep, Prompt, Step } from './program';
import { VERB_DEFAULTS } from './verbs';
import { wholeNumber } from './whole-number';

/** A jump within the document, or a step that leaves it. */
export type Going = { to: string } | { leaving: Leaving };

type Speak = (
  line: CallLine,
  step: Prompt,
  bargeIn: boolean,
) => Generator<CallCommand, string | undefined, Heard>;

/**
 * Asks, and waits for keys. The input decides the branch whose steps are run, or goes to the `action`, which
 * has priority where there is one. Speech is not recognised. A single opt-out key always counts as opt-out,
 * even where more keys are asked for.
 */
export function* runGather(
  line: CallLine,
  gather: GatherStep,
  speak: Speak,
): Generator<CallCommand, { steps: readonly Step[] } | { leaving: Leaving } | undefined, Heard> {
  const tries = 1 + wholeNumber(gather.retries, VERB_DEFAULTS.Gather.retries, 10);
  const name = gather.output ?? gather.id;
  for (let left = tries; left > 0; left--) {
    const digits = yield* enter(line, gather, speak);
    // Entered keys count, even if the call ended after them.
    if (line.over && digits === '') return undefined;
    const optedOut = digits.length === 1 && (gather.optOutDigits ?? '').includes(digits);
    const leaving = optedOut ? undefined : leavingFor(gather, digits, left === 1);
    const own = gather.branches.find(({ on }) => on === digits);
    const branch = leaving
      ? undefined
      : (own ?? (left > 1 && !optedOut ? undefined : otherBranch(gather.branches, digits, optedOut)));
    if (digits !== '') {
      const entered = {
        ...(name === undefined ? {} : { gather: name }),
        digits,
        ...(branch ? { branch: branch.on } : {}),
        ...(optedOut ? { optedOut: true as const } : {}),
        ...line.where(),
      };
      if (line.enter(entered)) yield* line.report({ type: 'digits', data: entered });
    } else if (branch)
      line.enter({ ...(name === undefined ? {} : { gather: name }), digits, branch: branch.on });
    if (leaving && !line.over) return { leaving };
    if (branch || optedOut || line.over) return branch;
    if (gather.branches.length === 0 && digits !== '') return undefined;
  }
  return undefined;
}

/** An empty input is sent there only after the last retry, and only if that is wanted. */
function leavingFor(gather: GatherStep, digits: string, isLast: boolean): Leaving | undefined {
  const { action: url, method, actionOnEmptyResult } = gather;
  if (url === undefined || (digits === '' && !(isLast && String(actionOnEmptyResult) === 'true'))) return;
  return { url, method, fields: { Digits: digits } };
}

/** An opt-out key without a branch of its own is no mistake. */
function otherBranch(branches: readonly Branch[], digits: string, optedOut: boolean): Branch | undefined {
  if (optedOut) return undefined;
  return branches.find(({ on }) => on === (digits === '' ? 'timeout' : 'nomatch'));
}

function* enter(line: CallLine, gather: GatherStep, speak: Speak): Generator<CallCommand, string, Heard> {
  const first = yield* ask(line, gather, speak);
  const timeoutMs = wholeNumber(gather.timeout, VERB_DEFAULTS.Gather.timeout, 120) * 1_000;
  const wanted = Math.max(1, wholeNumber(gather.numDigits, KEYS_MAX, KEYS_MAX));
  const finish = gather.finishOnKey ?? VERB_DEFAULTS.Gather.finishOnKey;
  // A key that has a meaning of its own is the input; it does not end one.
  const means = (key: string) =>
    gather.branches.some(({ on }) => on === key) || (gather.optOutDigits ?? '').includes(key);
  let digits = '';
  let key = first;
  for (;;) {
    if (key !== undefined) {
      if (key === finish && !(digits === '' && means(key))) return digits;
      digits += key;
      if (digits.length >= wanted) return digits;
    }
    if (line.over) return digits;
    const entered = digits.length;
    // Where the key means something by itself, it is entered and not swallowed.
    const finishOnKey = wanted === 1 && means(finish) ? '' : finish;
    key = (yield* line.issue({ do: 'wait_key', maxMs: timeoutMs, numDigits: wanted, entered, finishOnKey }))
      .key;
    if (key === undefined) return digits;
  }
}

/** Waits until a key is pressed, and returns it. */
function* ask(
  line: CallLine,
  { prompts }: GatherStep,
  speak: Speak,
): Generator<CallCommand, string | undefined, Heard> {
  for (const step of prompts) {
    line.note(step);
    const key = yield* speak(line, step, true);
    if (key !== undefined || line.over) return key;
  }
  return undefined;
}

/** An input without a length of its own. */
export const KEYS_MAX = 64;
