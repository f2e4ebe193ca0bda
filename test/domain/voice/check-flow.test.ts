/** Proves which problems of a flow are reported. */

import fc from 'fast-check';
import { checkFlow } from '../../../src/domain/voice/check-flow';
import { compileFlow } from '../../../src/domain/voice/compile-flow';
import { cpuMs } from '../../support/cpu-time';
import { edge, flowOf, MENU, node, VERSION_11, VERSION_12 } from './flows';

const told = (flow: unknown) =>
  checkFlow(flow).map(({ severity, path, code }) => `${severity} ${path} ${code}`);
const start = (data: Record<string, unknown> = {}) =>
  node('s', 'text', { isStart: true, isEndNode: true, text: 'Hi', ...data });

describe('a flow', () => {
  test.each([
    ['version 11', VERSION_11],
    ['version 12', VERSION_12],
    ['a menu with a loop', MENU],
    ['one node', flowOf([start()])],
    [
      'a loop through a gather',
      flowOf([start({ isEndNode: false }), node('g', 'gather')], [edge('s', 'g'), edge('g', 's', '1')]),
    ],
    ['a frame around its nodes', flowOf([start(), node('frame', 'group')])],
    [
      'keys of the editor’s own',
      { ...flowOf([{ ...start(), zIndex: 5, future: { deep: [1] } }]), version: 9 },
    ],
    [
      'texts and numbers of an editor that clears nothing',
      flowOf([start({ voice: '', loop: null, label: null })]),
    ],
  ])('of %s is as it should be', (_what, flow) => {
    expect(told(flow)).toEqual([]);
  });

  const loose = (extra: object) => flowOf([start()], [{ id: 'e', source: 's', target: 's', ...extra }]);
  test.each<[string, unknown, string[]]>([
    ['no flow', undefined, ['nodes invalid_type', 'edges invalid_type']],
    ['lists that are none', { nodes: {}, edges: 'x' }, ['nodes invalid_type', 'edges invalid_type']],
    ['no nodes', flowOf([]), ['nodes no_start']],
    ['no start', flowOf([start({ isStart: false })]), ['nodes no_start']],
    [
      'a start by a word',
      flowOf([start({ isStart: 'true' })]),
      ['nodes.0.data.isStart invalid_type', 'nodes no_start'],
    ],
    ['two starts', flowOf([start(), { ...start(), id: 't' }]), ['nodes.1.data.isStart several_starts']],
    [
      'an id twice',
      flowOf([start(), node('s', 'text', { text: 'a', isEndNode: true })]),
      ['nodes.1.id duplicate_id', 'nodes.1 unreachable_node'],
    ],
    ['an id that is a number', flowOf([{ ...start(), id: 1 }]), ['nodes.0.id invalid_type']],
    ['a node that is none', flowOf([start(), null]), ['nodes.1 invalid_type', 'nodes.1 unreachable_node']],
    [
      'data that is none',
      flowOf([start(), { id: 'x', data: [] }]),
      ['nodes.1.data invalid_type', 'nodes.1 unreachable_node'],
    ],
    ['an edge to nowhere', loose({ target: 'gone' }), ['edges.0.target unknown_node']],
    [
      'an edge without ends',
      loose({ source: undefined, target: 7 }),
      ['edges.0.source unknown_node', 'edges.0.target unknown_node'],
    ],
    [
      'an edge that is none',
      flowOf([start()], ['s-s']),
      ['edges.0.source unknown_node', 'edges.0.target unknown_node'],
    ],
    [
      'a node on its own',
      flowOf([start(), node('x', 'text', { text: 'a', isEndNode: true })]),
      ['nodes.1 unreachable_node'],
    ],
    ['a loop', loose({}), ['nodes.0 loop_without_gather']],
    [
      'two loops',
      flowOf(
        ['a', 'b', 'c', 'd'].map((id) => node(id, 'text', { isStart: id === 'a', text: id })),
        [edge('a', 'b'), edge('b', 'a'), edge('b', 'c'), edge('c', 'd'), edge('d', 'c')],
      ),
      ['edges.2 ambiguous_edges', 'nodes.0 loop_without_gather', 'nodes.2 loop_without_gather'],
    ],
    ['a text that is a number', flowOf([start({ text: 5 })]), ['nodes.0.data.text invalid_type']],
    [
      'a wrong setting',
      flowOf([start({ loop: 0, language: {} })]),
      ['nodes.0.data.language invalid_value', 'nodes.0.data.loop invalid_value'],
    ],
    [
      'a recording without an address',
      flowOf([node('p', 'play', { isStart: true, isEndNode: true })]),
      ['nodes.0.data.url missing_value'],
    ],
    [
      'an address that is none',
      flowOf([node('p', 'play', { isStart: true, isEndNode: true, url: 'file:///x' })]),
      ['nodes.0.data.url invalid_value'],
    ],
    [
      'too many nodes',
      flowOf(Array.from({ length: 10_000 }, (_, i) => node(`${i}`, 'text'))),
      ['nodes too_many_nodes'],
    ],
    [
      'too many edges',
      flowOf(
        [start()],
        Array.from({ length: 10_000 }, () => edge('s', 's')),
      ),
      ['edges too_many_edges'],
    ],
    ['more than can be sent along', { ...flowOf([start()]), note: 'x'.repeat(600_000) }, [' too_long']],
  ])('with %s is refused', (_what, flow, expected) => {
    const errors = told(flow).filter((one) => one.startsWith('error'));
    expect(errors.sort()).toEqual(expected.map((one) => `error voiceJson.${one}`.replace('. ', ' ')).sort());
    expect(compileFlow(flow).compiled).toBeUndefined();
  });

  test.each<[string, unknown, string[]]>([
    [
      'a type of another editor',
      flowOf([{ ...start(), type: 'hologram' }]),
      ['nodes.0.type unknown_node_type'],
    ],
    [
      'a type that is no text',
      flowOf([{ ...start(), type: { toString: 1 } }]),
      ['nodes.0.type unknown_node_type'],
    ],
    ['a setting that nobody knows', flowOf([start({ tempo: 2 })]), ['nodes.0.data.tempo unknown_key']],
    ['an end that nobody marked', flowOf([start({ isEndNode: false })]), ['nodes.0 implicit_end']],
    ['nothing to say', flowOf([start({ text: undefined })]), ['nodes.0.data.text empty_text']],
    [
      'an end that leads on',
      flowOf([start(), node('t', 'text', { text: 'a', isEndNode: true })], [edge('s', 't')]),
      ['nodes.0 end_with_edges'],
    ],
  ])('with %s is kept, with a warning', (_what, flow, expected) => {
    expect(told(flow)).toEqual(expected.map((one) => `warning voiceJson.${one}`));
    expect(compileFlow(flow).compiled).toBeDefined();
  });

  test('reports all its problems at once', () => {
    const nodes = [start({ loop: 500 }), node('x', 'hologram', { text: 1 }), node('p', 'play')];
    expect(told(flowOf(nodes, [edge('s', 'gone'), edge('p', 'p')]))).toEqual([
      'warning voiceJson.nodes.1.type unknown_node_type',
      'error voiceJson.edges.0.target unknown_node',
      'error voiceJson.nodes.0.data.loop invalid_value',
      'error voiceJson.nodes.1.data.text invalid_type',
      'warning voiceJson.nodes.1 implicit_end',
      'error voiceJson.nodes.2.data.url missing_value',
      'error voiceJson.nodes.1 unreachable_node',
      'error voiceJson.nodes.2 unreachable_node',
      'error voiceJson.nodes.2 loop_without_gather',
    ]);
  });

  test('may hold any keys without touching what they are named after', () => {
    const hostile = JSON.parse(
      '{"__proto__":{"polluted":1},"nodes":[{"id":"__proto__","type":"text","__proto__":{"id":"x"},"data":{"isStart":true,"isEndNode":true,"text":"Hi","__proto__":{"loop":0},"constructor":1}}],"edges":[{"source":"__proto__","target":"constructor"}]}',
    );
    expect(told(hostile)).toEqual([
      'error voiceJson.edges.0.target unknown_node',
      'warning voiceJson.nodes.0.data.__proto__ unknown_key',
      'warning voiceJson.nodes.0.data.constructor unknown_key',
    ]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test('of any content is judged, and nothing is thrown', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (value) => {
        const data = { isStart: true, text: value, loop: value, url: value };
        for (const flow of [
          value,
          { nodes: value, edges: value },
          flowOf([value, node('a', 'text', data)], [value]),
        ]) {
          expect(Array.isArray(checkFlow(flow))).toBe(true);
          compileFlow(flow);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('is judged in a moment, whatever its size and shape', () => {
    const chain = Array.from({ length: 500 }, (_, i) =>
      node(`${i}`, 'text', { isStart: i === 0, text: 'a' }),
    );
    const ring = [...chain.slice(1).map((one, i) => edge(`${i}`, one.id)), edge('499', '0')];
    const dense = Array.from({ length: 1_000 }, (_, i) => edge('0', `${i % 500}`, `${i}`));
    const deep = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`);
    for (const flow of [
      flowOf(chain, ring),
      flowOf(chain, dense),
      flowOf(
        chain.map((one) => ({ ...one, type: 'gather' })),
        dense,
      ),
      { ...flowOf(chain, ring), deep },
      { ...flowOf(chain, ring), long: 'x'.repeat(4 * 1024 * 1024) },
      flowOf(Array.from({ length: 100_000 }, () => start())),
    ]) {
      expect(cpuMs(() => compileFlow(flow))).toBeLessThan(1_000);
    }
  });
});
