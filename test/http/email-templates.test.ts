/** Proves how email templates are accepted, rendered and refused. */

import fc from 'fast-check';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace, startService, type TestService } from './service';

describeWithDatabase('email templates', (database) => {
  let service: TestService;
  let authorization: string;
  beforeAll(async () => {
    service = await startService((await database.open()).tables<MessagingTables>());
  });
  beforeEach(async () => {
    authorization = await bearerFor(service.identity, await newWorkspace(service.identity));
  });
  afterAll(() => service.app.close());

  const create = (body: unknown) =>
    service.call('POST', '/api/template/', { headers: { authorization }, body });
  const email = (templateName: string, more: object = {}) => ({
    channel: 'email',
    templateName,
    subject: 'News for {{NAME}}',
    body: '<p>Hello {{NAME}}</p>',
    ...more,
  });

  test('an email without a body is rendered from its layout, as a whole document', async () => {
    const layout = {
      root: { type: 'EmailLayout', data: { childrenIds: ['b1', 'b2', 'b3'], lang: 'de' } },
      b1: { type: 'Text', data: { props: { text: 'Hi {{NAME}} <you>' }, style: { padding: { top: 3 } } } },
      b2: {
        type: 'Image',
        data: { props: { url: 'https://e.org/{{ID}}.png', alt: '{{NAME}}', linkHref: '{{LINK}}' } },
      },
      b3: { type: 'Sparkles', data: { props: { childrenIds: ['b1'] }, kept: [1] } },
    };
    for (const given of [{ body: '' }, { body: undefined }, { body: null }]) {
      const created = await create(
        email(`rendered ${given.body}`, { ...given, subject: 'A & {{NAME}}', template: layout }),
      );
      expect(created.status).toBe(201);
      const { body, text, template } = created.body.template;
      expect(body).toMatch(/^<!DOCTYPE html>\n<html lang="de">\n<head>\n<meta charset="utf-8">/);
      expect(body).toContain('<title>A &amp; {{NAME}}</title>');
      expect(body).toContain('padding:3px 0px 0px 0px">Hi {{NAME}} &lt;you&gt;</div>');
      expect(body).toContain('href="{{LINK}}"');
      expect(body).toContain('alt="{{NAME}}" src="https://e.org/{{ID}}.png"');
      expect(text).toBe('Hi {{NAME}} <you>\n{{NAME}} ({{LINK}})');
      expect(template).toEqual(layout);
      expect(created.body.warnings).toEqual([
        expect.objectContaining({ path: 'template.b3.data.props.childrenIds.0', code: 'used_twice' }),
        expect.objectContaining({ path: 'template.b3.type', code: 'unknown_block_type' }),
      ]);
    }
  });

  test('a layout is refused with every finding, each where it stands', async () => {
    const layout = {
      root: { type: 'EmailLayout', data: { childrenIds: ['a', 'gone', 7, 'c'] } },
      a: { type: 'Container', data: { props: { childrenIds: ['root'] } } },
      c: {
        type: 'ColumnsContainer',
        data: { props: { columns: [{ childrenIds: ['d'] }, { childrenIds: ['e'] }] } },
      },
      d: { type: 'Button', data: { props: { text: 'Go', url: ' java\nscript:alert(1)' } } },
    };
    const answer = await create(email('x', { templateName: '', body: '', template: layout }));
    expect([answer.status, answer.body.code]).toEqual([422, 'invalid_request']);
    expect(
      answer.body.errors.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`).sort(),
    ).toEqual([
      'template.a.data.props.childrenIds.0 cycle',
      'template.c.data.props.columns.1.childrenIds.0 unknown_block',
      'template.d.data.props.url url_scheme',
      'template.root.data.childrenIds.1 unknown_block',
      'template.root.data.childrenIds.2 invalid_type',
      'templateName too_small',
    ]);
  });

  test('what the renderer does not take is a finding that names the block', async () => {
    const layout = {
      root: { type: 'EmailLayout', data: { childrenIds: ['a', 'b'] } },
      a: { type: 'Container', data: { props: { childrenIds: ['c'] } } },
      b: { type: 'Text', data: { props: { text: { not: 'a text' } } } },
      c: { type: 'Text', data: { props: { text: 'fine' } } },
    };
    const answer = await create(email('x', { body: '', template: layout }));
    expect([answer.status, answer.body.errors]).toEqual([
      422,
      [{ path: 'template.b', code: 'not_renderable', message: expect.any(String) }],
    ]);
    expect((await create(email('x', { template: layout }))).status).toBe(201);
  });

  test('a body of one’s own goes before the layout, and without either there is nothing to send', async () => {
    const both = await create(email('both', { body: '<p>Mine</p>' }));
    expect(both.body.template).toMatchObject({ body: '<p>Mine</p>', text: 'Mine' });
    const neither = await create(email('neither', { body: ' ', template: null }));
    expect([neither.status, neither.body.errors]).toEqual([
      422,
      [{ path: 'body', code: 'required', message: expect.any(String) }],
    ]);
  });

  test('placeholders that no message could fill are refused', async () => {
    const long = `{{${'A'.repeat(65)}}}`;
    const many = Array.from({ length: 101 }, (_, i) => `{{P${i}}}`).join('');
    const answer = await create(email('x', { subject: long, body: many }));
    expect([answer.status, answer.body.errors.map(({ code }: { code: string }) => code)]).toEqual([
      422,
      ['placeholder_too_long', 'too_many_placeholders'],
    ]);
  });

  test('whatever is posted, the answer is a template or the findings', async () => {
    const words = fc.constantFrom(
      '',
      'x',
      '{{NAME}}',
      '{{name}}',
      '<p>',
      '\u0000',
      '\ud800',
      'a\r\nb',
      'javascript:x',
    );
    const value = fc.oneof(
      { weight: 2, arbitrary: words },
      fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>,
    );
    const block = fc.record(
      {
        type: fc.constantFrom(
          'EmailLayout',
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
          'Other',
        ),
        data: fc.record(
          {
            childrenIds: fc.array(fc.constantFrom('a', 'b', 'root', 'z')),
            style: fc.oneof(fc.record({ padding: value, color: value, textAlign: value }), value),
            props: fc.oneof(
              fc.record({
                text: value,
                url: value,
                level: value,
                markdown: value,
                contents: value,
                columns: value,
                size: value,
              }),
              fc.record({ childrenIds: fc.array(fc.constantFrom('a', 'b')) }),
              value,
            ),
          },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    );
    const body = fc.record(
      {
        channel: fc.oneof({ weight: 5, arbitrary: fc.constantFrom('email', 'sms', 'voice') }, value),
        templateName: fc.oneof(fc.uuid(), value),
        subject: value,
        body: value,
        emailProviderId: value,
        template: fc.oneof(fc.record({ root: block, a: block, b: block }, { requiredKeys: [] }), value),
        voiceJson: value,
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(body, async (given) => {
        const { status, body: answer } = await create(given);
        // A key that reaches for the prototype is refused before anything looks at the template.
        const mayBeRefused = /"(__proto__|constructor)"/.test(JSON.stringify(given));
        expect(mayBeRefused ? [201, 400, 409, 422] : [201, 409, 422]).toContain(status);
        if (status === 422) expect(answer.errors.length).toBeGreaterThan(0);
      }),
      { numRuns: 200, interruptAfterTimeLimit: 5_000 },
    );
  });
});
