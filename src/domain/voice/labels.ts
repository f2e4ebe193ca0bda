import type { FieldCode } from '../field-codes';
import type { Finding } from '../validation-issue';
import { findCycles } from './cycles';
import { allSteps, type Step, type VoiceProgram } from './program';
import { TERMINALS } from './verbs';

type Report = (severity: Finding['severity'], code: FieldCode, message: string, at: Step) => void;

/**
 * Checks that every label is used once, that every `Goto` has a target, and that no loop speaks to the callee
 * for ever.
 */
export function checkLabels(program: VoiceProgram, report: Report): void {
  const named = new Set<string>();
  for (const step of allSteps(program.steps)) {
    const id = idOf(step);
    if (id === undefined) continue;
    if (named.has(id)) report('error', 'duplicate_id', `id ${id} is used twice`, step);
    named.add(id);
  }
  const places = placesOf(program);
  for (const step of allSteps(program.steps)) {
    if (step.verb !== 'Goto' || places.has(step.to)) continue;
    const why = named.has(step.to) ? 'stands inside another verb and cannot be reached' : 'is not there';
    report('error', 'unknown_place', `#${step.to.slice(0, 80)} ${why}`, step);
  }
  for (const cycle of findCycles(unattendedSuccessors(program, places))) {
    const first = program.steps[cycle[0] as number] as Step;
    report('error', 'loop_without_gather', 'This is repeated for ever, without a Gather in between', first);
  }
}

const idOf = (step: Step): string | undefined => (step.verb === 'Other' ? undefined : step.id);

function placesOf({ steps }: VoiceProgram): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [i, step] of steps.entries()) {
    const id = idOf(step);
    if (id !== undefined && !places.has(id)) places.set(id, i);
  }
  return places;
}

/** The steps after each step without a person's input; a gather has none, because the callee is asked there. */
function unattendedSuccessors({ steps }: VoiceProgram, places: ReadonlyMap<string, number>): number[][] {
  return steps.map((step, i) => {
    if (step.verb === 'Goto') return [places.get(step.to) ?? []].flat();
    if (step.verb === 'Gather' || TERMINALS.has(step.verb) || i + 1 === steps.length) return [];
    return [i + 1];
  });
}
