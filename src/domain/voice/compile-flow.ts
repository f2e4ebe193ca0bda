import type { FieldCode } from '../field-codes';
import { LIMITS } from '../limits';
import type { Finding } from '../validation-issue';
import { examineFlow, moreInFlow } from './check-flow';
import { Findings, hasErrors } from './findings';
import type { FlowEdge, FlowGraph, FlowNode } from './flow-graph';
import { stepOf } from './flow-steps';
import { parseVoiceXml } from './parse-voice-xml';
import type { Branch, GatherStep, Step, VoiceProgram } from './program';
import { TERMINALS } from './verbs';
import { writeVoiceXml } from './write-voice-xml';

export interface CompiledFlow {
  compiled: { program: VoiceProgram; xml: string } | undefined;
  /** Problems of the flow; with an error, nothing is compiled. */
  findings: Finding[];
}

/**
 * Compiles a flow to a program and its document (docs/decisions/0005-voice-program.md). A node with one
 * incoming edge is written where that edge is, inside the branch. A node with several, or one that would be
 * nested too deep, becomes a section at the end, and the edges jump to its id.
 */
export function compileFlow(flow: unknown): CompiledFlow {
  const { flow: examined, findings } = examineFlow(flow);
  if (!examined || findings.hasErrors) return { compiled: undefined, findings: findings.all(moreInFlow) };
  const written = writeVoiceXml(layOut(examined.graph, examined.start));
  const refuse = (code: FieldCode, message: string): CompiledFlow => {
    findings.add({ path: 'voiceJson', code, message, severity: 'error' });
    return { compiled: undefined, findings: findings.all(moreInFlow) };
  };
  if (written.length > LIMITS.voiceXmlChars) {
    return refuse(
      'too_long',
      `The document would have ${written.length} characters; at most ${LIMITS.voiceXmlChars}`,
    );
  }
  // Parse the written document, so that the program that runs is what the document says, and no document leaves
  // that would be refused.
  const { program, findings: own } = parseVoiceXml(written);
  if (!program || hasErrors(own)) {
    const first = own.find(({ severity }) => severity === 'error');
    return refuse(first?.code ?? 'invalid_xml', `The document would not be valid: ${first?.message ?? ''}`);
  }
  return { compiled: { program, xml: written }, findings: findings.all(moreInFlow) };
}

/** Levels of Ifs inside Ifs. With a gather and its prompts inside the last one, the document has its ten levels. */
const BRANCH_DEPTH = LIMITS.voiceXmlDepth - 3;

function layOut(graph: FlowGraph, start: FlowNode): VoiceProgram {
  const unheard = new Findings();
  const labels = new Map<number, string>();
  const taken = new Set<string>();
  const sections: FlowNode[] = [];
  let menus = 0;

  /** The label of a node's section, which is written after the present one. */
  function labelOf(node: FlowNode): string {
    const known = labels.get(node.index);
    if (known !== undefined) return known;
    const plain = node.id.replace(/[^\w.-]/g, '_').replace(/^(?![A-Za-z_])/, 'n');
    let label = plain.slice(0, 56);
    for (let i = 2; taken.has(label); i += 1) label = `${plain.slice(0, 56)}-${i}`;
    taken.add(label);
    labels.set(node.index, label);
    sections.push(node);
    return label;
  }

  const isShared = (node: FlowNode): boolean =>
    (graph.edgesInto[node.index] ?? 0) > 1 || (node === start && (graph.edgesInto[node.index] ?? 0) > 0);

  /** The steps from a node to the end of the call, or to a jump. */
  function follow(first: FlowNode, depth: number, label?: string): Step[] {
    const steps: Step[] = [];
    let place = label;
    const add = (step: Step): void => {
      steps.push(place === undefined ? step : ({ ...step, id: place } as Step));
      place = undefined;
    };
    for (let node: FlowNode | undefined = first; node; ) {
      const begins = node === first && place !== undefined;
      if ((isShared(node) && !begins) || depth > BRANCH_DEPTH) {
        add({ verb: 'Goto', to: labelOf(node) });
        return steps;
      }
      const step = stepOf(node, unheard);
      const edges: readonly FlowEdge[] = graph.edgesFrom[node.index] ?? [];
      if (step) add(step.verb === 'Gather' ? gatherWith(step, edges, depth) : step);
      if (step && TERMINALS.has(step.verb)) return steps;
      const onwards: FlowEdge | undefined =
        step?.verb === 'Gather' ? edges.find(({ on }) => on === undefined) : edges[0];
      node = onwards && graph.nodes[onwards.target];
    }
    add({ verb: 'Hangup' });
    return steps;
  }

  function gatherWith(gather: GatherStep, edges: readonly FlowEdge[], depth: number): Step {
    const keyed = edges.filter(({ on }) => on !== undefined);
    const optOut = edges.flatMap(({ on, optOut: isOptOut }) => (isOptOut && on?.length === 1 ? [on] : []));
    const optOutDigits = [...new Set([...(gather.optOutDigits ?? ''), ...optOut])].join('');
    menus += 1;
    const output = gather.output ?? (keyed.length > 0 ? `menu${menus}` : undefined);
    const branches = keyed.map(
      ({ on, target }) => ({ on, steps: follow(graph.nodes[target] as FlowNode, depth + 1) }) as Branch,
    );
    return {
      ...gather,
      // One key decides, so that the callee need not press # after it.
      ...(keyed.length > 0 && gather.numDigits === undefined ? { numDigits: 1 } : {}),
      ...(optOutDigits === '' ? {} : { optOutDigits }),
      ...(output === undefined ? {} : { output }),
      branches,
    };
  }

  // Answering is not part of what a loop back to the start repeats.
  const steps: Step[] = start.kind === 'Answer' || start.kind === 'Reject' ? [] : [{ verb: 'Answer' }];
  if (isShared(start)) labelOf(start);
  else steps.push(...follow(start, 0));
  for (let next = sections.shift(); next; next = sections.shift()) {
    steps.push(...follow(next, 0, labels.get(next.index)));
  }
  return { steps };
}
