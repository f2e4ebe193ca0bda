/** Proves that a flow becomes a program and a document with the same meaning. */

import fc from 'fast-check';
import { compileFlow } from '../../../src/domain/voice/compile-flow';
import { checkVoiceXml, parseVoiceXml } from '../../../src/domain/voice/parse-voice-xml';
import { allSteps, KEYS, spokenText } from '../../../src/domain/voice/program';
import { edge, flowOf, MENU, node, VERSION_11, VERSION_12 } from './flows';

const xmlOf = (flow: unknown) => {
  const { compiled, findings } = compileFlow(flow);
  return compiled?.xml ?? findings.map(({ path, code }) => `${path} ${code}`);
};

describe('a compiled flow', () => {
  test.each([
    ['11', VERSION_11],
    ['12', VERSION_12],
  ])('says what the editor’s version %s exported', (_version, flow) => {
    expect(xmlOf(flow)).toBe(`<Response>
  <Answer/>
  <Say>Hello {{NAME}}, this is a test.</Say>
  <Say>Good bye.</Say>
  <Hangup/>
</Response>`);
  });

  test('has branches behind a gather, and a section of its own for what several edges lead to', () => {
    expect(xmlOf(MENU)).toBe(`<Response>
  <Answer/>
  <Say>Hello {{NAME}}.</Say>
  <Redirect>#menu</Redirect>
  <Gather id="menu" numDigits="1" timeout="4" output="menu1" retries="1" optOutDigits="9">
    <Say>Press 1 to hear more, 9 to never hear from us.</Say>
  </Gather>
  <If expression="\${menu1.digits}=='1'">
    <Play>https://example.com/{{FILE}}.mp3</Play>
    <Redirect>#bye</Redirect>
  </If>
  <If expression="\${menu1.digits}=='9'">
    <Say>You will not be called again.</Say>
    <Hangup/>
  </If>
  <If expression="\${menu1.digits}==''">
    <Redirect>#menu</Redirect>
  </If>
  <If expression="\${menu1.digits}!~'^[19]?$'">
    <Redirect>#bye</Redirect>
  </If>
  <Hangup/>
  <Say id="bye">Good bye.</Say>
  <Hangup/>
</Response>`);
  });

  test('uses every kind of node, by any name its type has', () => {
    const nodes = [
      node('a', 'Answer', { isStart: true, history: 'full' }),
      node('b', 'pause_node', { seconds: '2' }),
      node('c', 'speak', { text: '1 < 2 & "3"', voice: 'Polly.Amy', language: 'en-GB', loop: 2 }),
      node('d', 'audio', { src: 'https://example.com/a.mp3' }),
      node('e', 'record', { maxLength: 30, playBeep: false }),
      { id: 'f', position: { x: 0, y: 0 }, data: { text: 'No type' } },
      node('g', 'redirect', { url: 'https://example.com/next' }),
    ];
    const edges = nodes.slice(1).map((one, i) => edge(nodes[i]?.id as string, one.id));
    expect(xmlOf(flowOf(nodes, edges))).toBe(`<Response>
  <Answer history="full"/>
  <Pause length="2"/>
  <Say voice="Polly.Amy" language="en-GB" loop="2">1 &lt; 2 &amp; "3"</Say>
  <Play>https://example.com/a.mp3</Play>
  <Record maxLength="30" playBeep="false"/>
  <Say>No type</Say>
  <Redirect>https://example.com/next</Redirect>
</Response>`);
  });

  test('begins again after picking up, when a branch leads back to the start', () => {
    const nodes = [node('s 1', 'text', { isStart: true, text: 'Hi' }), node('g', 'menu', { text: 'Again?' })];
    expect(xmlOf(flowOf(nodes, [edge('s 1', 'g'), edge('g', 's 1', 'key-1')]))).toBe(`<Response>
  <Answer/>
  <Say id="s_1">Hi</Say>
  <Gather numDigits="1" output="menu1">
    <Say>Again?</Say>
  </Gather>
  <If expression="\${menu1.digits}=='1'">
    <Redirect>#s_1</Redirect>
  </If>
  <Hangup/>
</Response>`);
  });

  test('rejects without having picked up', () => {
    expect(xmlOf(flowOf([node('r', 'reject', { isStart: true, reason: 'busy' })]))).toBe(
      '<Response>\n  <Reject reason="busy"/>\n</Response>',
    );
  });

  test('nests menus as deep as a document may be, and goes on in sections', () => {
    const menus = Array.from({ length: 20 }, (_, i) =>
      node(`m${i}`, 'gather', { isStart: i === 0, text: `Level ${i}` }),
    );
    const edges = menus.slice(1).map((one, i) => edge(`m${i}`, one.id, '1'));
    const xml = xmlOf(flowOf(menus, edges)) as string;
    expect(checkVoiceXml(xml)).toEqual([]);
    expect(xml.match(/<Redirect>#m\d+</g)).toEqual(['<Redirect>#m8<', '<Redirect>#m16<']);
  });

  test('is refused when its document would have too many verbs', () => {
    const nodes = Array.from({ length: 250 }, (_, i) =>
      node(`n${i}`, 'text', { isStart: i === 0, text: 'la' }),
    );
    const edges = nodes.slice(1).map((one, i) => edge(`n${i}`, one.id));
    expect(xmlOf(flowOf(nodes, edges))).toContain('voiceJson too_many_verbs');
  });

  test('of any shape is valid, says every text, and reads back as the same program', () => {
    fc.assert(
      fc.property(flows(), (flow) => {
        const { compiled, findings } = compileFlow(flow);
        if (!compiled) {
          expect(findings.some(({ severity }) => severity === 'error')).toBe(true);
          return;
        }
        const read = parseVoiceXml(compiled.xml);
        expect(read.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
        expect(read.program).toEqual(compiled.program);
        const said = [...allSteps(compiled.program.steps)].flatMap((step) =>
          step.verb === 'Say' ? [spokenText(step.content)] : [],
        );
        for (const one of flow.nodes) expect(said).toContain(`I am ${one.id}`);
      }),
      { numRuns: 1_000 },
    );
  });
});

/** Connected graphs with loops and joins; about half of them are fit to be compiled. */
function flows() {
  return fc.integer({ min: 1, max: 12 }).chain((count) => {
    const index = fc.nat({ max: count - 1 });
    const types = fc.array(fc.boolean(), { minLength: count, maxLength: count });
    const handle = fc.constantFrom(null, 'timeout', 'nomatch', ...KEYS);
    // Every node hangs on an earlier one, so that it is reached.
    const tree = fc.tuple(
      ...Array.from({ length: count - 1 }, (_, i) => fc.tuple(fc.nat({ max: i }), handle)),
    );
    const more = fc.array(fc.tuple(index, index, handle), { maxLength: count });
    return fc.tuple(types, tree, more).map(([gathers, parents, others]) => {
      const edges = [...parents.map(([from, by], i) => [from, i + 1, by] as const), ...others];
      const seen = new Set<string>();
      const kept = edges.filter(([from, , by]) => {
        const key = gathers[from] ? `${from} ${by}` : `${from}`;
        return !seen.has(key) && seen.add(key);
      });
      return flowOf(
        gathers.map((gather, i) =>
          node(`n${i}`, gather ? 'gather' : 'text', { isStart: i === 0, text: `I am n${i}` }),
        ),
        kept.map(([from, to, by]) => edge(`n${from}`, `n${to}`, by)),
      ) as { nodes: { id: string }[] };
    });
  });
}
