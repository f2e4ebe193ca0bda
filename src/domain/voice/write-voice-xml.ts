import { escapeXml } from '../template';
import { branchExpression } from './branch-expression';
import type { ExtraAttributes, GatherStep, Step, VoiceProgram } from './program';
import { VERBS, type VerbName } from './verbs';
import type { XmlNode } from './xml-tree';

/** Writes the document of a program, one verb a line. `parseVoiceXml` returns the same program. */
export function writeVoiceXml(program: VoiceProgram): string {
  const extra = attributes(program.extra ?? []);
  if (program.steps.length === 0) return `<Response${extra}/>`;
  return `<Response${extra}>\n${writeSteps(program.steps, 1)}</Response>`;
}

function writeSteps(steps: readonly Step[], depth: number): string {
  return steps.map((step) => writeStep(step, depth)).join('');
}

function writeStep(step: Step, depth: number): string {
  const indent = '  '.repeat(depth);
  if (step.verb === 'Other') return `${indent}${writeNode(step.element)}\n`;
  if (step.verb === 'Gather') return writeGather(step, depth);
  const verb = step.verb === 'Goto' ? 'Redirect' : step.verb;
  return `${indent}${element(verb, verbAttributes(verb, step), contentOf(step))}\n`;
}

function contentOf(step: Exclude<Step, { verb: 'Other' | 'Gather' }>): string {
  if (step.verb === 'Say') return step.content.map(writeNode).join('');
  if (step.verb === 'Goto') return `#${content(step.to)}`;
  return step.verb === 'Play' || step.verb === 'Redirect' ? content(step.url ?? '') : '';
}

function writeGather(step: GatherStep, depth: number): string {
  const indent = '  '.repeat(depth);
  const own = verbAttributes('Gather', step);
  const prompts = step.prompts.length > 0 ? `\n${writeSteps(step.prompts, depth + 1)}${indent}` : '';
  const gather = `${indent}${element('Gather', own, prompts)}\n`;
  const keys = step.branches.map((branch) => branch.on).filter((on) => on.length === 1);
  const branches = step.branches.map(({ on, steps }) => {
    const expression = branchExpression(on, step.output ?? '', keys);
    const inside = steps.length > 0 ? `\n${writeSteps(steps, depth + 1)}${indent}` : '';
    return `${indent}${element('If', attributes([['expression', expression]]), inside)}\n`;
  });
  return gather + branches.join('');
}

function verbAttributes(verb: VerbName, step: object): string {
  const values = step as Readonly<Record<string, unknown>>;
  const own = ['id', ...Object.keys(VERBS[verb].attributes), 'history']
    .filter((name) => values[name] !== undefined)
    .map((name) => [name, String(values[name])] as const);
  return attributes([...own, ...((values.extra as ExtraAttributes | undefined) ?? [])]);
}

export function writeNode(node: XmlNode): string {
  if (typeof node === 'string') return content(node);
  return element(node.name, attributes(node.attributes), node.children.map(writeNode).join(''));
}

const element = (name: string, own: string, inside: string): string =>
  inside === '' ? `<${name}${own}/>` : `<${name}${own}>${inside}</${name}>`;

const attributes = (pairs: ExtraAttributes): string =>
  pairs.map(([name, value]) => ` ${name}="${attributeValue(value)}"`).join('');

// Quotes are escaped only where they would end a value, because people read these documents.
const content = (text: string): string => escapeXml(text).replaceAll('&quot;', '"').replaceAll('&#39;', "'");

/** Tab and line feed are written as references, because a parser turns them into spaces (XML 1.0, 3.3.3). */
const attributeValue = (text: string): string =>
  escapeXml(text).replaceAll('&#39;', "'").replaceAll('\t', '&#9;').replaceAll('\n', '&#10;');
