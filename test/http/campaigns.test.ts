import { type Kysely, sql } from 'kysely';
import { createCampaigns } from '../../src/campaigns/campaigns';
import type { RunLauncher, TemplateLookup } from '../../src/campaigns/ports';
import type { CampaignTables } from '../../src/campaigns/tables';
import { campaignRoutes } from '../../src/http/routes/campaigns';
import { createLog } from '../../src/log';
import { describeEachEngine } from '../support/storage';
import { type Answer, startServer, type TestServer } from './campaigns-server';

/** The messaging service's templates, by channel and id; each has version 1 only. */
const PLACEHOLDERS: Record<string, string[]> = {
  'email t_mail': ['NAME', 'CITY'],
  'sms t_text': ['NAME'],
  'voice t_call': [],
  'sms t_code': ['CODE'],
  'email t_many': ['NAME', 'EXTERNAL_ID', 'LOCALE', 'TIMEZONE', 'EMAIL', 'PHONE'],
};
const templates: TemplateLookup = {
  async find(_workspaceId, channel, templateId, version) {
    const placeholders = PLACEHOLDERS[`${channel} ${templateId}`];
    return placeholders && version === 1 ? { name: templateId, version, placeholders } : undefined;
  },
};

const EMAIL = { fromEmail: '"Fan" <fan@example.com>', templateId: 't_mail', version: 1 };
const SMS = { shortCode: '12345', templateId: 't_text', version: 1 };
const VOICE = { callerId: '+1 202 555 0100', templateId: 't_call', version: 1 };
const IN_AN_HOUR = () => new Date(Date.now() + 3_600_000).toISOString();

describeEachEngine('campaigns over HTTP', (engine) => {
  let db: Kysely<CampaignTables>;
  let server: TestServer;
  let list: string;
  const launched: Parameters<RunLauncher['launch']>[0][] = [];
  const told: string[] = [];
  let launchFails = false;

  beforeAll(async () => {
    db = (await engine.open()).tables<CampaignTables>();
    const launcher: RunLauncher = {
      async launch(run) {
        if (launchFails) throw new Error('no server');
        launched.push(run);
      },
      async controlChanged(runId) {
        told.push(runId);
      },
    };
    const campaigns = createCampaigns({ db, templates, launcher, log: createLog('silent') });
    server = await startServer(db, [(scope) => campaignRoutes(scope, { campaigns })]);
    list = await newList([
      { email: 'ann@example.com', name: 'Ann', phone: '+12025550101', params: { CITY: 'Rome' } },
      { email: 'bob@example.com' },
    ]);
  });
  afterAll(() => server.close());
  beforeEach(() => {
    launched.length = 0;
    told.length = 0;
    launchFails = false;
  });

  async function newList(contacts: object[], as = 'ws_a'): Promise<string> {
    const { body } = await server.call('POST', '/api/contact-list', { name: 'L' }, { as });
    if (contacts.length > 0) {
      await server.call('POST', `/api/contact-list/${body.data.id}/contacts`, { contacts }, { as });
    }
    return body.data.id;
  }
  const body = (more: object = {}) => ({
    campaignId: null,
    name: 'Spring',
    settings: { email: EMAIL },
    channel: ['email'],
    contactListId: [list],
    ...more,
  });
  const create = (more: object = {}) => server.call('POST', '/api/campaign', body(more));
  const newCampaign = async (more: object = {}): Promise<string> => (await create(more)).body.data.id;
  const detail = async (id: string) => (await server.call('GET', `/api/campaign/${id}`)).body.data;
  const act = (id: string, action: string, content?: unknown) =>
    server.call('POST', `/api/campaign/${id}/${action}`, content);
  const setRun = (id: string, phase: string) =>
    sql`update runs set phase = ${phase} where campaign_id = ${id}`.execute(db);
  const findings = (answer: { body: Answer }) =>
    answer.body.errors.map((error) => `${error.path} ${error.code}`);

  test('a campaign is created as the specification says, and its run is launched', async () => {
    const { status, body } = await create({
      settings: { email: EMAIL, sms: SMS, voice: VOICE },
      channel: ['voice', 'email', 'sms'],
      somethingNewer: true,
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      result: 'success',
      status: 201,
      message: expect.any(String),
      data: {
        id: expect.stringMatching(/^cmp_[0-9a-z]{26}$/),
        name: 'Spring',
        channel: ['voice', 'email', 'sms'],
        status: 'active',
        phase: 'planning',
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        warnings: [],
      },
    });
    const run = await db
      .selectFrom('runs')
      .selectAll()
      .where('campaign_id', '=', body.data.id)
      .executeTakeFirstOrThrow();
    expect(run).toMatchObject({
      number: 1,
      phase: 'planning',
      control: 'run',
      workflow_id: `campaign:${run.id}`,
    });
    expect(run.id).toMatch(/^run_[0-9a-z]{26}$/);
    expect(launched).toEqual([
      { runId: run.id, workspaceId: 'ws_a', campaignId: body.data.id, startAt: undefined },
    ]);
  });

  test('a campaign is duplicated as a draft with the same settings, whatever became of it', async () => {
    const startAt = IN_AN_HOUR();
    const more = { params: { TOTAL: 3 }, class: 'transactional', schedule: { startAt } };
    const id = await newCampaign({
      ...more,
      settings: { email: EMAIL, sms: SMS },
      channel: ['sms', 'email'],
    });
    const first = await act(id, 'duplicate');
    expect([first.status, first.body.data]).toEqual([
      201,
      expect.objectContaining({ name: 'Spring (copy)', status: 'paused', phase: 'draft' }),
    ]);
    const same = ['settings', 'channel', 'contactListId', 'params', 'class', 'schedule'];
    const copy = await detail(first.body.data.id);
    const original = await detail(id);
    for (const member of same) expect([member, copy[member]]).toEqual([member, original[member]]);
    expect([copy.runId, copy.startedAt]).toEqual([null, null]);

    await act(id, 'cancel');
    await sql`update campaigns set options = jsonb_set(options, '{schedule,startAt}', '"2026-01-01T00:00:00.000Z"')
      where id = ${id}`.execute(db);
    const second = await act(id, 'duplicate', {});
    expect(second.status).toBe(201);
    expect(second.body.data.id).not.toBe(first.body.data.id);
    expect((await detail(second.body.data.id)).schedule).toBeUndefined();
    expect((await act(second.body.data.id, 'duplicate')).body.data.name).toBe('Spring (copy 2)');
    expect((await act(id, 'duplicate', { name: 'x' })).status).toBe(422);
    const foreign = await server.call('POST', `/api/campaign/${id}/duplicate`, undefined, { as: 'ws_b' });
    expect(foreign.status).toBe(404);
    expect(launched).toHaveLength(1);
  });

  test('a campaign is created even if its workflow cannot be launched now', async () => {
    launchFails = true;
    const { status, body } = await create();
    expect([status, body.data.phase]).toEqual([201, 'planning']);
  });

  test('everything that is wrong with a body is reported at once', async () => {
    const answer = await create({
      name: ' ',
      channel: ['email', 'sms', 'email'],
      settings: { email: { ...EMAIL, fromEmail: 'nobody', version: 1.5 }, voice: VOICE },
      contactListId: [],
      schedule: { cron: '* * * * *', when: 'soon' },
      strategy: 'fallback',
      params: { lower: 1 },
    });
    expect(answer.status).toBe(422);
    expect(findings(answer).sort()).toEqual(
      [
        'name too_small',
        'channel.2 repeated',
        'settings.email.fromEmail custom',
        'settings.email.version not_multiple_of',
        'settings.sms required',
        'settings.voice not_listed',
        'contactListId too_small',
        'schedule.when unknown_field',
        'schedule.cron not_supported',
        'strategy not_supported',
        'params.lower custom',
      ].sort(),
    );
  });

  test('required members that are missing are named', async () => {
    expect(findings(await server.call('POST', '/api/campaign', {})).sort()).toEqual([
      'channel required',
      'contactListId required',
      'name required',
      'settings required',
    ]);
    expect((await server.call('POST', '/api/campaign', [])).status).toBe(422);
  });

  test.each([
    ['schedule', { endAt: '2030-01-01T00:00:00Z' }, 'schedule.endAt'],
    ['schedule', { recipientLocal: true }, 'schedule.recipientLocal'],
    ['delivery', { ratePerSecond: 5 }, 'delivery.ratePerSecond'],
    ['delivery', { retry: { maxAttempts: 2 } }, 'delivery.retry'],
    [
      'delivery',
      { quietHours: { from: '21:00', to: '08:00', timezone: 'recipient' } },
      'delivery.quietHours',
    ],
    ['voice', { callWindow: { from: '09:00', to: '18:00' } }, 'voice.callWindow'],
    ['exclude', { suppressionOnly: true }, 'exclude.suppressionOnly'],
    ['abort', { failureRate: 0.5 }, 'abort'],
  ])('%s %p is refused as not supported yet', async (member, value, path) => {
    expect(findings(await create({ [member]: value }))).toEqual([`${path} not_supported`]);
  });

  test('what the specification leaves out and we carry out is kept with the campaign', async () => {
    const additions = {
      params: { CITY: 'Oslo', YEAR: 2026 },
      class: 'transactional',
      strategy: 'broadcast',
      voice: { maxAttempts: 3, retry: { busy: { maxAttempts: 2, delaysSeconds: [60] } } },
      delivery: { maxConcurrentCalls: 5 },
      exclude: { campaignIds: [await newCampaign()] },
    };
    const id = await newCampaign(additions);
    expect(await detail(id)).toMatchObject(additions);
  });

  test('excluded campaigns must be of the workspace', async () => {
    const own = await newCampaign();
    const theirs = await newList([{ email: 'y@example.com', name: 'Y', params: { CITY: 'X' } }], 'ws_b');
    const foreign = await server.call('POST', '/api/campaign', body({ contactListId: [theirs] }), {
      as: 'ws_b',
    });
    expect(foreign.status).toBe(201);
    const answer = await create({ exclude: { campaignIds: [own, foreign.body.data.id, 'cmp_none'] } });
    expect([answer.status, answer.body.code]).toEqual([422, 'campaign_not_found']);
    expect(findings(answer)).toEqual([
      'exclude.campaignIds.1 campaign_not_found',
      'exclude.campaignIds.2 campaign_not_found',
    ]);
  });

  test('templates and lists that do not exist, and names nobody has a value for, are reported together', async () => {
    const foreign = await newList([{ email: 'x@example.com' }], 'ws_b');
    const answer = await create({
      channel: ['email', 'sms', 'voice'],
      settings: {
        email: { ...EMAIL, version: 2 },
        sms: { ...SMS, templateId: 't_code' },
        voice: { ...VOICE, templateId: 't_mail' },
      },
      contactListId: [list, 'lst_none', foreign],
    });
    expect([answer.status, answer.body.code]).toEqual([422, 'template_not_found']);
    expect(findings(answer)).toEqual([
      'settings.email.templateId template_not_found',
      'settings.voice.templateId template_not_found',
      'contactListId.1 contact_list_not_found',
      'contactListId.2 contact_list_not_found',
      'settings.sms.templateId missing_params',
    ]);
    expect(answer.body.errors.at(-1)?.message).toContain('CODE');
  });

  test('placeholders are filled from fields, from params of a contact, or from those of the campaign', async () => {
    const fields = { ...EMAIL, templateId: 't_many' };
    expect(findings(await create({ settings: { email: fields } }))).toEqual([
      'settings.email.templateId missing_params',
      'settings.email.templateId missing_params',
      'settings.email.templateId missing_params',
    ]);
    const given = { EXTERNAL_ID: '1', LOCALE: 'it', TIMEZONE: 'UTC' };
    expect((await create({ settings: { email: fields }, params: given })).status).toBe(201);
    const other = await newList([{ externalId: '7', phone: '+12025550107', params: { CODE: 0 } }]);
    const sms = { channel: ['sms'], settings: { sms: { ...SMS, templateId: 't_code' } } };
    expect((await create({ ...sms, contactListId: [list, other] })).status).toBe(201);
    expect((await create({ ...sms, params: { CODE: '' } })).body.code).toBe('missing_params');
  });

  test('a draft waits, can be edited and is started once', async () => {
    const id = await newCampaign({ start: false });
    expect(await detail(id)).toMatchObject({ phase: 'draft', status: 'paused', workflowId: null });
    expect(launched).toEqual([]);

    const edited = await create({ campaignId: id, name: 'Summer' });
    expect([edited.status, edited.body.data]).toMatchObject([200, { id, name: 'Summer', phase: 'draft' }]);
    expect((await act(id, 'pause')).body.code).toBe('illegal_transition');

    expect((await act(id, 'start')).body.data).toMatchObject({ phase: 'planning', status: 'active' });
    expect((await act(id, 'start')).status).toBe(200);
    expect(launched).toHaveLength(1);
    const late = await create({ campaignId: id });
    expect([late.status, late.body.code]).toEqual([409, 'campaign_started']);
    expect((await create({ campaignId: 'cmp_none' })).status).toBe(404);
  });

  test('an edit can start a draft', async () => {
    const id = await newCampaign({ start: false });
    expect((await create({ campaignId: id, start: true })).body.data.phase).toBe('planning');
    expect(launched).toMatchObject([{ campaignId: id }]);
  });

  test('a start time in the future schedules; an edit moves it; starting goes ahead now', async () => {
    const startAt = IN_AN_HOUR();
    const id = await newCampaign({ schedule: { startAt } });
    expect(launched).toMatchObject([{ campaignId: id, startAt: new Date(startAt) }]);
    expect(await detail(id)).toMatchObject({ phase: 'scheduled', status: 'active', startedAt: null });

    await create({ campaignId: id, schedule: { startAt } });
    expect(launched).toHaveLength(2);
    expect(launched[1]?.runId).not.toBe(launched[0]?.runId);

    expect((await act(id, 'start')).body.data.phase).toBe('planning');
    expect(launched[2]).toMatchObject({ campaignId: id, startAt: undefined });
    expect((await detail(id)).schedule).toEqual({});
    const runs = await db
      .selectFrom('runs')
      .select(['number', 'phase', 'control'])
      .where('campaign_id', '=', id)
      .orderBy('number')
      .execute();
    expect(runs).toEqual([
      { number: 1, phase: 'canceled', control: 'cancel' },
      { number: 2, phase: 'canceled', control: 'cancel' },
      { number: 3, phase: 'planning', control: 'run' },
    ]);
  });

  test('a start time in the past starts now, and one too far ahead is refused', async () => {
    const past = await create({ schedule: { startAt: '2020-01-01T00:00:00+02:00' } });
    expect(past.body.data.phase).toBe('planning');
    const far = await create({
      schedule: { startAt: new Date(Date.now() + 400 * 86_400_000).toISOString() },
    });
    expect(findings(far)).toEqual(['schedule.startAt custom']);
  });

  test('a running campaign is paused, resumed and canceled, and its workflow told each time', async () => {
    const id = await newCampaign();
    await setRun(id, 'running');
    const runId = launched[0]?.runId;
    expect((await act(id, 'pause')).body.data).toMatchObject({ phase: 'paused', status: 'paused' });
    expect((await act(id, 'pause', {})).status).toBe(200);
    expect((await act(id, 'start')).body.code).toBe('illegal_transition');
    expect((await act(id, 'resume')).body.data.phase).toBe('running');
    expect((await act(id, 'cancel')).status).toBe(200);
    const refused = await act(id, 'resume');
    expect([refused.status, refused.body.code]).toEqual([409, 'illegal_transition']);
    expect(refused.body.message).toContain('being canceled');
    await setRun(id, 'canceled');
    expect((await act(id, 'cancel')).body.data).toMatchObject({ phase: 'canceled', status: 'completed' });
    expect((await act(id, 'pause')).body.message).toContain('canceled');
    expect(told).toEqual([runId, runId, runId, runId]);
    expect((await act('cmp_none', 'pause')).status).toBe(404);
    expect((await act(id, 'cancel', { force: true })).status).toBe(422);
  });

  test('a scheduled campaign can be paused and resumed before its hour', async () => {
    const id = await newCampaign({ schedule: { startAt: IN_AN_HOUR() } });
    const control = async () =>
      (await db.selectFrom('runs').select('control').where('campaign_id', '=', id).executeTakeFirstOrThrow())
        .control;
    await act(id, 'pause');
    expect(await control()).toBe('pause');
    await act(id, 'resume');
    expect(await control()).toBe('run');
    expect(told).toEqual([]);
  });

  test.each([
    ['a draft', { start: false }],
    ['a scheduled campaign', { schedule: { startAt: IN_AN_HOUR() } }],
  ])('%s is canceled at once', async (_, more) => {
    const id = await newCampaign(more);
    expect((await act(id, 'cancel')).body.data).toMatchObject({ phase: 'canceled', status: 'completed' });
    expect((await act(id, 'cancel')).status).toBe(200);
    expect((await act(id, 'start')).status).toBe(409);
    expect((await detail(id)).finishedAt).not.toBeNull();
  });

  test('the detail counts every state of every channel, also before the audience is frozen', async () => {
    const id = await newCampaign({ channel: ['sms', 'email'], settings: { email: EMAIL, sms: SMS } });
    const shown = await detail(id);
    expect(Object.keys(shown.counts)).toEqual(['email', 'sms']);
    expect(shown.counts.sms).toMatchObject({ total: 0, pending: 0, delivered: 0, unknown: 0 });
    expect(shown).toMatchObject({ contactListId: [list], settings: { email: EMAIL }, reason: null });
    expect((await server.call('GET', `/api/campaign/${id}`, undefined, { as: 'ws_b' })).status).toBe(404);
    const recipients = await server.call('GET', `/api/campaign/${id}/recipients?channel=sms&state=pending`);
    expect([recipients.status, recipients.body.data, recipients.body.next]).toEqual([200, [], null]);
    const wrong = await server.call('GET', `/api/campaign/${id}/recipients?cursor=x&limit=1`);
    expect(findings(wrong)).toEqual(['cursor invalid_cursor']);
  });

  test('a list is kept while a live campaign uses it', async () => {
    const own = await newList([{ email: 'live@example.com', name: 'L', params: { CITY: 'Bern' } }]);
    const remove = async () => (await server.call('DELETE', `/api/contact-list/${own}`)).body.code;
    const id = await newCampaign({ contactListId: [own], schedule: { startAt: IN_AN_HOUR() } });
    expect(await remove()).toBe('list_in_use');
    await act(id, 'start');
    expect(await remove()).toBe('list_in_use');
    const draft = await newCampaign({ contactListId: [own], start: false });
    await setRun(id, 'completed');
    expect(await remove()).toBeUndefined();
    expect((await act(draft, 'start')).body.code).toBe('contact_list_not_found');
  });
});
