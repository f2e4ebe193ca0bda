/** Proves how campaigns are created, edited, copied and shown. */

import { sql } from 'kysely';
import { encodeCursor } from '../../src/contracts/common';
import { LIMITS } from '../../src/domain/limits';
import { describeWithDatabase } from '../support/storage';
import { campaignsRig, EMAIL, IN_AN_HOUR, SMS, VOICE } from './campaigns-rig';

describeWithDatabase('campaigns over HTTP', (database) => {
  const {
    launched,
    newList,
    body,
    create,
    db,
    list,
    failLaunches,
    call,
    newCampaign,
    detail,
    act,
    setRun,
    findings,
  } = campaignsRig(database);

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
        id: expect.stringMatching(/^cmp_[0-9a-z]{19}$/),
        name: 'Spring',
        channel: ['voice', 'email', 'sms'],
        status: 'active',
        phase: 'planning',
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        archived: false,
        tags: [],
        warnings: [expect.objectContaining({ path: 'somethingNewer', code: 'unknown_field' })],
      },
    });
    const run = await db()
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
    expect(run.id).toMatch(/^run_[0-9a-z]{19}$/);
    expect(launched).toEqual([
      { runId: run.id, launch: 1, workspaceId: 'ws_a', campaignId: body.data.id, startAt: undefined },
    ]);
  });

  test('creating and trying warn of fields that no campaign has, because a misspelt schedule sends at once', async () => {
    const later = '2030-01-01T00:00:00Z';
    const misspelt = { start: false, shedule: { startAt: later }, startAt: later };
    type Said = { body: { data: { warnings: { path: string; code: string }[] } } };
    const said = ({ body: answered }: Said) => answered.data.warnings.map((one) => `${one.path} ${one.code}`);
    const created = await create(misspelt);
    expect(said(created)).toEqual(['shedule unknown_field', 'startAt unknown_field']);
    expect(created.body.data.warnings[0].message).toContain('is named shedule,');
    const tried = (more: object) => call('POST', '/api/campaign/dry-run', body({ ...misspelt, ...more }));
    expect(said(await tried({})).slice(0, 2)).toEqual(said(created));
    // A campaign can be sent back as it was read.
    const read = await detail(created.body.data.id);
    expect(said(await create({ ...read, campaignId: read.id, start: false }))).toEqual([]);
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${i}${'x'.repeat(1000)}`, 1]));
    const named = said(await tried(many)).filter((one) => one.endsWith(' unknown_field'));
    expect([named.length, named.at(-1)?.length]).toEqual([20, 64 + ' unknown_field'.length]);
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
      where id = ${id}`.execute(db());
    const second = await act(id, 'duplicate', {});
    expect(second.status).toBe(201);
    expect(second.body.data.id).not.toBe(first.body.data.id);
    expect((await detail(second.body.data.id)).schedule).toBeUndefined();
    expect((await act(second.body.data.id, 'duplicate')).body.data.name).toBe('Spring (copy 2)');
    expect((await act(id, 'duplicate', { name: 'x' })).status).toBe(422);
    const foreign = await call('POST', `/api/campaign/${id}/duplicate`, undefined, { as: 'ws_b' });
    expect(foreign.status).toBe(404);
    expect(launched).toHaveLength(1);
  });

  test('a campaign is created even if its workflow cannot be launched now', async () => {
    failLaunches();
    const { status, body } = await create();
    expect([status, body.data.phase]).toEqual([201, 'planning']);
  });

  test('everything that is wrong with a body is reported at once', async () => {
    const answer = await create({
      name: ' ',
      channel: ['email', 'sms', 'email'],
      settings: { email: { ...EMAIL, fromEmail: 'nobody', version: 1.5 }, voice: VOICE },
      contactListId: [],
      schedule: { cron: '* * * *', when: 'soon' },
      strategy: 'fallback',
      params: { lower: 1 },
    });
    expect(answer.status).toBe(422);
    expect(findings(answer).sort()).toEqual(
      [
        'name too_small',
        'channel.2 repeated',
        'settings.email.fromEmail invalid_sender',
        'settings.email.version not_multiple_of',
        'settings.sms required',
        'settings.voice not_listed',
        'contactListId too_small',
        'schedule.when unknown_field',
        'schedule.cron invalid_cron',
        'params.lower invalid_param_name',
      ].sort(),
    );
  });

  test('required members that are missing are named', async () => {
    expect(findings(await call('POST', '/api/campaign', {})).sort()).toEqual([
      'channel required',
      'contactListId required',
      'name required',
      'settings required',
    ]);
    expect((await call('POST', '/api/campaign', [])).status).toBe(422);
  });

  test.each([
    [{ strategy: 'fallback', channel: ['email'], settings: { email: EMAIL } }, 'strategy too_few_channels'],
    [{ fallbackAfterSeconds: 60 }, 'fallbackAfterSeconds not_applicable'],
    [{ strategy: 'broadcast', fallbackAfterSeconds: 60 }, 'fallbackAfterSeconds not_applicable'],
  ])('a fallback without anything to fall back to is refused: %j', async (options, finding) => {
    const answer = await create(options);
    expect([answer.status, findings(answer)]).toEqual([422, [finding]]);
  });

  test('a retry policy and a threshold that make no sense are refused, each finding named', async () => {
    const answer = await create({
      delivery: {
        retry: { maxAttempts: 0, initialDelaySeconds: 60, maxDelaySeconds: 30, backoff: 0.5 },
        onUnknown: 'guess',
        expireAfterSeconds: 0,
      },
      abort: { failureRate: 0 },
    });
    expect(
      findings(answer)
        .map((finding) => finding.split(' ')[0])
        .sort(),
    ).toEqual([
      'abort.failureRate',
      'delivery.expireAfterSeconds',
      'delivery.onUnknown',
      'delivery.retry.backoff',
      'delivery.retry.maxAttempts',
      'delivery.retry.maxDelaySeconds',
    ]);
  });

  test('what the specification leaves out and we carry out is kept with the campaign', async () => {
    const additions = {
      params: { CITY: 'Oslo', YEAR: 2026 },
      class: 'transactional',
      strategy: 'broadcast',
      voice: { maxAttempts: 3, retry: { busy: { maxAttempts: 2, delaysSeconds: [60] } } },
      delivery: {
        maxConcurrentCalls: 5,
        ratePerSecond: 0.5,
        retry: { maxAttempts: 3, initialDelaySeconds: 1, backoff: 1.5, maxDelaySeconds: 60 },
        onUnknown: 'resend',
        expireAfterSeconds: 3600,
      },
      abort: { failureRate: 0.5, minSample: 20 },
      exclude: { campaignIds: [await newCampaign()] },
    };
    const id = await newCampaign(additions);
    expect(await detail(id)).toMatchObject(additions);
  });

  test('an excluded campaign whose recipients were deleted leaves no contact out, and a warning says so', async () => {
    const [old, recent] = [await newCampaign(), await newCampaign()];
    await sql`update runs set recipients_deleted_at = now() where campaign_id = ${old}`.execute(db());
    const exclude = { campaignIds: [recent, old] };
    const expected = { path: 'exclude.campaignIds.1', code: 'exclusion_deleted', severity: 'warning' };
    const created = await create({ exclude, start: false });
    expect(created.body.data.warnings).toContainEqual(expect.objectContaining(expected));
    const tried = await call('POST', '/api/campaign/dry-run', body({ exclude }));
    expect(tried.body.data.warnings).toContainEqual(expect.objectContaining(expected));
  });

  test('excluded campaigns must be of the workspace', async () => {
    const own = await newCampaign();
    const theirs = await newList([{ email: 'y@example.com', name: 'Y', params: { CITY: 'X' } }], 'ws_b');
    const foreign = await call('POST', '/api/campaign', body({ contactListId: [theirs] }), {
      as: 'ws_b',
    });
    expect(foreign.status).toBe(201);
    const answer = await create({ exclude: { campaignIds: [own, foreign.body.data.id, 'cmp_none'] } });
    expect([answer.status, answer.body.code]).toEqual([422, 'campaign_not_found']);
    expect(findings(answer)).toEqual(['exclude.campaignIds.1 not_found', 'exclude.campaignIds.2 not_found']);
  });

  test('unknown templates and lists, and placeholders without a value for any contact, are reported together', async () => {
    const foreign = await newList([{ email: 'x@example.com' }], 'ws_b');
    const answer = await create({
      channel: ['email', 'sms', 'voice'],
      settings: {
        email: { ...EMAIL, version: 2 },
        sms: { ...SMS, templateId: 't_code' },
        voice: { ...VOICE, templateId: 't_mail' },
      },
      contactListId: [list(), list(), 'lst_none', foreign],
    });
    expect([answer.status, answer.body.code]).toEqual([422, 'template_not_found']);
    expect(findings(answer)).toEqual([
      'settings.email.templateId not_found',
      'settings.voice.templateId not_found',
      'contactListId.2 not_found',
      'contactListId.3 not_found',
      'settings.sms.templateId missing_params',
    ]);
    expect(answer.body.errors.at(-1)?.message).toContain('CODE');
  });

  test('what a malformed body names and is not there is reported with what is malformed', async () => {
    const answer = await create({
      name: '',
      channel: ['email', 'sms'],
      settings: { email: { ...EMAIL, version: 'x' }, sms: { ...SMS, templateId: 't_none' } },
      contactListId: [list(), 7, 'lst_none'],
      exclude: { campaignIds: ['cmp_none'] },
      recipients: [{}],
    });
    expect([answer.status, answer.body.code]).toEqual([422, 'invalid_request']);
    expect(findings(answer).sort()).toEqual(
      [
        'name too_small',
        'settings.email.version invalid_type',
        'contactListId.1 invalid_type',
        'recipients.0 no_address',
        'settings.sms.templateId not_found',
        'contactListId.2 not_found',
        'exclude.campaignIds.0 not_found',
      ].sort(),
    );
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
    expect((await create({ ...sms, contactListId: [list(), other] })).status).toBe(201);
    expect((await create({ ...sms, params: { CODE: '' } })).body.code).toBe('missing_params');
  });

  test('the detail counts every state of every channel, also before the audience is frozen', async () => {
    const id = await newCampaign({ channel: ['sms', 'email'], settings: { email: EMAIL, sms: SMS } });
    const shown = await detail(id);
    expect(Object.keys(shown.counts)).toEqual(['email', 'sms']);
    expect(shown.counts.sms).toMatchObject({ total: 0, pending: 0, delivered: 0, unknown: 0 });
    expect(shown).toMatchObject({ contactListId: [list()], settings: { email: EMAIL }, reason: null });
    expect((await call('GET', `/api/campaign/${id}`, undefined, { as: 'ws_b' })).status).toBe(404);
    const recipients = await call('GET', `/api/campaign/${id}/recipients?channel=sms&state=pending`);
    expect([recipients.status, recipients.body.data, recipients.body.next]).toEqual([200, [], null]);
    const wrong = await call('GET', `/api/campaign/${id}/recipients?cursor=x&limit=1`);
    expect(findings(wrong)).toEqual(['cursor invalid_cursor']);
    const beyond = { recipients: { channel: 'sms', seq: 3_000_000_000 }, runs: { number: 3_000_000_000 } };
    for (const [listed, position] of Object.entries(beyond)) {
      const forged = await call('GET', `/api/campaign/${id}/${listed}?cursor=${encodeCursor(position)}`);
      expect([listed, ...findings(forged)]).toEqual([listed, 'cursor invalid_cursor']);
    }
  });

  test('a list is kept while a live campaign uses it', async () => {
    const own = await newList([{ email: 'live@example.com', name: 'L', params: { CITY: 'Bern' } }]);
    const remove = async () => (await call('DELETE', `/api/contact-list/${own}`)).body.code;
    const id = await newCampaign({ contactListId: [own], schedule: { startAt: IN_AN_HOUR() } });
    expect(await remove()).toBe('list_in_use');
    await act(id, 'start');
    expect(await remove()).toBe('list_in_use');
    const draft = await newCampaign({ contactListId: [own], start: false });
    await setRun(id, 'completed');
    expect(await remove()).toBeUndefined();
    expect((await act(draft, 'start')).body.code).toBe('contact_list_not_found');
  });

  test('a dry run finds no room for a new campaign where creating it would find none', async () => {
    const as = 'ws_full';
    const own = await newList([{ email: 'full@example.com', name: 'F', params: { CITY: 'Bern' } }], as);
    const draft = body({ contactListId: [own], start: false });
    const saved = await call('POST', '/api/campaign', draft, { as });
    const dryRun = (content: object) => call('POST', '/api/campaign/dry-run', content, { as });
    expect((await dryRun(draft)).status).toBe(200);
    const campaignId = saved.body.data.id;
    await sql`
      insert into campaigns select made.*
      from campaigns c, generate_series(2, ${LIMITS.campaignsPerWorkspace}) n,
        jsonb_populate_record(c, jsonb_build_object('id', 'cmp_' || n)) made
      where c.id = ${campaignId}`.execute(db());
    const tried = await dryRun(draft);
    expect([tried.status, tried.body.code]).toEqual([409, 'limit_reached']);
    expect((await call('POST', '/api/campaign', draft, { as })).body.message).toBe(tried.body.message);
    expect((await dryRun({ ...draft, campaignId })).status).toBe(200);
  });
});
