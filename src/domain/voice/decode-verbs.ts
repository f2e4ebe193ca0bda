import type { FieldCode } from '../field-codes';
import type { ValidationIssue } from '../validation-issue';
import { holdsPlaceholder, isCallableUrl, isLabel, isRelativeUrl, readValue } from './attribute-value';
import { type Comparison, readBranchExpression } from './branch-expression';
import type { Branch, Prompt, Step, VoiceProgram } from './program';
import {
  type AttributeType,
  HISTORY,
  PROMPTS,
  SPEECH_MARKS,
  TERMINALS,
  UNSUPPORTED_VERBS,
  VERBS,
  type VerbName,
  verbNamed,
} from './verbs';
import type { XmlElement, XmlNode } from './xml-tree';

type Report = (
  severity: ValidationIssue['severity'],
  code: FieldCode,
  message: string,
  at: XmlElement,
) => void;

export interface DecodedVoice {
  program: VoiceProgram;
  /** The element of each step. */
  origins: ReadonlyMap<Step, XmlElement>;
}

/** Decodes the program of a document's tree, whose depth is limited. */
export function decodeVoice(root: XmlElement, report: Report): DecodedVoice {
  return new VoiceDecoder(report).decode(root);
}

class VoiceDecoder {
  private readonly origins = new Map<Step, XmlElement>();

  constructor(private readonly report: Report) {}

  readonly decode = (root: XmlElement): DecodedVoice => {
    this.refuseText(root);
    for (const [name] of root.attributes) {
      this.report('warning', 'unknown_attribute', `<Response> has no attribute ${name}; it is kept`, root);
    }
    const steps = this.decodeAll(root);
    const extra = root.attributes;
    return { program: extra.length > 0 ? { steps, extra } : { steps }, origins: this.origins };
  };

  private decodeAll(parent: XmlElement): Step[] {
    const steps: Step[] = [];
    const elements = elementsOf(parent);
    let left = false;
    for (let i = 0; i < elements.length; i += 1) {
      const element = elements[i] as XmlElement;
      let step = this.decodeStep(element);
      if (step.verb === 'Gather' && step.output !== undefined) {
        const branches = this.decodeBranches(step.output, elements.slice(i + 1));
        i += branches.length;
        step = { ...step, branches };
      }
      if (left && !('id' in step)) {
        this.report('warning', 'unreachable_verb', `<${element.name}> is never reached`, element);
      }
      left = TERMINALS.has(step.verb);
      this.origins.set(step, element);
      steps.push(step);
    }
    return steps;
  }

  private decodeStep(element: XmlElement): Step {
    const verb = verbNamed(element.name);
    if (!verb) return this.decodeOther(element);
    const common = this.decodeAttributes(verb, element);
    // The table defines a verb's attributes, and program.ts defines the same as types; a test compares them.
    switch (verb) {
      case 'Say':
        return { verb, ...common, content: this.decodeSpeech(element) } as Step;
      case 'Play':
      case 'Redirect':
        return this.decodeAddress(verb, element, common);
      case 'Gather':
        return { verb, ...common, prompts: this.decodePrompts(element), branches: [] } as Step;
      default:
        this.refuseContent(element);
        return { verb, ...common } as Step;
    }
  }

  /** Known values by their names; the others unchanged in `extra`. */
  private decodeAttributes(verb: VerbName, element: XmlElement): Record<string, unknown> {
    const types: Readonly<Record<string, AttributeType>> = VERBS[verb].attributes;
    const values: Record<string, unknown> = {};
    const extra: [string, string][] = [];
    const keep = (name: string, text: string, severity: 'error' | 'warning', expected: string) => {
      extra.push([name, text]);
      this.report(severity, 'invalid_value', `${name} of <${element.name}> must be ${expected}`, element);
    };
    for (const [name, text] of element.attributes) {
      if (name === 'id') {
        if (isLabel(text)) values.id = text;
        else keep(name, text, 'error', 'a letter or _, then at most 63 letters, digits, _, - and .');
      } else if (name === 'history') {
        // Only a warning, because it decides what a record keeps and not what a person hears.
        if ((HISTORY as readonly string[]).includes(text)) values.history = text;
        else keep(name, text, 'warning', `one of ${HISTORY.join(', ')}`);
      } else if (Object.hasOwn(types, name)) {
        const type = types[name] as AttributeType;
        const read = readValue(type, text);
        if ('wrong' in read) keep(name, text, 'error', read.wrong);
        else values[name] = read.value;
        if (type.kind === 'url' && 'value' in read) this.warnOfRelative(text, element);
      } else {
        extra.push([name, text]);
        this.report(
          'warning',
          'unknown_attribute',
          `<${element.name}> has no attribute ${name}; it is kept`,
          element,
        );
      }
    }
    return extra.length > 0 ? { ...values, extra } : values;
  }

  private decodeAddress(
    verb: 'Play' | 'Redirect',
    element: XmlElement,
    common: Record<string, unknown>,
  ): Step {
    for (const child of elementsOf(element)) this.misplaced(child, element);
    const url = element.children
      .filter((child) => typeof child === 'string')
      .join('')
      .trim();
    if (verb === 'Redirect' && url.startsWith('#')) {
      const { method, extra, ...rest } = common;
      const kept = method === undefined ? extra : [['method', String(method)], ...((extra as []) ?? [])];
      return { verb: 'Goto', ...rest, ...(kept ? { extra: kept } : {}), to: url.slice(1) } as Step;
    }
    if (url === '') {
      if (verb === 'Play' && common.digits !== undefined) return { verb, ...common } as Step;
      this.report('error', 'missing_value', `<${element.name}> holds no address`, element);
    } else if (!holdsPlaceholder(url) && !isCallableUrl(url)) {
      const message = `<${element.name}> must hold an http or https address without spaces`;
      this.report('error', 'invalid_value', message, element);
    } else {
      this.warnOfRelative(url, element);
    }
    return { verb, ...common, ...(verb === 'Play' && url === '' ? {} : { url }) } as Step;
  }

  private warnOfRelative(url: string, element: XmlElement): void {
    if (holdsPlaceholder(url) || !isRelativeUrl(url)) return;
    const message = `${url.slice(0, 80)} is relative, and a template has no address of its own`;
    this.report('warning', 'relative_url', message, element);
  }

  private decodePrompts(gather: XmlElement): Prompt[] {
    this.refuseText(gather);
    const prompts: Prompt[] = [];
    for (const element of elementsOf(gather)) {
      const verb = verbNamed(element.name);
      if (verb === undefined || !PROMPTS.has(verb)) {
        this.misplaced(element, gather);
        continue;
      }
      const step = this.decodeStep(element) as Prompt;
      this.origins.set(step, element);
      prompts.push(step);
    }
    return prompts;
  }

  private decodeSpeech(say: XmlElement): readonly XmlNode[] {
    const waiting = [...elementsOf(say)];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      if (verbNamed(next.name) || UNSUPPORTED_VERBS.has(next.name)) this.misplaced(next, say);
      else if (!SPEECH_MARKS.has(next.name) && !next.name.includes(':')) {
        this.report('warning', 'unknown_speech_mark', `<${next.name}> is no mark of SSML; it is kept`, next);
      }
      waiting.push(...elementsOf(next));
    }
    const silent = say.children.every((child) => typeof child === 'string' && child.trim() === '');
    if (silent) this.report('warning', 'empty_text', `<${say.name}> says nothing`, say);
    return say.children;
  }

  /** The branches of a gather: the first matching elements after it. */
  private decodeBranches(output: string, elements: readonly XmlElement[]): Branch[] {
    return comparisonsAtStart(output, elements).map(({ on }, i) => {
      const element = elements[i] as XmlElement;
      this.refuseText(element);
      return { on, steps: this.decodeAll(element) };
    });
  }

  private decodeOther(element: XmlElement): Step {
    const inside = UNSUPPORTED_VERBS.get(element.name);
    if (inside === undefined) {
      const known = knownLike(element.name);
      const hint = known === undefined ? '' : `; did you mean <${known}>?`;
      this.report(
        'warning',
        'unknown_verb',
        `<${element.name}> is no known verb; it is kept${hint}`,
        element,
      );
    } else {
      this.report(
        'warning',
        'unsupported_verb',
        `<${element.name}> is kept, and not run by Fanfare itself`,
        element,
      );
    }
    const expression = element.attributes.find(([name]) => name === 'expression')?.[1] ?? '';
    if (holdsPlaceholder(expression)) {
      const message = 'An expression may not hold a placeholder: a value could change what it compares';
      this.report('error', 'placeholder_in_expression', message, element);
    }
    // Decoded only for the problems of the verbs in it; the element itself is kept unchanged.
    if (inside === 'verbs') this.decodeAll(element);
    return { verb: 'Other', element };
  }

  private refuseContent(element: XmlElement): void {
    this.refuseText(element);
    for (const child of elementsOf(element)) this.misplaced(child, element);
  }

  private refuseText(element: XmlElement): void {
    if (element.children.some((child) => typeof child === 'string' && child.trim() !== '')) {
      this.report('error', 'unexpected_text', `<${element.name}> may not hold text`, element);
    }
  }

  private misplaced(child: XmlElement, parent: XmlElement): void {
    this.report('error', 'misplaced_verb', `<${child.name}> may not stand in <${parent.name}>`, child);
  }
}

const elementsOf = (parent: XmlElement): XmlElement[] =>
  parent.children.filter((child): child is XmlElement => typeof child !== 'string');

/** Ifs that compare the input of a gather, each input once. The first other element ends them. */
function comparisonsAtStart(output: string, elements: readonly XmlElement[]): Comparison[] {
  const found: Comparison[] = [];
  for (const { name, attributes } of elements) {
    const expression = attributes.find(([attribute]) => attribute === 'expression')?.[1];
    if (name !== 'If' || expression === undefined || attributes.length > 1) break;
    const comparison = readBranchExpression(expression);
    if (!comparison || comparison.output !== output) break;
    if (found.some(({ on }) => on === comparison.on)) break;
    found.push(comparison);
  }
  // The "anything else" branch must exclude exactly these keys; otherwise it is a separate comparison.
  const keys = found.map(({ on }) => on).filter((on) => on.length === 1);
  const odd = found.findIndex(
    (one) =>
      one.on === 'nomatch' &&
      !(one.keys.length === keys.length && keys.every((key) => one.keys.includes(key))),
  );
  return odd < 0 ? found : found.slice(0, odd);
}

const KNOWN = [...Object.keys(VERBS), ...UNSUPPORTED_VERBS.keys(), 'Speak', 'GetDigits'];
const knownLike = (name: string): string | undefined =>
  KNOWN.find((known) => known.toLowerCase() === name.toLowerCase());
