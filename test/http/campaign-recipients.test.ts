/** Proves campaigns that bring their own recipients. */

import { sql } from 'kysely';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import { audienceOf } from '../../src/campaigns/audience/audience-sql';
import { eraseContact } from '../../src/campaigns/contacts/erase-contact';
import { loadRun } from '../../src/campaigns/runs/runs';
import { describeWithDatabase } from '../support/storage';
import { campaignsRig, SMS } from './campaigns-rig';

const CODE = { shortCode: '12345', templateId: 't_code', version: 1 };
const NOBODY = { contactListId: undefined, settings: { sms: SMS }, channel: ['sms'] };
const DRAFT = { ...NOBODY, start: false };
const phone = (n: number) => `+1202555${String(1000 + n).padStart(4, '0')}`;
const person = (n: number, more: object = {}) => ({ externalId: `p-${n}`, phone: phone(n), ...more });
const named = (n: number, more: object = {}) => person(n, { name: `N${n}`, ...more });

describeWithDatabase('recipients in a campaign’s own request', (database) => {
  const rig = campaignsRig(database);
  const { create, call, detail, act, findings } = rig;
  const count = async (table: string) =>
    Number(
      (await sql<{ n: string }>`select count(*) as n from ${sql.table(table)}`.execute(rig.db())).rows[0]?.n,
    );
  const contact = async (externalId: string, as = 'ws_a') =>
    await rig
      .db()
      .selectFrom('contacts')
      .selectAll()
      .where('workspace_id', '=', as)
      .where('external_id', '=', externalId)
      .executeTakeFirst();
  const ownList = async (id: string) =>
    (
      await rig
        .db()
        .selectFrom('campaigns')
        .select('own_list_id')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
    ).own_list_id ?? '';
  const append = (id: string, recipients: object[], query = '') =>
    call('POST', `/api/campaign/${id}/recipients${query}`, { recipients });
  const lines = (rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const stream = (id: string, text: string, type = 'application/x-ndjson', query = '') =>
    call('POST', `/api/campaign/${id}/recipients${query}`, text, { type });

  /** The run's frozen recipients, as address and params. */
  async function frozen(campaignId: string, names: string[], channel: 'sms' | 'email' = 'sms') {
    const { runId } = await detail(campaignId);
    const run = await loadRun(rig.db(), runId);
    await freezeAudience(rig.db(), { runId, ...audienceOf(run, channel, names, undefined) });
    const { rows } = await sql<{ address: string; params: object }>`
      select address, params from recipients where run_id = ${runId} order by address`.execute(rig.db());
    return rows.map(({ address, params }) => [address, params]);
  }

  test('one call creates the campaign and starts it, without a contact list', async () => {
    const { status, body } = await create({ ...NOBODY, recipients: [named(1), named(2)] });
    expect([status, body.data.phase]).toEqual([201, 'planning']);
    expect(body.data).not.toHaveProperty('rejected');
    expect(rig.launched).toHaveLength(1);
    expect(await detail(body.data.id)).toMatchObject({ inline: 2, contactListId: [] });
    expect(JSON.stringify(await detail(body.data.id))).not.toContain(phone(1));
    expect(await frozen(body.data.id, ['NAME'])).toEqual([
      [phone(1), { NAME: 'N1' }],
      [phone(2), { NAME: 'N2' }],
    ]);
  });

  test('a person who is erased no longer counts, and a campaign without another is not started', async () => {
    const { body } = await create({ ...DRAFT, recipients: [named(91), named(92)] });
    const erase = async (externalId: string) => {
      const { id = '' } = (await contact(externalId)) ?? {};
      await eraseContact(rig.db(), { workspaceId: 'ws_a', contactId: id }, async () => undefined);
    };
    await erase('p-91');
    expect(await detail(body.data.id)).toMatchObject({ inline: 1 });
    await erase('p-92');
    expect(await detail(body.data.id)).toMatchObject({ inline: 0 });
    const started = await act(body.data.id, 'start');
    expect([started.status, started.body.code]).toEqual([422, 'no_audience']);
  });

  test('recipients beside a list are one audience, in which each contact is once', async () => {
    const list = await rig.newList([named(11), named(12)]);
    const { body } = await create({ ...NOBODY, contactListId: [list], recipients: [named(12), named(13)] });
    expect((await frozen(body.data.id, ['NAME'])).map(([address]) => address)).toEqual([
      phone(11),
      phone(12),
      phone(13),
    ]);
  });

  test('a body with a wrong row creates nothing and names every finding, with those of the rest', async () => {
    const before = [await count('campaigns'), await count('contacts'), await count('contact_list_members')];
    const recipients = [
      named(21),
      { externalId: 'nothing' },
      { phone: '12', email: 'nobody', timezone: 'Mars/Base' },
      'text',
      { phone: phone(3), unknown: 1 },
      { phone: phone(4), params: { lower: 'x' } },
    ];
    const refused = await create({ ...NOBODY, recipients });
    expect([refused.status, refused.body.code]).toEqual([422, 'invalid_request']);
    expect(findings(refused)).toEqual([
      'recipients.1 no_address',
      'recipients.2.email invalid_email',
      'recipients.2.phone invalid_phone',
      'recipients.2.timezone invalid_timezone',
      'recipients.3 not_an_object',
      'recipients.4.unknown unknown_field',
      'recipients.5.params.lower invalid_name',
    ]);
    expect(JSON.stringify(refused.body)).not.toContain('Mars');
    const both = await create({ ...NOBODY, name: '', recipients: [{}] });
    expect(findings(both)).toEqual(['name too_small', 'recipients.0 no_address']);
    const abroad = await call('POST', '/api/campaign?country=ZZ', rig.body({ ...NOBODY, recipients: [{}] }));
    expect(findings(abroad)).toEqual(['country unknown_country', 'recipients.0 no_address']);
    expect([await count('campaigns'), await count('contacts'), await count('contact_list_members')]).toEqual(
      before,
    );
  });

  test('1 to 10,000 rows are accepted, and at most a thousand problems are reported', async () => {
    expect(findings(await create({ ...NOBODY, recipients: [] }))).toEqual(['recipients too_small']);
    const many = Array.from({ length: 10_001 }, () => ({}));
    expect(findings(await create({ ...NOBODY, recipients: many }))).toEqual(['recipients too_big']);
    expect(findings(await create({ ...NOBODY, recipients: many.slice(1) }))).toHaveLength(1_000);
  });

  test('skipInvalid leaves wrong rows out and answers which', async () => {
    const recipients = [{}, named(31), { phone: 'x' }, named(32, { params: { CITY: 'half \ud83d' } })];
    const { status, body } = await create({ ...NOBODY, recipients, skipInvalid: true });
    expect(status).toBe(201);
    expect(body.data.rejected).toMatchObject([
      { index: 0, field: '', code: 'no_address' },
      { index: 2, field: 'phone', code: 'invalid_phone' },
      { index: 3, field: 'params.CITY', code: 'invalid_characters' },
    ]);
    expect((await detail(body.data.id)).inline).toBe(1);
    const whole = await create({ ...NOBODY, recipients: [named(32)], skipInvalid: true });
    expect(whole.body.data.rejected).toEqual([]);
  });

  test('skipInvalid that leaves no row is refused with every finding', async () => {
    const wrong = rig.body({ ...NOBODY, recipients: [{}, { phone: 'x' }], skipInvalid: true });
    for (const path of ['/api/campaign', '/api/campaign/dry-run']) {
      const refused = await call('POST', path, wrong);
      expect([refused.status, refused.body.code]).toEqual([422, 'no_audience']);
      expect(findings(refused)).toEqual(['recipients.0 no_address', 'recipients.1.phone invalid_phone']);
      expect(refused.body.message).toMatch(/no recipients: recipients\.0: .* \(and 1 more\)\. Correct them/);
    }
  });

  test('country is the region of phone numbers that name none', async () => {
    const body = rig.body({ ...NOBODY, recipients: [{ phone: '(202) 555-0123', name: 'A' }] });
    expect((await call('POST', '/api/campaign', body)).status).toBe(422);
    const { body: made } = await call('POST', '/api/campaign?country=US', body);
    expect((await frozen(made.data.id, ['NAME'])).map(([address]) => address)).toEqual(['+12025550123']);
  });

  test('8 MiB of body hold for create, edit and dry run', async () => {
    const recipients = Array.from({ length: 500 }, (_, n) =>
      named(2_000 + n, { params: { X: 'x'.repeat(14_000) } }),
    );
    const big = { ...DRAFT, recipients };
    const made = await create(big);
    expect(made.status).toBe(201);
    expect((await create({ ...big, campaignId: made.body.data.id })).status).toBe(200);
    expect((await call('POST', '/api/campaign/dry-run', rig.body(big))).status).toBe(200);
    const bigger = { ...DRAFT, recipients: [...recipients, ...recipients] };
    expect((await create(bigger)).status).toBe(413);
  });

  test('params are of this campaign’s recipient and go before the contact’s, which keeps its own', async () => {
    const list = await rig.newList([person(41, { params: { CODE: 'kept', CITY: 'Rome' }, name: 'Old' })]);
    const wants = { settings: { sms: CODE }, channel: ['sms'] };
    const one = await create({
      ...wants,
      contactListId: undefined,
      recipients: [named(41, { params: { CODE: 'one' } })],
    });
    const two = await create({
      ...wants,
      contactListId: [list],
      recipients: [person(41, { params: { CODE: 2 } })],
    });
    const three = await create({ ...wants, contactListId: [list] });
    const seen = ['CODE', 'CITY', 'NAME'];
    expect(await frozen(one.body.data.id, seen)).toEqual([
      [phone(41), { CODE: 'one', CITY: 'Rome', NAME: 'N41' }],
    ]);
    expect(await frozen(two.body.data.id, seen)).toEqual([
      [phone(41), { CODE: 2, CITY: 'Rome', NAME: 'N41' }],
    ]);
    expect(await frozen(three.body.data.id, seen)).toEqual([
      [phone(41), { CODE: 'kept', CITY: 'Rome', NAME: 'N41' }],
    ]);
    expect(await contact('p-41')).toMatchObject({ name: 'N41', params: { CODE: 'kept', CITY: 'Rome' } });
  });

  test('a placeholder that only the recipients’ params fill is filled', async () => {
    const wants = { ...NOBODY, settings: { sms: CODE } };
    expect((await create({ ...wants, recipients: [person(51)] })).body.code).toBe('missing_params');
    expect((await create({ ...wants, recipients: [person(51, { params: { CODE: 1 } })] })).status).toBe(201);
  });

  test('the own audience is in no contact list, and no other campaign can name it', async () => {
    const before = (await call('GET', '/api/contact-list')).body.pagination.total;
    const { body } = await create({ ...DRAFT, recipients: [named(61)] });
    const list = await ownList(body.data.id);
    expect(list).toMatch(/^lst_/);
    expect((await call('GET', '/api/contact-list')).body.pagination.total).toBe(before);
    for (const [method, path, content] of [
      ['GET', ''],
      ['PATCH', '', { name: 'Mine' }],
      ['DELETE', ''],
      ['GET', '/contacts'],
      ['POST', '/contacts', { contacts: [named(62)] }],
      ['DELETE', `/contacts/${(await contact('p-61'))?.id}`],
    ] as const) {
      expect((await call(method, `/api/contact-list/${list}${path}`, content)).status).toBe(404);
    }
    expect((await create({ contactListId: [list] })).body.code).toBe('contact_list_not_found');
  });

  test('deleting a list keeps the contacts that a campaign’s own audience has', async () => {
    const list = await rig.newList([named(71), named(72)]);
    await create({ ...DRAFT, recipients: [named(71)] });
    expect((await call('DELETE', `/api/contact-list/${list}`)).status).toBe(200);
    expect([await contact('p-71'), await contact('p-72')]).toEqual([expect.anything(), undefined]);
  });

  test('an edit with recipients replaces the own audience, one without keeps it', async () => {
    const { body } = await create({ ...DRAFT, recipients: [named(81), named(82)] });
    const campaignId = body.data.id;
    expect((await create({ ...DRAFT, campaignId, name: 'Other' })).status).toBe(200);
    expect(await detail(campaignId)).toMatchObject({ name: 'Other', inline: 2 });
    expect((await create({ ...DRAFT, campaignId, recipients: [named(82), named(83)] })).status).toBe(200);
    expect((await detail(campaignId)).inline).toBe(2);
    expect(await contact('p-81')).toBeUndefined();
    expect((await create({ ...NOBODY, campaignId, start: true })).body.data.phase).toBe('planning');
    expect((await frozen(campaignId, ['NAME'])).map(([address]) => address)).toEqual([phone(82), phone(83)]);
    const late = await create({ ...NOBODY, campaignId, recipients: [named(84)] });
    expect([late.status, late.body.code, await contact('p-84')]).toEqual([
      409,
      'campaign_started',
      undefined,
    ]);
  });

  test('duplicate copies the own audience, and the copies go their own ways', async () => {
    const { body } = await create({ ...DRAFT, recipients: [named(91, { params: { X: 1 } })] });
    const copy = await act(body.data.id, 'duplicate');
    expect([copy.status, (await detail(copy.body.data.id)).inline]).toEqual([201, 1]);
    await append(copy.body.data.id, [named(92)]);
    expect([(await detail(body.data.id)).inline, (await detail(copy.body.data.id)).inline]).toEqual([1, 2]);
    await create({ ...DRAFT, campaignId: body.data.id, recipients: [named(93)] });
    await act(copy.body.data.id, 'start');
    expect(await frozen(copy.body.data.id, ['X?'])).toEqual([
      [phone(91), { X: 1 }],
      [phone(92), {}],
    ]);
  });

  test('a campaign without an audience is a draft, and is refused at its start', async () => {
    expect(findings(await create(NOBODY))).toEqual(['contactListId required']);
    expect(findings(await create({ ...NOBODY, contactListId: [] }))).toEqual(['contactListId too_small']);
    for (const contactListId of [undefined, []]) {
      const { status, body } = await create({ ...DRAFT, contactListId });
      expect([status, body.data.phase]).toEqual([201, 'draft']);
      const refused = await act(body.data.id, 'start');
      expect([refused.status, refused.body.code]).toEqual([422, 'no_audience']);
      const edited = await create({ ...NOBODY, campaignId: body.data.id, start: true });
      expect([edited.status, edited.body.code]).toEqual([422, 'no_audience']);
      await append(body.data.id, [named(101)]);
      expect((await act(body.data.id, 'start')).status).toBe(200);
    }
  });

  test('recipients are added as JSON, lines and CSV, and answered as an import', async () => {
    const { body } = await create(DRAFT);
    const { id } = body.data;
    const json = await append(id, [named(111), {}, named(111, { name: 'New', params: { A: 1 } })]);
    expect(json.body.data).toMatchObject({ received: 3, created: 1, updated: 1, unchanged: 0, rejected: 1 });
    expect(json.body.data.errors).toMatchObject([{ line: 2, code: 'no_address' }]);
    const text = `${lines([named(112, { params: { A: 2 } })])}\n{"phone"\n[1]\n${lines([named(113)])}{"x":"${'y'.repeat(66_000)}"}\n`;
    const ndjson = await stream(id, text);
    expect(ndjson.body.data).toMatchObject({ received: 5, created: 2, rejected: 3 });
    expect(ndjson.body.data.errors.map((e: { line: number; code: string }) => [e.line, e.code])).toEqual([
      [3, 'not_json'],
      [4, 'not_an_object'],
      [6, 'line_too_long'],
    ]);
    const csv = await stream(
      id,
      'externalId,phone,name,a\np-114,(202) 555-1114,Csv,4\n',
      'text/csv',
      '?country=US',
    );
    expect(csv.body.data).toMatchObject({ received: 1, created: 1, rejected: 0 });
    expect((await detail(id)).inline).toBe(4);
    expect((await append(id, [named(112, { params: { B: 5 } })])).body.data).toMatchObject({ unchanged: 1 });
    expect((await detail(id)).inline).toBe(4);
    await act(id, 'start');
    expect(await frozen(id, ['A?', 'B?', 'NAME'])).toEqual([
      [phone(111), { A: 1, NAME: 'New' }],
      [phone(112), { A: 2, B: 5, NAME: 'N112' }],
      [phone(113), { NAME: 'N113' }],
      ['+12025551114', { A: '4', NAME: 'Csv' }],
    ]);
    const late = await stream(id, lines([named(115)]));
    expect([late.status, late.body.code, await contact('p-115')]).toEqual([
      409,
      'campaign_started',
      undefined,
    ]);
    expect((await stream(id, 'x', 'text/plain')).status).toBe(415);
  });

  test('a start in the middle of a stream ends it, and keeps what was whole', async () => {
    const { body } = await create({ ...DRAFT, recipients: [named(120)] });
    const { id } = body.data;
    let started = 0;
    async function* rows() {
      yield Buffer.from(lines(Array.from({ length: 1_000 }, (_, n) => named(3_000 + n))));
      while ((await detail(id)).inline < 1_001) await new Promise((done) => setTimeout(done, 20));
      started = (await act(id, 'start')).status;
      yield Buffer.from(lines(Array.from({ length: 1_000 }, (_, n) => named(4_000 + n))));
    }
    const answer = await call('POST', `/api/campaign/${id}/recipients`, rows(), {
      type: 'application/x-ndjson',
    });
    expect([started, answer.status, answer.body.code]).toEqual([200, 409, 'campaign_started']);
    expect((await frozen(id, ['NAME'])).length).toBe(1_001);
  });

  test('a dry run judges recipients as the freeze does, and leaves nothing behind', async () => {
    const list = await rig.newList([named(131)]);
    const before = [await count('contacts'), await count('contact_list_members'), await contact('p-131')];
    const recipients = [
      named(132),
      named(133, { phone: phone(132) }),
      person(131, { email: 'a@example.com', params: { NAME: 'Else' } }),
      { email: 'only@example.com', name: 'Mail' },
      person(134),
    ];
    const wants = { ...NOBODY, contactListId: [list], recipients, start: false };
    const { status, body } = await call('POST', '/api/campaign/dry-run', rig.body(wants));
    expect(status).toBe(200);
    expect(body.data.channels.sms).toMatchObject({
      contacts: 5,
      recipients: 2,
      skipped: { duplicate_address: 1, no_address: 1, missing_params: 1 },
    });
    expect([await count('contacts'), await count('contact_list_members'), await contact('p-131')]).toEqual(
      before,
    );
    const both = {
      ...wants,
      channel: ['email', 'sms'],
      settings: { sms: SMS, email: { fromEmail: 'a@example.com', templateId: 't_mail', version: 1 } },
      params: { CITY: 'Rome' },
    };
    const two = await call('POST', '/api/campaign/dry-run', rig.body(both));
    expect(two.body.data.channels.email).toMatchObject({ contacts: 5, recipients: 2 });
    const skipped = await call(
      'POST',
      '/api/campaign/dry-run',
      rig.body({ ...wants, recipients: [{}, named(1)], skipInvalid: true }),
    );
    expect(skipped.body.data.rejected).toMatchObject([{ index: 0 }]);
    const draft = (await create({ ...DRAFT, recipients })).body.data.id;
    const again = await call('POST', '/api/campaign/dry-run', rig.body({ ...DRAFT, campaignId: draft }));
    expect(again.body.data.channels.sms).toMatchObject({ contacts: 5, recipients: 2 });
  });

  test('another workspace’s campaign takes no recipients', async () => {
    const { body } = await create(DRAFT);
    const answer = await call(
      'POST',
      `/api/campaign/${body.data.id}/recipients`,
      { recipients: [named(141)] },
      { as: 'ws_b' },
    );
    expect([answer.status, await contact('p-141', 'ws_b')]).toEqual([404, undefined]);
  });
});
