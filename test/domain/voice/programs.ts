import fc from 'fast-check';
import {
  type Branch,
  KEYS,
  type Prompt,
  type Step,
  type VoiceProgram,
} from '../../../src/domain/voice/program';
import { HISTORY } from '../../../src/domain/voice/verbs';
import type { XmlNode } from '../../../src/domain/voice/xml-tree';

/** Programs as a document can hold them: every verb, nested branches, kept oddities, texts of any characters. */
export function programs(): fc.Arbitrary<VoiceProgram> {
  return fc
    .record(
      { steps: fc.array(step(3), { maxLength: 8 }), extra: optional(extra) },
      { requiredKeys: ['steps'] },
    )
    .map(withoutAbsent);
}

const character = fc
  .oneof(
    fc.constantFrom(...'<>&"\'\r\n\t ]{}/-!'),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    fc.integer({ min: 0x20, max: 0x10ffff }).map((code) => String.fromCodePoint(code)),
  )
  .filter((text) => /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]+$/u.test(text));
const text = fc.array(character, { maxLength: 12 }).map((all) => all.join('').replaceAll('{{', '{ {'));
const someText = text.filter((value) => value !== '');
const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.-]{0,10}$/);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const withoutAbsent = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;

/** Names that no verb has. */
const extra = fc.uniqueArray(
  fc.tuple(
    name.map((one) => `x-${one}`),
    text,
  ),
  {
    minLength: 1,
    maxLength: 3,
    selector: ([one]) => one,
  },
);
const common = { id: optional(name), history: optional(fc.constantFrom(...HISTORY)), extra: optional(extra) };
const placeholder = fc.constantFrom('{{N}}', '1{{ N }}');
const whole = (min: number, max: number) => optional(fc.oneof(fc.integer({ min, max }), placeholder));
const truth = optional(fc.oneof(fc.boolean(), placeholder));
const language = optional(fc.constantFrom('en-US', 'de', '{{LANGUAGE}}'));
const url = fc.constantFrom(
  'https://example.com/a?b=c&d',
  '/relative',
  '{{URL}}',
  'https://x.example/{{ID}}.wav',
);
const method = optional(fc.constantFrom('GET', 'POST'));
const keys = fc.shuffledSubarray([...KEYS]).map((all) => all.join(''));

function marks(depth: number): fc.Arbitrary<readonly XmlNode[]> {
  const element = fc.record({
    name: fc.constantFrom('break', 'emphasis', 'say-as', 'x:own'),
    attributes: fc.uniqueArray(fc.tuple(name, text), { maxLength: 2, selector: ([one]) => one }),
    children: depth === 0 ? fc.constant([]) : fc.array(someText, { maxLength: 1 }),
  });
  // Two texts side by side are one.
  return fc
    .array(fc.oneof(someText, element), { maxLength: 4 })
    .map((nodes) => nodes.filter((node, i) => typeof node !== 'string' || typeof nodes[i - 1] !== 'string'));
}

const of = <T extends { verb: string }>(verb: T['verb'], fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc
    .record({ verb: fc.constant(verb), ...common, ...fields })
    .map((value) => withoutAbsent(value) as unknown as T);

const prompt: fc.Arbitrary<Prompt> = fc.oneof(
  of<Prompt>('Say', { voice: optional(text), language, loop: whole(1, 100), content: marks(1) }),
  of<Prompt>('Play', { loop: whole(1, 100), digits: optional(fc.constant('1w#')), url }),
  of<Prompt>('Pause', { length: whole(1, 60) }),
);

function branches(depth: number): fc.Arbitrary<Branch[]> {
  if (depth === 0) return fc.constant([]);
  const on = fc.constantFrom(...KEYS, 'timeout' as const, 'nomatch' as const);
  const branch = fc.record({ on, steps: fc.array(step(depth - 1), { maxLength: 3 }) });
  return fc.uniqueArray(branch, { maxLength: 4, selector: (one) => one.on });
}

function step(depth: number): fc.Arbitrary<Step> {
  const gather = of<Step & { verb: 'Gather' }>('Gather', {
    action: optional(url),
    method,
    input: optional(fc.constantFrom('dtmf', 'speech', 'dtmf speech')),
    numDigits: whole(1, 64),
    finishOnKey: optional(fc.constantFrom('', '#', '1')),
    timeout: whole(1, 120),
    speechTimeout: optional(fc.oneof(fc.constant('auto'), fc.integer({ min: 1, max: 120 }))),
    actionOnEmptyResult: truth,
    language,
    profanityFilter: truth,
    output: fc.constantFrom('menu', 'menu2'),
    retries: whole(0, 10),
    optOutDigits: optional(keys),
    prompts: fc.array(prompt, { maxLength: 2 }),
    branches: branches(depth),
  });
  return fc.oneof<fc.Arbitrary<Step>[]>(
    prompt,
    gather,
    of<Step>('Answer', {}),
    of<Step>('Record', {
      action: optional(url),
      method,
      timeout: whole(0, 120),
      playBeep: truth,
      finishOnKey: optional(keys),
    }),
    of<Step>('Redirect', { method, url }),
    of<Step>('Goto', { to: name }),
    of<Step>('Reject', { reason: optional(fc.constantFrom('rejected', 'busy')) }),
    of<Step>('Hangup', {}),
    fc.record({
      verb: fc.constant('Other' as const),
      element: fc.record({
        name: fc.constantFrom('Sing', 'Dial', 'x:own'),
        attributes: fc.uniqueArray(fc.tuple(name, text), { maxLength: 2, selector: ([one]) => one }),
        children: marks(1),
      }),
    }),
  );
}
