import type { Finding } from '../finding';
import { checkFlow } from './check-flow';
import { compileFlow } from './compile-flow';
import { hasErrors } from './findings';
import { parseVoiceXml } from './parse-voice-xml';
import { allSteps, spokenText, type VoiceProgram } from './program';

export interface JudgedVoiceTemplate {
  /** What is sent: as given, or compiled from the flow when nothing is. */
  body: string;
  findings: Finding[];
}

/**
 * A voice template's two halves together (api.md 5). The body is what is sent unless it is blank; then the
 * flow's document takes its place. A flow that is not needed for that must be one all the same, but what
 * only keeps it from being compiled is a warning.
 */
export function judgeVoiceTemplate({ body, flow }: { body: string; flow: unknown }): JudgedVoiceTemplate {
  if (body.trim() === '') {
    const { compiled, findings } = compileFlow(flow);
    return { body: compiled?.xml ?? '', findings };
  }
  const { program, findings } = parseVoiceXml(body);
  const ofFlow = checkFlow(flow).map(
    (finding): Finding => (TO_COMPILE.has(finding.code) ? { ...finding, severity: 'warning' } : finding),
  );
  if (program && !hasErrors(findings) && !hasErrors(ofFlow)) ofFlow.push(...differences(program, flow));
  return { body, findings: [...findings, ...ofFlow] };
}

/** Codes about how a flow would be run, and not about its being one. */
const TO_COMPILE: ReadonlySet<string> = new Set(['ambiguous_edges', 'invalid_value', 'missing_value']);

/** Whoever edits the flow believes that this is what people hear. */
function differences(program: VoiceProgram, flow: unknown): Finding[] {
  const { compiled, findings } = compileFlow(flow);
  if (!compiled) {
    const cause = findings.find(({ severity }) => severity === 'error');
    // What only shows when it is compiled, its length for example.
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
