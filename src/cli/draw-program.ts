import {
  type Branch,
  type GatherStep,
  type RecordStep,
  type SayStep,
  type Step,
  spokenText,
  type VoiceProgram,
} from '../domain/voice/program';
import { TERMINALS, VERB_DEFAULTS } from '../domain/voice/verbs';
import { printable } from './command';

/**
 * What a call does, as lines for a terminal: one for each step in order, the parts of a question below it, and
 * a branch for each possible input. A step that others lead to has its name in front. `↑` leads back to a step
 * above, which makes a loop, and `↓` to one below.
 */
export function drawProgram({ steps }: VoiceProgram): string[] {
  const places = new Map<string, number>();
  for (const [i, step] of steps.entries()) {
    const id = idOf(step);
    if (id !== undefined && !places.has(id)) places.set(id, i);
  }
  const tree = steps.map((step, i) => nodeOf(step, { at: i, places }));
  if (!TERMINALS.has(steps.at(-1)?.verb ?? '')) tree.push({ text: 'the call ends' });
  return ['the call', ...lines(tree)];
}

interface Node {
  text: string;
  inside?: Node[];
}

interface Where {
  /** Index of the program's own step that contains this one. */
  at: number;
  places: ReadonlyMap<string, number>;
}

const idOf = (step: Step): string | undefined => (step.verb === 'Other' ? undefined : step.id);

function nodeOf(step: Step, where: Where): Node {
  const id = idOf(step);
  const name = id !== undefined && where.places.get(id) === where.at ? `[${shorten(id)}] ` : '';
  if (step.verb !== 'Gather') return { text: name + textOf(step, where) };
  return {
    text: name + gatherText(step),
    inside: [
      ...step.prompts.map((prompt) => nodeOf(prompt, where)),
      ...step.branches.map((branch) => branchNode(branch, where)),
      ...(step.action === undefined ? [] : [{ text: `whatever is entered → ${documentAt(step.action)}` }]),
      ...(step.optOutDigits === undefined
        ? []
        : [{ text: `${keys(step.optOutDigits)} → never called again, the call ends` }]),
    ],
  };
}

function branchNode({ on, steps }: Branch, where: Where): Node {
  const inside = steps.map((step) => nodeOf(step, where));
  const goesOn: Node[] = TERMINALS.has(steps.at(-1)?.verb ?? '')
    ? []
    : [{ text: '↓ on, after the question' }];
  const [only, ...more] = [...inside, ...goesOn];
  // A branch of one step needs no line of its own for it.
  if (only && more.length === 0 && !only.inside) return { text: `${ENTERED(on)} → ${only.text}` };
  return { text: `${ENTERED(on)} →`, inside: [...inside, ...goesOn] };
}

const ENTERED = (on: Branch['on']): string => {
  if (on === 'timeout') return 'nothing in time';
  return on === 'nomatch' ? 'anything else' : `key ${on}`;
};

function gatherText(step: GatherStep): string {
  const defaults = VERB_DEFAULTS.Gather;
  const { numDigits, timeout = defaults.timeout, retries = defaults.retries } = step;
  const count = numDigits === undefined ? 'keys' : Number(numDigits) === 1 ? 'a key' : `${numDigits} keys`;
  const what = (step.input ?? defaults.input) === 'speech' ? 'speech' : count;
  const again = Number(retries) === 0 ? [] : [`asked again ${retries} times`];
  return ['ask for ', [what, `${timeout} s for each`, ...again].join(', ')].join('');
}

function textOf(step: Exclude<Step, GatherStep>, { at, places }: Where): string {
  switch (step.verb) {
    case 'Say':
      return `say ${sayText(step)}`;
    case 'Play':
      return `play ${shorten(step.url ?? `the tones ${step.digits ?? ''}`)}${times(step.loop)}`;
    case 'Pause':
      return `wait ${step.length ?? VERB_DEFAULTS.Pause.length} s`;
    case 'Record':
      return recordText(step);
    case 'Redirect':
      return `→ ${documentAt(step.url)}`;
    case 'Goto': {
      const to = places.get(step.to);
      const way = to === undefined ? '→ to a place that is not there:' : to <= at ? '↑ back to' : '↓ on to';
      return `${way} [${shorten(step.to)}]`;
    }
    case 'Reject':
      return `refuse the call (${step.reason ?? VERB_DEFAULTS.Reject.reason})`;
    case 'Answer':
      return 'answer';
    case 'Hangup':
      return 'hang up';
    case 'Other':
      return `<${shorten(step.element.name)}> is not run`;
  }
}

function sayText({ content, language, loop }: SayStep): string {
  return `“${shorten(spokenText(content))}”${language === undefined ? '' : ` (${shorten(language)})`}${times(loop)}`;
}

function recordText({ maxLength, playBeep, action }: RecordStep): string {
  const beep = String(playBeep ?? VERB_DEFAULTS.Record.playBeep) === 'true' ? ' after a beep' : '';
  const then = action === undefined ? '' : `, then ${documentAt(action)}`;
  return `record${beep}, ${maxLength ?? VERB_DEFAULTS.Record.maxLength} s at most${then}`;
}

const documentAt = (url: string): string => `go on with the document at ${shorten(url)}`;

const times = (loop: number | string | undefined): string =>
  loop === undefined || Number(loop) === 1 ? '' : `, ${loop} times`;

const keys = (digits: string): string => `key ${[...printable(digits)].join(' or ')}`;

const TEXT_CHARS = 60;

const shorten = (text: string): string => {
  const characters = [...printable(text)];
  if (characters.length <= TEXT_CHARS) return characters.join('');
  return `${characters.slice(0, TEXT_CHARS - 1).join('')}…`;
};

function lines(nodes: readonly Node[], indent = ''): string[] {
  return nodes.flatMap(({ text, inside = [] }, i) => {
    const isLast = i === nodes.length - 1;
    return [`${indent}${isLast ? '└' : '├'}─ ${text}`, ...lines(inside, `${indent}${isLast ? ' ' : '│'}  `)];
  });
}
