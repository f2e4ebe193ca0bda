import type { Kysely } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { reserveContact } from '../../src/campaigns/policy/contact-caps';
import { plantAudience } from '../support/audience';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

describeWithDatabase('the policy of a workspace', (database) => {
  let api: WholeApi;
  let db: Kysely<CampaignTables>;
  let headers: Record<string, string>;
  let workspaceId: string;
  let template: string;
  let list: string;
  let contacts: { id: string; phone?: string }[];

  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<CampaignTables>();
    api = await startWholeApi(storage);
  });
  afterAll(() => api.stop());
  beforeEach(async () => {
    const workspace = await newWorkspace(api.identity);
    workspaceId = workspace.workspace.id;
    headers = { authorization: await bearerFor(api.identity, workspace) };
    const sms = { templateName: 'T', channel: 'sms', body: 'Hello {{NAME}}' };
    template = (await call('POST', '/api/template', sms)).template.id;
    list = (await call('POST', '/api/contact-list', { name: 'L' })).data.id;
    await call('POST', `/api/contact-list/${list}/contacts`, {
      contacts: [
        { externalId: '1', name: 'Ann', phone: '+12025550101' },
        { externalId: '2', name: 'Bob', phone: '+12025550102' },
        { externalId: '3', name: 'Cid', email: 'cid@example.com' },
      ],
    });
    contacts = (await call('GET', `/api/contact-list/${list}/contacts`)).data;
  });

  async function call(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) {
    return (await api.call(method, path, { headers, body })).body;
  }
  const set = (body: unknown) => api.call('PUT', '/api/policy', { headers, body });
  const campaign = (more: object = {}) => ({
    campaignId: null,
    name: 'C',
    channel: ['sms'],
    settings: { sms: { shortCode: '12345', templateId: template, version: 1 } },
    contactListId: [list],
    start: false,
    ...more,
  });

  test('is off until it is set, and replaced as a whole', async () => {
    const off = { quietHours: null, caps: null, allowedSenders: null, smsOptOutText: null, approval: null };
    expect((await call('GET', '/api/policy')).data).toEqual({ ...off, version: 0, updatedAt: null });
    const first = (await set({ caps: [{ max: 2, days: 7 }], smsOptOutText: 'STOP ends it' })).body.data;
    expect(first).toEqual({
      ...off,
      caps: [{ channels: ['email', 'sms', 'voice'], max: 2, days: 7 }],
      smsOptOutText: { text: 'STOP ends it', onlyFirst: true },
      version: 1,
      updatedAt: expect.any(String),
    });
    expect((await set({ caps: [{ max: 2, days: 7 }], smsOptOutText: 'STOP ends it' })).body.data).toEqual(
      first,
    );
    expect((await set({})).body.data).toMatchObject({ ...off, version: 2 });
  });

  test('takes back what it answers, with one member changed', async () => {
    const whole = {
      quietHours: {
        from: '20:00',
        to: '09:00',
        timezone: 'recipient',
        days: ['mon'],
        classes: ['marketing'],
      },
      caps: [{ max: 2, days: 7 }],
      allowedSenders: { sms: ['12345'] },
      smsOptOutText: 'STOP ends it',
      approval: { above: 5 },
    };
    await set(whole);
    const read = (await call('GET', '/api/policy')).data;
    // The same again is no change.
    expect((await set(read)).body.data).toEqual(read);
    const changed = { ...read, caps: [{ ...read.caps[0], max: 3 }] };
    expect((await set(changed)).body.data).toEqual({
      ...{ ...changed, version: 2 },
      updatedAt: expect.any(String),
    });
    await set({});
    const off = (await call('GET', '/api/policy')).data;
    expect((await set({ ...off, approval: { above: 9 } })).body.data.approval.above).toBe(9);
    expect((await set({ ...off, other: 1 })).status).toBe(422);
  });

  test('has a preset that says it in one word', async () => {
    expect((await set({ preset: 'consumer' })).body.data).toMatchObject({
      quietHours: {
        from: '21:00',
        to: '08:00',
        timezone: 'recipient',
        channels: ['sms', 'voice'],
        classes: ['marketing'],
      },
      caps: [{ channels: ['voice'], max: 2, days: 1 }],
      smsOptOutText: { onlyFirst: true },
    });
    expect((await set({ preset: 'consumer', caps: [] })).status).toBe(422);
  });

  test('is refused with everything that is wrong with it', async () => {
    const answer = await set({
      quietHours: { from: '21:00', to: '21:00', timezone: 'Mars/Base', channels: [] },
      caps: [
        { channels: ['sms', 'sms'], max: 0, days: 31 },
        { max: 1.5, days: 1 },
      ],
      allowedSenders: { email: ['nobody'], fax: ['1'] },
      smsOptOutText: { text: 'Hi {{NAME}}', onlyFirst: 'yes' },
      other: true,
    });
    expect(answer.status).toBe(422);
    const paths = new Set((answer.body.errors as { path: string }[]).map(({ path }) => path));
    for (const path of [
      'quietHours.to',
      'quietHours.timezone',
      'quietHours.channels',
      'caps.0.channels',
      'caps.0.max',
      'caps.0.days',
      'caps.1.max',
      'allowedSenders.email.0',
    ]) {
      expect([path, paths.has(path)]).toEqual([path, true]);
    }
    expect(answer.body.errors.some(({ path }: { path: string }) => path.includes('smsOptOutText'))).toBe(
      true,
    );
  });

  test('refuses campaigns, dry runs and durable sends of senders that are not allowed', async () => {
    await set({ allowedSenders: { sms: ['54321'] } });
    for (const path of ['/api/campaign', '/api/campaign/dry-run']) {
      const answer = await api.call('POST', path, { headers, body: campaign() });
      expect([answer.status, answer.body.code]).toEqual([422, 'sender_not_allowed']);
      expect(answer.body.errors).toMatchObject([
        { path: 'settings.sms.shortCode', code: 'sender_not_allowed' },
      ]);
    }
    const send = {
      channel: 'sms',
      uid: 'u1',
      to: '+12025550101',
      from: '12345',
      'template-id': template,
      params: { NAME: 'A' },
    };
    expect((await call('POST', '/api/send', send)).code).toBe('sender_not_allowed');
    expect((await call('POST', '/api/send', { ...send, from: '54321' })).status).toBe(202);
  });

  test.each([
    ['a draft', {}],
    [
      'one that waits for its hour',
      { start: true, schedule: { startAt: new Date(Date.now() + 3_600_000).toISOString() } },
    ],
    ['a recurring one', { start: true, schedule: { cron: '0 0 1 1 *' } }],
  ])('refuses to start %s whose sender it allows no more', async (_which, more) => {
    const { id } = (await call('POST', '/api/campaign', campaign(more))).data;
    await set({ allowedSenders: { sms: ['54321'] } });
    const started = await api.call('POST', `/api/campaign/${id}/start`, { headers, body: {} });
    expect([started.status, started.body.code]).toEqual([422, 'sender_not_allowed']);
    await set({ allowedSenders: { sms: ['12345'] } });
    expect((await call('POST', `/api/campaign/${id}/start`, {})).status).toBe(200);
  });

  test('shows in a dry run whom its caps and its quiet hours keep waiting', async () => {
    await set({
      caps: [{ channels: ['sms'], max: 1, days: 1 }],
      quietHours: { from: inHours(-1), to: inHours(3), timezone: 'Etc/UTC' },
    });
    const at = { workspaceId, channel: 'sms' as const, class: undefined };
    await reserveContact(db, { ...at, address: '+12025550101', uid: 'x' });
    const { data } = await call('POST', '/api/campaign/dry-run', campaign());
    const codes = (data.warnings as { code: string; message: string }[]).map(
      ({ code, message }) => `${code}: ${message}`,
    );
    expect(codes).toContainEqual(expect.stringMatching(/^frequency_cap: 1 of 2 /));
    expect(codes).toContainEqual(expect.stringMatching(/^policy_quiet_hours: .* 2 of 2 /));
    const transactional = await call('POST', '/api/campaign/dry-run', campaign({ class: 'transactional' }));
    expect((transactional.data.warnings as { code: string }[]).map(({ code }) => code)).not.toContain(
      'frequency_cap',
    );
  });

  test('tells in one answer what became of a contact and why', async () => {
    await set({ caps: [{ channels: ['sms'], max: 1, days: 1 }] });
    await call('POST', '/api/suppression', { channel: 'sms', address: '+12025550102', reason: 'asked' });
    const run = await plantAudience(db, { contacts: 1, workspaceId });
    const id = (
      await db
        .selectFrom('recipients')
        .select('contact_id')
        .where('run_id', '=', run.runId)
        .executeTakeFirstOrThrow()
    ).contact_id;
    const at = { workspaceId, channel: 'sms' as const, class: undefined };
    await reserveContact(db, { ...at, address: '+12022000001', uid: `${run.runId}.sms.0.0` });
    const { data } = await call('GET', `/api/contact/${id}/timeline`);
    expect(data).toMatchObject([
      { kind: 'cap_place', uid: `${run.runId}.sms.0.0`, channel: 'sms' },
      {
        kind: 'recipient',
        runId: run.runId,
        campaignId: run.campaignId,
        state: 'pending',
        policyVersion: 1,
        messages: [],
      },
    ]);
    const pages = [];
    for (let cursor = ''; ; ) {
      const page = await call('GET', `/api/contact/${id}/timeline?limit=1${cursor}`);
      pages.push(...page.data);
      if (page.next === null) break;
      cursor = `&cursor=${page.next}`;
    }
    expect(pages).toEqual(data);
    const blocked = await Promise.all(contacts.map((one) => call('GET', `/api/contact/${one.id}/timeline`)));
    expect(blocked.flatMap((one) => one.data)).toMatchObject([{ kind: 'suppression', reason: 'asked' }]);
    expect((await api.call('GET', '/api/contact/con_none/timeline', { headers })).status).toBe(404);
  });

  test('tells of a block that was lifted when that was and by what', async () => {
    const address = '+12025550102';
    const path = `/api/suppression?channel=sms&address=${encodeURIComponent(address)}`;
    await call('POST', '/api/suppression', { channel: 'sms', address, reason: 'asked' });
    expect((await api.call('DELETE', path, { headers })).status).toBe(200);
    await call('POST', '/api/suppression', { channel: 'sms', address, reason: 'asked again' });
    const timeline = `/api/contact/${contacts.find(({ phone }) => phone === address)?.id}/timeline`;
    const { data } = await call('GET', timeline);
    expect(data).toEqual([
      expect.objectContaining({ kind: 'suppression', reason: 'asked again' }),
      {
        kind: 'suppression_lifted',
        at: expect.any(String),
        channel: 'sms',
        address,
        sender: '',
        reason: 'asked',
        source: 'api',
        since: expect.any(String),
        liftedBy: 'api',
      },
    ]);
    const first = await call('GET', `${timeline}?limit=1`);
    expect((await call('GET', `${timeline}?limit=1&cursor=${first.next}`)).data).toEqual([data[1]]);
  });

  test('remembers why a contact was left out of a run', async () => {
    const odd = await plantAudience(db, { contacts: 1, workspaceId, channel: 'email' });
    await db
      .insertInto('skipped_contacts')
      .values({
        run_id: odd.runId,
        channel: 'email',
        contact_id: contacts[0]?.id ?? '',
        reason: 'no_address',
      })
      .execute();
    expect((await call('GET', `/api/contact/${contacts[0]?.id}/timeline`)).data).toMatchObject([
      { kind: 'skipped', runId: odd.runId, reason: 'no_address', channel: 'email' },
    ]);
  });
});

/** `HH:MM` in UTC. */
function inHours(hours: number): string {
  return new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
}
