import fc from 'fast-check';
import { LIMITS } from '../../../src/domain/limits';
import { ANSWERED_BY } from '../../../src/domain/voice/answer-detection/detection';
import { MACHINE_BEHAVIOURS } from '../../../src/domain/voice/answer-detection/machine-behaviour';
import type { CallOptions } from '../../../src/domain/voice/call-options';
import { callData } from '../../../src/domain/voice/call-record';
import { runCall } from '../../../src/domain/voice/call-runner';
import { compileFlow } from '../../../src/domain/voice/compile-flow';
import { parseVoiceXml } from '../../../src/domain/voice/parse-voice-xml';
import { KEYS, type VoiceProgram } from '../../../src/domain/voice/program';
import { writeVoiceXml } from '../../../src/domain/voice/write-voice-xml';
import { type Doing, ScriptedCallee } from './callee';
import { edge, flowOf, node } from './flows';
import { programs } from './programs';

/** Documents to go on with: of all kinds, one that is none, and one in a circle. */
const DOCUMENTS = [
  ...fc.sample(programs(), { numRuns: 60, seed: 7 }).map(writeVoiceXml),
  'no document',
  '<Response><Gather numDigits="1" action="a"/><Redirect method="GET">/b?c</Redirect></Response>',
];

/** What may happen at any command, sensible or not. */
const doings: fc.Arbitrary<Doing[]> = fc.array(
  fc.record(
    {
      takesMs: fc.constantFrom(0, 1, 700, 30_000, -5_000),
      key: fc.constantFrom(...KEYS),
      hungUp: fc.constantFrom(false, false, false, false, true),
      dialed: fc.constantFrom('answered', 'answered', 'answered', 'busy', 'no_answer', 'rejected', 'failed'),
      detection: fc.constantFrom(...ANSWERED_BY).map((answeredBy) => ({ answeredBy })),
      recording: fc.constant({ reference: 'r', durationMs: 1 }),
      problem: fc.constantFrom(undefined, undefined, undefined, 'no_voice'),
      document: fc.constantFrom(...DOCUMENTS).map((text) => ({ url: 'https://example.com/flow/', text })),
    },
    { requiredKeys: ['dialed'] },
  ),
  { minLength: 1, maxLength: 40 },
);
const options: fc.Arbitrary<CallOptions> = fc.record(
  {
    machine: fc.constantFrom(...MACHINE_BEHAVIOURS),
    ringTimeoutSeconds: fc.constantFrom(5, 30, 600),
    maxSeconds: fc.constantFrom(5, 600, 840),
  },
  { requiredKeys: [] },
);

/** The call ends within its bounds, and its record within those of a receipt. */
function check(program: VoiceProgram, wanted: CallOptions, script: Doing[]): void {
  // Over and over: a callee who never hangs up must not keep the call alive.
  const callee = new ScriptedCallee((_, n) => script[n % script.length]);
  const record = runCall(program, wanted, callee);
  expect(callee.heard.length).toBeLessThanOrEqual(LIMITS.callCommands + 2);
  expect(callee.reports.length).toBeLessThanOrEqual(3 + 2 * LIMITS.callEntries + LIMITS.callCommands);
  for (const command of callee.heard) {
    if ('maxMs' in command && command.do !== 'dial') expect(command.maxMs).toBeGreaterThanOrEqual(0);
  }
  expect(record.documents.length).toBeLessThanOrEqual(LIMITS.callDocuments);
  if (record.answeredAtMs !== undefined) expect(record.outcome).toBeDefined();
  else expect(record.end).not.toBe('completed');
  expect(JSON.stringify(callData(record)).length).toBeLessThan(LIMITS.receiptDataChars);
}

test('any program, by any callee, comes to an end', () => {
  fc.assert(fc.property(programs(), options, doings, check), { numRuns: 1_500 });
});

const TYPES = [
  ...['text', 'answer', 'play', 'pause', 'record', 'redirect', 'reject', 'hangup', 'group', 'odd'],
  // Where a graph can branch and turn back.
  ...Array.from({ length: 20 }, () => 'gather'),
];
const HANDLES = [null, 'timeout', 'nomatch', 'strange', ...KEYS];

const many = <T>(value: T): T[] => Array.from({ length: 12 }, () => value);

/** Graphs of every kind of node: trees with edges across them, back, and to nowhere. */
function graphs(): fc.Arbitrary<unknown> {
  return fc.integer({ min: 1, max: 14 }).chain((count) => {
    const nodes = fc.tuple(
      ...Array.from({ length: count }, (_, i) =>
        fc
          .record(
            {
              type: fc.constantFrom(...TYPES),
              text: fc.string({ maxLength: 20 }),
              url: fc.constantFrom(...many('https://example.com/a'), 'no address', ''),
              retries: fc.constantFrom(...many(1), 'x', -1),
              optOutDigits: fc.constantFrom(...many('9'), '99', 'x'),
              history: fc.constantFrom('full', 'compact', 'all'),
            },
            { requiredKeys: ['type', 'text'] },
          )
          .map(({ type, ...data }) =>
            node(`n${i}`, type, { ...data, ...(i === 0 ? { isStart: true } : {}) }),
          ),
      ),
    );
    const into = fc.tuple(
      ...Array.from({ length: count - 1 }, (_, i) =>
        fc.tuple(fc.nat({ max: i }), fc.constantFrom(...HANDLES)),
      ),
    );
    const across = fc.array(
      fc.tuple(fc.nat({ max: count - 1 }), fc.nat({ max: count - 1 }), fc.constantFrom(...HANDLES)),
      {
        maxLength: 3,
      },
    );
    return fc
      .tuple(nodes, into, across)
      .map(([all, tree, more]) =>
        flowOf(all, [
          ...tree.map(([from, handle], i) => edge(`n${from}`, `n${i + 1}`, handle)),
          ...more.map(([from, to, handle]) => edge(`n${from}`, `n${to}`, handle)),
        ]),
      );
  });
}

test('any graph is compiled or refused with findings, and what is compiled runs to an end', () => {
  let compiledOnes = 0;
  fc.assert(
    fc.property(graphs(), options, doings, (flow, wanted, script) => {
      const startedAt = performance.now();
      const { compiled, findings } = compileFlow(flow);
      expect(performance.now() - startedAt).toBeLessThan(2_000);
      if (!compiled) expect(findings.some(({ severity }) => severity === 'error')).toBe(true);
      else {
        compiledOnes += 1;
        check(compiled.program, wanted, script);
      }
    }),
    { numRuns: 1_500 },
  );
  expect(compiledOnes).toBeGreaterThan(50);
});

test('a document with bytes changed anywhere is read or refused with findings, in bounded time', () => {
  const change = fc.tuple(fc.nat(), fc.nat({ max: 5 }), fc.string({ unit: 'binary', maxLength: 4 }));
  fc.assert(
    fc.property(
      programs(),
      fc.array(change, { minLength: 1, maxLength: 5 }),
      options,
      doings,
      (program, changes, wanted, script) => {
        let xml = writeVoiceXml(program);
        for (const [at, length, text] of changes) {
          const from = at % (xml.length + 1);
          xml = xml.slice(0, from) + text + xml.slice(from + length);
        }
        const startedAt = performance.now();
        const read = parseVoiceXml(xml);
        expect(performance.now() - startedAt).toBeLessThan(2_000);
        if (read.program) check(read.program, wanted, script);
        else expect(read.findings.length).toBeGreaterThan(0);
      },
    ),
    { numRuns: 1_500 },
  );
});

test('flows that are anything at all are refused with findings', () => {
  const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true });
  const nearly = fc.record({
    nodes: fc.oneof(fc.array(anything), anything),
    edges: fc.oneof(fc.array(anything), anything),
  });
  fc.assert(
    fc.property(fc.oneof(anything, nearly), (flow) => {
      expect(compileFlow(flow).compiled).toBeUndefined();
    }),
    { numRuns: 1_000 },
  );
});
