/** Proves which email layouts are accepted, and that every problem names its block. */

import fc from 'fast-check';
import { checkLayout, renderableLayout } from '../../src/domain/email-layout';
import { LIMITS } from '../../src/domain/limits';

const text = (words = 'x') => ({ type: 'Text', data: { props: { text: words } } });
const box = (...childrenIds: unknown[]) => ({ type: 'Container', data: { props: { childrenIds } } });
const layout = (childrenIds: unknown, blocks: Record<string, unknown> = {}) => ({
  root: { type: 'EmailLayout', data: { childrenIds } },
  ...blocks,
});
const told = (given: Record<string, unknown>) =>
  checkLayout(given, 'template').map(({ path, code, severity }) => `${severity}: ${path} ${code}`);

describe('a layout', () => {
  test('is fine when every block that is named exists', () => {
    const columns = {
      type: 'ColumnsContainer',
      data: { props: { columnsCount: 2, columns: [{ childrenIds: ['b'] }, {}, null] } },
    };
    expect(told(layout(['a', 'c'], { a: box('d'), b: text(), c: columns, d: text() }))).toEqual([]);
    expect(told(layout([]))).toEqual([]);
    expect(told({ root: { type: 'EmailLayout', data: {} } })).toEqual([]);
  });

  test.each([
    ['no root', {}, ['error: template.root required']],
    ['a root that is a text', { root: 'x' }, ['error: template.root required']],
    ['a root that is no layout', { root: text() }, ['error: template.root.type not_a_layout']],
    ['children that are no list', layout('a'), ['error: template.root.data.childrenIds invalid_type']],
    [
      'children that do not exist, one of them named like a property of every object',
      layout(['constructor', 'gone']),
      [
        'error: template.root.data.childrenIds.0 unknown_block',
        'error: template.root.data.childrenIds.1 unknown_block',
      ],
    ],
    [
      'a column with a child that does not exist',
      layout(['c'], {
        c: { type: 'ColumnsContainer', data: { props: { columns: [{}, { childrenIds: ['z'] }] } } },
      }),
      ['error: template.c.data.props.columns.1.childrenIds.0 unknown_block'],
    ],
    ['a block that is none', layout(['a'], { a: 7 }), ['error: template.a invalid_type']],
    ['a block without a type', layout(['a'], { a: { data: {} } }), ['error: template.a.type required']],
    [
      'data that is a list',
      layout(['a'], { a: { type: 'Text', data: [] } }),
      ['error: template.a.data invalid_type'],
    ],
    [
      'a block that holds itself',
      layout(['a'], { a: box('a') }),
      [
        'warning: template.a.data.props.childrenIds.0 used_twice',
        'error: template.a.data.props.childrenIds.0 cycle',
      ],
    ],
    [
      'a loop that the root does not reach',
      layout([], { a: box('b'), b: box('a') }),
      ['error: template.b.data.props.childrenIds.0 cycle'],
    ],
    ['a block that nobody holds', layout([], { a: text() }), ['warning: template.a unused_block']],
    [
      'a block that two hold',
      layout(['a', 'b'], { a: box('c'), b: box('c'), c: text() }),
      ['warning: template.b.data.props.childrenIds.0 used_twice'],
    ],
    [
      'a block of another type',
      layout(['a'], { a: { type: 'toString', data: {} } }),
      ['warning: template.a.type unknown_block_type'],
    ],
  ])('with %s is told so', (_what, given, expected) => {
    expect(told(given)).toEqual(expected);
  });

  test('is as deep as twenty blocks below the root and no deeper', () => {
    const chain = (length: number) => {
      const blocks: Record<string, unknown> = {};
      for (let i = 1; i < length; i++) blocks[`b${i}`] = box(`b${i + 1}`);
      return layout(['b1'], { ...blocks, [`b${length}`]: text() });
    };
    expect(told(chain(20))).toEqual([]);
    expect(told(chain(21))).toEqual(['error: template.b20.data.props.childrenIds.0 too_deep']);
    expect(told(chain(1_999))).toHaveLength(1);
  });

  test('that draws a block again and again is bounded by what it draws', () => {
    const blocks: Record<string, unknown> = { b12: text() };
    for (let i = 1; i < 12; i++) blocks[`b${i}`] = box(`b${i + 1}`, `b${i + 1}`);
    const findings = told(layout(['b1'], blocks)).filter((finding) => finding.startsWith('error'));
    expect(findings).toEqual(['error: template too_many_blocks']);
  });

  test('with more blocks than are shown is refused without being looked through', () => {
    const many = Object.fromEntries(Array.from({ length: LIMITS.layoutBlocks }, (_, i) => [`b${i}`, text()]));
    expect(told(layout(Object.keys(many), many))).toEqual(['error: template too_many_blocks']);
  });

  test('with countless warnings still reports its errors', () => {
    const blocks = Object.fromEntries(Array.from({ length: 1_500 }, (_, i) => [`b${i}`, text()]));
    const findings = checkLayout({ ...layout([]), ...blocks, last: box('gone') }, 'template');
    expect(findings.filter(({ severity }) => severity === 'warning')).toHaveLength(LIMITS.layoutFindings);
    expect(findings.filter(({ severity }) => severity === 'error')).toHaveLength(1);
  });

  test.each([
    ['https://e.org/{{ID}}', []],
    ['mailto:{{EMAIL}}', []],
    ['tel:+1', []],
    ['{{ LINK }}', []],
    ['', []],
    ['#top', []],
    ['www.e.org', ['warning relative_url']],
    ['javascript:alert(1)', ['error url_scheme']],
    [' JaVa\tscri\npt:alert(1)', ['error url_scheme']],
    ['\u0001data:text/html,x', ['error url_scheme']],
    ['vbscript:x', ['error url_scheme']],
    ['file:///etc/passwd', ['error url_scheme']],
    ['{{lower}}', ['warning relative_url']],
  ])('with an address %j is told %j', (address, expected) => {
    for (const key of ['url', 'linkHref', 'href', 'src', 'imageUrl']) {
      const block = { type: 'Button', data: { props: { nested: [{ [key]: address }] } } };
      const findings = checkLayout(layout(['a'], { a: block }), 'template');
      expect(findings.map(({ severity, code }) => `${severity} ${code}`)).toEqual(expected);
      expect(findings.every(({ path }) => path === `template.a.data.props.nested.0.${key}`)).toBe(true);
    }
  });

  test.each([
    ['<a href="https://e.org">x</a> javascript: is a word', 0],
    ['<a href="javascript:x">', 1],
    ["<a HREF = ' java&#115;cript&colon;x'>", 1],
    ['<img src=data:image/png;base64,x>', 1],
  ])('with raw markup %j has %i findings', (contents, count) => {
    const block = { type: 'Html', data: { props: { contents } } };
    expect(checkLayout(layout(['a'], { a: block }), 'template')).toHaveLength(count);
  });

  test('of any shape is checked without a throw, and what passes can be made fit to render', () => {
    const id = fc.constantFrom('root', 'a', 'b', 'c', '__proto__', 'constructor');
    const ids = fc.oneof(fc.array(fc.oneof(id, fc.anything())), fc.anything());
    const block = fc.oneof(
      fc.record({
        type: fc.constantFrom('EmailLayout', 'Container', 'ColumnsContainer', 'Text', 'Other', 7),
        data: fc.oneof(
          fc.record({
            childrenIds: ids,
            props: fc.oneof(
              fc.record({ childrenIds: ids, columns: fc.array(fc.record({ childrenIds: ids })) }),
              fc.anything(),
            ),
          }),
          fc.anything(),
        ),
      }),
      fc.anything(),
    );
    fc.assert(
      fc.property(fc.dictionary(id, block), (given) => {
        const before = JSON.stringify(given);
        const findings = checkLayout(given, 'template');
        if (!findings.some(({ severity }) => severity === 'error')) renderableLayout(given);
        expect(JSON.stringify(given)).toBe(before);
      }),
      { numRuns: 500 },
    );
  });
});
