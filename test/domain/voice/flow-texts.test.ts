/** Proves that the texts of a flow are filled as plain text. */

import { compileFlowTexts } from '../../../src/domain/voice/flow-texts';
import { flowOf, MENU, node } from './flows';

describe('the texts of a flow', () => {
  test('are filled as plain text, wherever they stand in a node’s data', () => {
    const data = { text: 'Hi {{NAME}}', deep: [{ url: '{{ FILE }}.mp3' }, 5], label: 'none' };
    const flow = flowOf([node('{{NAME}}', 'text', data), node('b', 'text', { text: 'plain' })]);
    const filled = compileFlowTexts(flow).render({ NAME: '<b> & {{FILE}} `1`', FILE: 7 });
    expect(filled).toEqual(
      flowOf([
        node('{{NAME}}', 'text', {
          text: 'Hi <b> & {{FILE}} `1`',
          deep: [{ url: '7.mp3' }, 5],
          label: 'none',
        }),
        node('b', 'text', { text: 'plain' }),
      ]),
    );
    expect(data.text).toBe('Hi {{NAME}}');
  });

  test('are left alone where there is nothing to fill', () => {
    const flow = flowOf([node('a', 'text', { text: '{{ lower }}' })]);
    expect(compileFlowTexts(flow).render({})).toBe(flow);
    const [, menu] = compileFlowTexts(MENU).render({ NAME: 'Ada', FILE: 'x' }).nodes as unknown[];
    expect(menu).toBe(MENU.nodes[1]);
  });

  test('come from any object, whatever its keys are called', () => {
    const flow = JSON.parse(
      '{"nodes":[{"id":"a","data":{"__proto__":{"x":"{{NAME}}"},"text":"{{NAME}}"}},null,5],"edges":[]}',
    );
    const { render, chars } = compileFlowTexts(flow);
    expect(JSON.stringify(render({ NAME: 'Ada' }))).toBe(JSON.stringify(flow).replaceAll('{{NAME}}', 'Ada'));
    expect(chars).toBe(JSON.stringify(flow).length);
    expect(({} as { x?: unknown }).x).toBeUndefined();
    expect(compileFlowTexts({ nodes: 'none' }).render({})).toEqual({ nodes: 'none' });
  });
});
