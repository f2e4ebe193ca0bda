/** Proves what the template editors do before anything is sent: measuring, placeholders, blocks, flows, differences. */

import fc from 'fast-check';
import { differencesOf } from '../../console/src/design/differences';
import {
  idsAt,
  type Layout,
  placesIn,
  withBlock,
  withMoved,
  withoutBlock,
  withValue,
} from '../../console/src/templates/blocks';
import {
  EMPTY_FLOW,
  keyOf,
  withEdge,
  withKey,
  withoutStep,
  withSetting,
  withStep,
} from '../../console/src/templates/flow';
import { asHtml, filled, placeholdersIn } from '../../console/src/templates/placeholders';
import { measureText } from '../../console/src/templates/sms-measure';
import { measureSms } from '../../src/domain/sms-encoding';

describe('an SMS', () => {
  test('has as many segments here as the server counts', () => {
    const character = fc.constantFrom(...('aZ0 \n€{}[]~|^\\ж漢é🎉'.match(/./gsu) as string[]));
    fc.assert(
      fc.property(fc.array(character, { maxLength: 400 }), (characters) => {
        const text = characters.join('');
        const { encoding, segments } = measureText(text);
        expect({ encoding, segments }).toEqual(measureSms(text));
      }),
    );
  });

  test('names what makes it longer, and how much room is left', () => {
    expect(measureText('Hi ж, ж')).toMatchObject({ encoding: 'ucs2', unusual: ['ж'], left: 63 });
    expect(measureText('a'.repeat(161))).toMatchObject({ segments: 2, left: 145 });
  });
});

describe('placeholders', () => {
  test('are found once each, with spaces inside the braces too', () => {
    expect(placeholdersIn(['{{B}} {{ A }} {{B}}', '{{lower}} {{A_1}}'])).toEqual(['B', 'A', 'A_1']);
  });

  test('get their values, escaped where they land in HTML', () => {
    expect(filled('<p>{{A}} {{B}}</p>', { A: '<i>"x"</i>' }, asHtml)).toBe(
      '<p>&lt;i&gt;&quot;x&quot;&lt;/i&gt; {{B}}</p>',
    );
  });
});

describe('blocks of an email', () => {
  const LAYOUT: Layout = {
    root: { type: 'EmailLayout', data: { childrenIds: ['a', 'odd'], future: 1 } },
    a: { type: 'Container', data: { props: { childrenIds: ['b'] } } },
    b: { type: 'Text', data: { props: { text: 'b' }, style: null } },
    odd: { type: 'Countdown', data: { anything: [1] }, more: true },
  };

  test('are added, moved and taken out with what only they hold', () => {
    const { layout, id } = withBlock(LAYOUT, { parent: 'a' }, 'ColumnsContainer');
    expect(idsAt(layout, { parent: 'a' })).toEqual(['b', id]);
    const [, second] = placesIn(layout, id);
    const inside = withBlock(layout, second as { parent: string }, 'Button');
    expect(idsAt(inside.layout, second as { parent: string })).toEqual([inside.id]);
    expect(idsAt(withMoved(inside.layout, { parent: 'a' }, id, -1), { parent: 'a' })).toEqual([id, 'b']);
    expect(Object.keys(withoutBlock(inside.layout, { parent: 'root' }, 'a'))).toEqual(['root', 'odd']);
  });

  test('that are not known stay as they are, and so does what is not known of others', () => {
    const changed = withValue(LAYOUT, 'b', ['style', 'padding', 'top'], 8);
    expect(changed.b).toEqual({
      type: 'Text',
      data: { props: { text: 'b' }, style: { padding: { top: 8 } } },
    });
    const moved = withMoved(changed, { parent: 'root' }, 'odd', -1);
    expect(moved.odd).toBe(LAYOUT.odd);
    expect(moved.root).toEqual({ type: 'EmailLayout', data: { childrenIds: ['odd', 'a'], future: 1 } });
  });
});

describe('a voice flow', () => {
  test('has one start, and loses the ways of a step with the step', () => {
    const { flow, id } = withStep(EMPTY_FLOW, 'gather');
    const joined = withEdge(flow, 'step-1', id);
    expect(joined.nodes[0]?.data?.isEndNode).toBe(false);
    const restarted = withSetting(joined, id, 'isStart', true);
    expect(restarted.nodes.map(({ data }) => data?.isStart)).toEqual([false, true]);
    expect(withoutStep(restarted, id)).toMatchObject({ edges: [], nodes: [{ id: 'step-1' }] });
  });

  test('says on which key a way is taken, wherever an editor has stored it', () => {
    const [edge] = withKey(withEdge(EMPTY_FLOW, 'step-1', 'step-1'), 'edge-1', '9').edges;
    expect(edge && keyOf(edge)).toBe('9');
    expect(keyOf({ id: 'e', source: 'a', target: 'b', sourceHandle: 'press 1' })).toBe('press 1');
  });
});

test('two versions differ in the lines that were changed', () => {
  expect(differencesOf('a\nb\nc', 'a\nc\nd')).toEqual([
    { kind: 'same', text: 'a' },
    { kind: 'removed', text: 'b' },
    { kind: 'same', text: 'c' },
    { kind: 'added', text: 'd' },
  ]);
});
