import type { ValidationIssue } from '../validation-issue';
import { checkFlow } from './check-flow';
import { compileFlow } from './compile-flow';
import { hasErrors } from './findings';
import { parseVoiceXml } from './parse-voice-xml';
import { allSteps, spokenText, type VoiceProgram } from './program';

export interface JudgedVoiceTemplate {
  /** The body that is sent: as given or, if that is blank, compiled from the flow. */
  body: string;
  findings: ValidationIssue[];
}

/**
 * Judges a voice template's body and flow together (api.md 5). The body is sent unless it is blank; then the
 * flow's document is used. A flow next to a body must still be a valid flow, but a problem that only keeps it
 * from being compiled is a warning.
 */
export function judgeVoiceTemplate({ body, flow }: { body: string; flow: unknown }): JudgedVoiceTemplate {
  if (body.trim() === '') {
    const { compiled, findings } = compileFlow(flow);
    return { body: compiled?.xml ?? '', findings };
  }
  const { program, findings } = parseVoiceXml(body);
  const ofFlow = checkFlow(flow).map(
    (finding): ValidationIssue =>
      TO_COMPILE.has(finding.code) ? { ...finding, severity: 'warning' } : finding,
  );
  if (program && !hasErrors(findings) && !hasErrors(ofFlow)) ofFlow.push(...differences(program, flow));
  return { body, findings: [...findings, ...ofFlow] };
}

/** Codes of problems that keep a flow from being compiled, although it is a valid flow. */
const TO_COMPILE: ReadonlySet<string> = new Set(['ambiguous_edges', 'invalid_value', 'missing_value']);

/** Warns about differences, because an author who edits the flow believes that callees hear it. */
function differences(program: VoiceProgram, flow: unknown): ValidationIssue[] {
  const { compiled, findings } = compileFlow(flow);
  if (!compiled) {
    const cause = findings.find(({ severity }) => severity === 'error');
    // A problem that only compiling shows, its length for example.
    return cause && !TO_COMPILE.has(cause.code) ? [{ ...cause, severity: 'warning' }] : [];
  }
  if (spoken(compiled.program) === spoken(program)) return [];
  const message = 'The flow says other things than body does; body is what is sent';
  return [{ path: 'voiceJson', code: 'body_differs', message, severity: 'warning' }];
}

function spoken(program: VoiceProgram): string {
  const texts = [...allSteps(program.steps)].flatMap((step) =>
    step.verb === 'Say' ? [spokenText(step.content)] : [],
  );
  return [...new Set(texts)].sort().join('\n');
}
