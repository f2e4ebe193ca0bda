import type { FieldCode } from '../field-codes';
import { LIMITS } from '../limits';
import type { ValidationIssue } from '../validation-issue';
import { findCycles } from './cycles';
import { decodeVoice } from './decode-verbs';
import { type DocumentFinding, Findings, hasErrors } from './findings';
import { allSteps, type Step, type VoiceProgram } from './program';
import { TERMINALS, verbNamed } from './verbs';
import { readXml, type XmlElement } from './xml-tree';

export interface ParsedVoice {
  /** The document's program; `undefined` when it is not well-formed or no voice document. */
  program: VoiceProgram | undefined;
  findings: DocumentFinding[];
}

/** All problems of a voice document (api.md 5, docs/voice.md), at once. */
export const checkVoiceXml = (xml: string): DocumentFinding[] => parseVoiceXml(xml).findings;

/**
 * Parses a voice document. Never throws, and takes time and memory linear in the length. Unknown verbs and
 * attributes are kept in the program and reported as warnings. A program with an error among its findings may
 * be shown, but must not be run.
 */
export function parseVoiceXml(xml: string): ParsedVoice {
  const findings = new Findings<DocumentFinding>();
  const at = placeIn(xml);
  const report = (
    severity: ValidationIssue['severity'],
    code: FieldCode,
    message: string,
    offset: number,
  ): void => {
    const { line, column } = at(offset);
    const told = `Line ${line}, column ${column}: ${message}`;
    findings.add({ path: PATH, code, message: told, severity, line, column });
  };
  const all = (): DocumentFinding[] =>
    findings.all((message, severity) => ({ path: PATH, code: 'more_findings', message, severity, ...at(0) }));
  if (xml.length > LIMITS.voiceXmlChars) {
    report('error', 'too_long', `A voice document has at most ${LIMITS.voiceXmlChars} characters`, 0);
    return { program: undefined, findings: all() };
  }
  const { root, offsets, problems } = readXml(xml, LIMITS.voiceXmlDepth);
  for (const { code, message, offset } of problems) report('error', code, message, offset);
  if (!root) return { program: undefined, findings: all() };

  const offsetOf = (element: XmlElement): number => offsets.get(element) ?? 0;
  if (root.name !== 'Response') {
    report(
      'error',
      'wrong_root',
      `The root element is <${root.name}>, and must be <Response>`,
      offsetOf(root),
    );
    return { program: undefined, findings: all() };
  }
  const verbs = countVerbs(root);
  if (verbs > LIMITS.voiceVerbs) {
    report('error', 'too_many_verbs', `${verbs} verbs; at most ${LIMITS.voiceVerbs} are run`, offsetOf(root));
  }
  const { program, origins } = decodeVoice(root, (severity, code, message, element) =>
    report(severity, code, message, offsetOf(element)),
  );
  checkLabels(program, (severity, code, message, step) =>
    report(severity, code, message, offsetOf(origins.get(step) ?? root)),
  );
  return { program: problems.length > 0 ? undefined : program, findings: all() };
}

/** The program to run; `undefined` for a document with an error. */
export function runnableProgram(xml: string): VoiceProgram | undefined {
  const { program, findings } = parseVoiceXml(xml);
  return program && !hasErrors(findings) ? program : undefined;
}

const PATH = 'body';

/** Number of elements outside speech, without the root. */
function countVerbs(root: XmlElement): number {
  let count = 0;
  const waiting = [root];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    if (verbNamed(next.name) === 'Say') continue;
    for (const child of next.children) {
      if (typeof child === 'string') continue;
      count += 1;
      waiting.push(child);
    }
  }
  return count;
}

/** Returns a function from an offset to line and column. It finds the line ends once, at the first call. */
function placeIn(xml: string): (offset: number) => { line: number; column: number } {
  let starts: number[] | undefined;
  return (offset) => {
    starts ??= [0, ...[...xml.matchAll(/\r\n?|\n/g)].map((end) => end.index + end[0].length)];
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] as number) + 1 };
  };
}

type Report = (severity: ValidationIssue['severity'], code: FieldCode, message: string, at: Step) => void;

/**
 * Checks that every label is used once, that every `Goto` has a target, and that no loop speaks to the callee
 * for ever.
 */
function checkLabels(program: VoiceProgram, report: Report): void {
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
