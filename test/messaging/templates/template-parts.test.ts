/** Proves the parts of a template that are derived when it is saved. */

import fc from 'fast-check';
import { checkLayout } from '../../../src/domain/email-layout';
import { isDomainError } from '../../../src/domain/errors';
import { versionOf } from '../../../src/messaging/templates/template-parts';

const content = (design: Record<string, unknown>, subject = 'S') => ({
  ...{ name: 'n', subject, body: '', emailProviderId: '' },
  design,
});
const rendered = (blocks: Record<string, unknown>, root: object = {}, subject?: string) => {
  const childrenIds = Object.keys(blocks);
  return versionOf(
    'email',
    content({ root: { type: 'EmailLayout', data: { childrenIds, ...root } }, ...blocks }, subject),
  );
};

describe('an email rendered from its layout', () => {
  test('keeps placeholders wherever they stand', () => {
    const { body, text } = rendered({
      a: {
        type: 'Text',
        data: { props: { text: '**{{NAME}}** [go]({{LINK}}) ![x]({{ IMG }})', markdown: true } },
      },
      b: { type: 'Button', data: { props: { text: '{{LABEL}}', url: 'https://e.org/?q={{CITY}}' } } },
      c: { type: 'Heading', data: { props: { text: 'For {{NAME}}', level: 'h1' } } },
      d: { type: 'Html', data: { props: { contents: '<i title="{{ TIP }}">raw</i>' } } },
    });
    for (const part of ['<strong>{{NAME}}</strong>', 'href="{{LINK}}"', 'src="{{IMG}}"', '>{{LABEL}}<']) {
      expect(body).toContain(part);
    }
    for (const part of [
      'href="https://e.org/?q={{CITY}}"',
      '>For {{NAME}}</h1>',
      '<i title="{{ TIP }}">raw</i>',
    ]) {
      expect(body).toContain(part);
    }
    expect(text).toContain('{{NAME}} go ({{LINK}})');
    expect(text).toContain('{{LABEL}} (https://e.org/?q={{CITY}})');
  });

  test('is one whole document with a title, in English unless the layout says otherwise', () => {
    const { body } = rendered({}, { lang: 'x" onload="y' }, '</title><b> & {{NAME}}');
    expect(body.match(/<html lang="en">/g)).toHaveLength(1);
    expect(body).toContain('<title>&lt;/title&gt;&lt;b&gt; &amp; {{NAME}}</title>');
    expect(body).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
    expect(body.match(/<body/g)).toHaveLength(1);
    expect(rendered({}, { lang: 'pt-BR' }).body).toContain('<html lang="pt-BR">');
  });

  test('shows nothing for a block of another type, and leaves the layout as it came', () => {
    const blocks = {
      a: { type: 'Carousel', data: { props: { slides: [1] } } },
      b: { type: 'Container', data: { props: { childrenIds: ['c', 'd'] }, future: true } },
      c: { type: 'Carousel' },
      d: { type: 'Text', data: { props: { text: 'shown' }, style: { padding: { top: 4 } } } },
    };
    const before = JSON.stringify(blocks);
    const { body, text, design } = rendered(blocks);
    expect(text?.split('\n').filter(Boolean)).toEqual(['shown', 'shown']);
    expect(body).not.toContain('undefined');
    expect(design).toMatchObject(JSON.parse(before));
    expect(JSON.stringify(blocks)).toBe(before);
  });

  test('that the renderer does not take is an answer that names the blocks, whatever the layout', () => {
    const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(null, {}, [], 'x', 7, '{{NAME}}'));
    const names = [
      'text',
      'url',
      'level',
      'markdown',
      'contents',
      'size',
      'height',
      'columns',
      'imageUrl',
      'shape',
      'fixedWidths',
    ];
    const block = fc.record({
      type: fc.constantFrom(
        'Text',
        'Heading',
        'Button',
        'Image',
        'Avatar',
        'Divider',
        'Spacer',
        'Html',
        'Container',
        'ColumnsContainer',
        'EmailLayout',
      ),
      data: fc.oneof(
        fc.record({
          props: fc.oneof(fc.dictionary(fc.constantFrom(...names), value), value),
          style: fc.oneof(
            fc.dictionary(fc.constantFrom('padding', 'color', 'fontFamily', 'textAlign'), value),
            value,
          ),
        }),
        fc.constant(undefined),
      ),
    });
    const reached = { rendered: 0, refused: 0 };
    fc.assert(
      fc.property(
        fc.array(block, { maxLength: 4 }),
        fc.dictionary(fc.constantFrom('fontFamily', 'backdropColor'), value),
        (blocks, root) => {
          const byId = Object.fromEntries(blocks.map((one, i) => [`b${i}`, one]));
          const design = {
            root: { type: 'EmailLayout', data: { ...root, childrenIds: Object.keys(byId) } },
            ...byId,
          };
          fc.pre(!checkLayout(design, 'template').some(({ severity }) => severity === 'error'));
          try {
            expect(versionOf('email', content(design)).body).toContain('</html>');
            reached.rendered += 1;
          } catch (error) {
            if (!isDomainError(error)) throw error;
            expect(error.errors.length).toBeGreaterThan(0);
            for (const { path, code } of error.errors) {
              expect(path).toMatch(/^template\.(root|b\d)$/);
              expect(code).toBe('not_renderable');
            }
            reached.refused += 1;
          }
        },
      ),
      { numRuns: 800 },
    );
    expect(Math.min(reached.rendered, reached.refused)).toBeGreaterThan(0);
  });
});
