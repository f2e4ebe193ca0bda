import type { FieldCode } from '../field-codes';
import { LIMITS } from '../limits';
import type { ValidationIssue } from '../validation-issue';
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
  findings: ValidationIssue[];
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

const layOut = (graph: FlowGraph, start: FlowNode): VoiceProgram => new FlowLayout(graph, start).program();

class FlowLayout {
  private readonly unheard = new Findings();
  private readonly labels = new Map<number, string>();
  private readonly taken = new Set<string>();
  private readonly sections: FlowNode[] = [];
  private menus = 0;

  constructor(
    private readonly graph: FlowGraph,
    private readonly start: FlowNode,
  ) {}

  readonly program = (): VoiceProgram => {
    // Answering is not part of what a loop back to the start repeats.
    const steps: Step[] =
      this.start.kind === 'Answer' || this.start.kind === 'Reject' ? [] : [{ verb: 'Answer' }];
    if (this.isShared(this.start)) this.labelOf(this.start);
    else steps.push(...this.follow(this.start, 0));
    for (let next = this.sections.shift(); next; next = this.sections.shift()) {
      steps.push(...this.follow(next, 0, this.labels.get(next.index)));
    }
    return { steps };
  };

  /** The label of a node's section, which is written after the present one. */
  private labelOf(node: FlowNode): string {
    const known = this.labels.get(node.index);
    if (known !== undefined) return known;
    const plain = node.id.replace(/[^\w.-]/g, '_').replace(/^(?![A-Za-z_])/, 'n');
    let label = plain.slice(0, 56);
    for (let i = 2; this.taken.has(label); i += 1) label = `${plain.slice(0, 56)}-${i}`;
    this.taken.add(label);
    this.labels.set(node.index, label);
    this.sections.push(node);
    return label;
  }

  private readonly isShared = (node: FlowNode): boolean =>
    (this.graph.edgesInto[node.index] ?? 0) > 1 ||
    (node === this.start && (this.graph.edgesInto[node.index] ?? 0) > 0);

  /** The steps from a node to the end of the call, or to a jump. */
  private follow(first: FlowNode, depth: number, label?: string): Step[] {
    const steps: Step[] = [];
    let place = label;
    const add = (step: Step): void => {
      steps.push(place === undefined ? step : ({ ...step, id: place } as Step));
      place = undefined;
    };
    for (let node: FlowNode | undefined = first; node; ) {
      const begins = node === first && place !== undefined;
      if ((this.isShared(node) && !begins) || depth > BRANCH_DEPTH) {
        add({ verb: 'Goto', to: this.labelOf(node) });
        return steps;
      }
      const step = stepOf(node, this.unheard);
      const edges: readonly FlowEdge[] = this.graph.edgesFrom[node.index] ?? [];
      if (step) add(step.verb === 'Gather' ? this.gatherWith(step, edges, depth) : step);
      if (step && TERMINALS.has(step.verb)) return steps;
      const onwards: FlowEdge | undefined =
        step?.verb === 'Gather' ? edges.find(({ on }) => on === undefined) : edges[0];
      node = onwards && this.graph.nodes[onwards.target];
    }
    add({ verb: 'Hangup' });
    return steps;
  }

  private gatherWith(gather: GatherStep, edges: readonly FlowEdge[], depth: number): Step {
    const keyed = edges.filter(({ on }) => on !== undefined);
    const optOut = edges.flatMap(({ on, optOut: isOptOut }) => (isOptOut && on?.length === 1 ? [on] : []));
    const optOutDigits = [...new Set([...(gather.optOutDigits ?? ''), ...optOut])].join('');
    this.menus += 1;
    const output = gather.output ?? (keyed.length > 0 ? `menu${this.menus}` : undefined);
    const branches = keyed.map(
      ({ on, target }) =>
        ({ on, steps: this.follow(this.graph.nodes[target] as FlowNode, depth + 1) }) as Branch,
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
}
