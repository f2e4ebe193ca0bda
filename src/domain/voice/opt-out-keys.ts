import { runnableProgram } from './parse-voice-xml';
import { allSteps, type VoiceProgram } from './program';

/** The keys by which a callee opts out of further calls. */
export interface OptOutKeys {
  /** By the name of the gather: its `output`, or else its `id`. */
  byGather: ReadonlyMap<string, string>;
  /** The keys of all gathers of the program. */
  all: string;
}

export function optOutKeysOf(program: VoiceProgram): OptOutKeys {
  const byGather = new Map<string, string>();
  const all = new Set<string>();
  for (const step of allSteps(program.steps)) {
    if (step.verb !== 'Gather') continue;
    const keys = step.optOutDigits ?? '';
    for (const name of [step.output, step.id]) {
      // Two gathers may write to the same variable.
      if (name !== undefined) byGather.set(name, (byGather.get(name) ?? '') + keys);
    }
    for (const key of keys) all.add(key);
  }
  return { byGather, all: [...all].join('') };
}

/** Whether the input is an opt-out. If the gather is not known, the opt-out keys of all gathers count. */
export function isOptOut(keys: OptOutKeys, digits: unknown, gather: unknown): boolean {
  if (typeof digits !== 'string' || digits.length !== 1) return false;
  return ((typeof gather === 'string' ? keys.byGather.get(gather) : undefined) ?? keys.all).includes(digits);
}

/** The opt-out keys of a document; in a template they may still be placeholders. */
export function documentKeys(xml: string): OptOutKeys | undefined {
  const program = runnableProgram(xml);
  return program && optOutKeysOf(program);
}
