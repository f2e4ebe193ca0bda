/** Proves which version of a template is used, and that its values are escaped. */

import type { Kysely } from 'kysely';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import {
  createTemplateVersions,
  type TemplateVersions,
} from '../../../src/messaging/templates/template-versions';
import { createTemplates, type Templates } from '../../../src/messaging/templates/templates';
import { describeWithDatabase } from '../../support/storage';

const content = { name: 'n', subject: null, body: '', emailProviderId: '', design: null };

describeWithDatabase('compiled template versions', (database) => {
  let db: Kysely<MessagingTables>;
  let versions: TemplateVersions;
  let templates: Templates;
  let names = 0;
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
    versions = createTemplateVersions(db);
    templates = createTemplates({ db, versions });
  });

  const create = async (channel: 'email' | 'sms' | 'voice', more: object) => {
    names += 1;
    return (await templates.create('ws_a', channel, { ...content, name: `n${names}`, ...more })).id;
  };
  const replace = (id: string, body: string) =>
    templates.replace('ws_a', id, 'sms', { ...content, name: id, body });
  const render = async (id: string, version?: number, from = versions) =>
    (await from.get('ws_a', id, version))?.body.render({ NAME: 'Ö & <b>' });

  test('a newer version is found after the clock was set back', async () => {
    const id = await create('sms', { body: 'one' });
    const elsewhere = createTemplateVersions(db);
    expect(await render(id, undefined, elsewhere)).toBe('one');
    await replace(id, 'two');
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
    expect(await render(id, undefined, elsewhere)).toBe('two');
    clock.mockRestore();
  });

  test('values are escaped for where they land', async () => {
    expect(await render(await create('sms', { body: 'Hi {{NAME}}' }))).toBe('Hi Ö & <b>');
    expect(await render(await create('voice', { body: '<Say>{{NAME}}</Say>' }))).toBe(
      '<Say>Ö &amp; &lt;b&gt;</Say>',
    );
    const body = '<p title="{{NAME}}">A &amp; B<br>{{NAME}}</p>';
    const id = await create('email', { subject: 'For {{NAME}}, {{CITY}}', body });
    const compiled = await versions.get('ws_a', id);
    const params = { NAME: '<i>"x"</i>', CITY: 'Köln' };
    expect(compiled?.subject?.render(params)).toBe('For <i>"x"</i>, Köln');
    expect(compiled?.body.render(params)).toBe(
      '<p title="&lt;i&gt;&quot;x&quot;&lt;/i&gt;">A &amp; B<br>&lt;i&gt;&quot;x&quot;&lt;/i&gt;</p>',
    );
    expect(compiled?.text?.render(params)).toBe('A & B\n<i>"x"</i>');
    expect(compiled).toMatchObject({
      templateId: id,
      version: 1,
      channel: 'email',
      placeholders: ['NAME', 'CITY'],
    });
  });

  test('without a number it is the newest, at once after a change in this process', async () => {
    const id = await create('sms', { body: 'one' });
    expect(await render(id)).toBe('one');
    await replace(id, 'two');
    expect([await render(id), await render(id, 1), await render(id, 2)]).toEqual(['two', 'one', 'two']);
  });

  test('another process learns of a new version within a second', async () => {
    const id = await create('sms', { body: 'one' });
    const elsewhere = createTemplateVersions(db);
    expect(await render(id, undefined, elsewhere)).toBe('one');
    await replace(id, 'two');
    const begin = Date.now();
    while ((await render(id, undefined, elsewhere)) !== 'two') expect(Date.now() - begin).toBeLessThan(3_000);
  });

  test('an archived template is found by version only', async () => {
    const id = await create('sms', { body: 'kept' });
    await render(id);
    await templates.archive('ws_a', id);
    expect([await render(id), await render(id, 1)]).toEqual([undefined, 'kept']);
  });

  test('another workspace’s template, an unknown one and an unknown version are not found', async () => {
    const id = await create('sms', { body: 'mine' });
    await render(id);
    expect(await versions.get('ws_b', id)).toBeUndefined();
    expect(await versions.get('ws_b', id, 1)).toBeUndefined();
    expect(await versions.get('ws_a', 'tpl_unknown')).toBeUndefined();
    expect(await versions.get('ws_a', id, 2)).toBeUndefined();
  });

  test('many messages of one campaign share one reading', async () => {
    const id = await create('sms', { body: 'shared' });
    const all = await Promise.all(Array.from({ length: 50 }, () => versions.get('ws_a', id, 1)));
    expect(new Set(all).size).toBe(1);
  });
});
