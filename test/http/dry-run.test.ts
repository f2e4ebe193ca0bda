import fc from 'fast-check';
import { type Kysely, sql } from 'kysely';
import { isToldHowToOptOut, suppression } from '../../src/app/between-halves';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import { audienceOf } from '../../src/campaigns/audience/audience-sql';
import { createCampaigns } from '../../src/campaigns/campaigns';
import type { TemplateLookup } from '../../src/campaigns/model/dependencies';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { createPolicies } from '../../src/campaigns/policy/policy';
import { loadRun } from '../../src/campaigns/runs/runs';
import type { Channel } from '../../src/domain/channel';
import { LIMITS } from '../../src/domain/limits';
import { NO_POLICY } from '../../src/domain/policy';
import { measureSms } from '../../src/domain/sms-encoding';
import { compileText, placeholdersOf } from '../../src/domain/template';
import { campaignRoutes } from '../../src/http/campaigns';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { upsertSuppressions } from '../../src/messaging/suppression/suppression-rows';
import { newId } from '../../src/storage/new-id';
import type { Storage } from '../../src/storage/storage';
import { describeWithDatabase } from '../support/storage';
import { startServer, type TestServer } from './campaigns-server';
import { blocks, contacts } from './dry-run-audiences';

const TEXTS: Record<string, string> = {
  'email t_mail': 'Dear {{NAME}} of {{CITY}}',
  'sms t_text': 'Hello {{NAME}}, {{GREETING}}',
  'sms t_long': `${'x'.repeat(161)} {{NAME}}`,
  'voice t_call': '<Response><Say>{{NAME}}</Say></Response>',
  'voice t_leaves': '<Response><Redirect>https://example.com/next/{{NAME}}</Redirect></Response>',
};
const SETTINGS = {
  email: { fromEmail: '"Fan" <fan@example.com>', templateId: 't_mail', version: 1 },
  sms: { shortCode: '12345', templateId: 't_text', version: 1 },
  voice: { callerId: '+12025550100', templateId: 't_call', version: 1 },
};
const SENDERS: Record<Channel, string> = { email: 'fan@example.com', sms: '12345', voice: '+12025550100' };

/** In America and in Europe. */
const DAYTIME = Date.parse('2026-06-01T15:00:00Z');

describeWithDatabase('POST /api/campaign/dry-run', (database) => {
  let storage: Storage;
  let db: Kysely<CampaignTables>;
  let server: TestServer;
  const rates: Partial<Record<Channel, number>> = {};
  let tellsTexts = true;
  let now = DAYTIME;
  let beforeLookUp: () => Promise<void> = async () => undefined;

  beforeAll(async () => {
    storage = await database.open();
    db = storage.tables<CampaignTables>();
    const templates: TemplateLookup = {
      async find(_workspaceId, channel, templateId, version) {
        await beforeLookUp();
        const text = TEXTS[`${channel} ${templateId}`];
        if (text === undefined) return undefined;
        const told = channel !== 'email' && tellsTexts ? text : undefined;
        return { name: templateId, version, placeholders: placeholdersOf(text), text: told };
      },
    };
    const launcher = { launch: async () => undefined, controlChanged: async () => undefined };
    const senderRate = ({ channel, from }: { channel: Channel; from: string }) =>
      from.includes(SENDERS[channel]) ? rates[channel] : undefined;
    const campaigns = createCampaigns({
      db,
      templates,
      launcher,
      suppression,
      isToldHowToOptOut,
      senderRate,
      now: () => now,
      log: createLog('silent'),
    });
    server = await startServer(db, [(scope) => campaignRoutes(scope, { campaigns })]);
  });
  afterAll(() => server.close());
  afterEach(() => {
    for (const channel of Object.keys(rates)) delete rates[channel as Channel];
    tellsTexts = true;
    now = DAYTIME;
    beforeLookUp = async () => undefined;
  });

  type Contact = { email?: string | null; phone?: string | null; name?: string | null; params?: object };

  /** Straight into the tables: the dirt that lists from before, or from elsewhere, can hold. */
  async function plant(rows: readonly Contact[], as: string): Promise<string> {
    const { body } = await server.call('POST', '/api/contact-list', { name: 'L' }, { as });
    const json = JSON.stringify(rows.map((row, i) => ({ ...row, id: `${body.data.id}-${1000 + i}` })));
    await sql`
      with given as (
        select * from jsonb_to_recordset(${json}::jsonb)
          as g(id text, email text, phone text, name text, params jsonb)
      ), made as (
        insert into contacts (id, workspace_id, identity, name, email, phone, params)
        select id, ${as}, 'x:' || id, name, email, phone, coalesce(params, '{}') from given returning id
      )
      insert into contact_list_members (list_id, contact_id) select ${body.data.id}, id from made`.execute(
      db,
    );
    return body.data.id;
  }

  const bodyFor = (list: string, channel: Channel[], more: object = {}) => ({
    name: 'Spring',
    channel,
    settings: Object.fromEntries(channel.map((one) => [one, SETTINGS[one]])),
    contactListId: [list],
    params: { GREETING: 'welcome', CITY: 'Rome' },
    ...more,
  });
  const dryRun = (body: object, as = 'ws_a') => server.call('POST', '/api/campaign/dry-run', body, { as });
  const sms = async (rows: readonly Contact[], more: object = {}) =>
    (await dryRun(bodyFor(await plant(rows, 'ws_a'), ['sms'], more))).body.data;

  async function freezeRun(campaignId: string): Promise<string> {
    const { current_run } = await db
      .selectFrom('campaigns')
      .select('current_run')
      .where('id', '=', campaignId)
      .executeTakeFirstOrThrow();
    const run = await loadRun(db, current_run ?? '');
    for (const channel of run.channels) {
      const template = run.settings[channel]?.templateId;
      const names = placeholdersOf(TEXTS[`${channel} ${template}`]);
      await freezeAudience(db, { runId: run.runId, ...audienceOf(run, channel, names, suppression) });
    }
    return run.runId;
  }

  test('calls that may continue with another document get a warning', async () => {
    const list = await plant([{ name: 'A', phone: '+12022000001' }], 'ws_a');
    const voice = { callerId: '+12025550100', templateId: 't_leaves', version: 1 };
    const { body } = await dryRun(bodyFor(list, ['voice'], { settings: { voice } }));
    expect(body.data.warnings).toContainEqual({
      path: 'settings.voice',
      code: 'other_document',
      message:
        'Calls may go on with another document, read in the call only: https://example.com/next/{{NAME}}',
      severity: 'warning',
    });
    const inside = await dryRun(bodyFor(list, ['voice']));
    expect(JSON.stringify(inside.body.data.warnings)).not.toContain('other_document');
  });

  test('its counts are those that a run freezes, whatever the lists contain', async () => {
    await fc.assert(
      fc.asyncProperty(contacts, contacts, blocks, fc.nat(20), async (first, second, blocked, reached) => {
        const as = newId('wsp');
        const lists = [await plant(first, as), await plant(second, as)];
        await upsertSuppressions(storage.tables<MessagingTables>(), as, blocked, 'api');
        const channel: Channel[] = ['email', 'sms', 'voice'];
        const anybody = await plant([{ name: 'Z', email: 'z@example.com', phone: '+12022009999' }], as);
        const create = async (more: object) =>
          (await server.call('POST', '/api/campaign', bodyFor(anybody, channel, more), { as })).body.data.id;
        const earlier = await create({ contactListId: [anybody, lists[0]] });
        const before = await freezeRun(earlier);
        await sql`update shards set next_seq = least(to_seq, ${reached}::int) where run_id = ${before}`.execute(
          db,
        );

        const more = { contactListId: [...lists, anybody], exclude: { campaignIds: [earlier] } };
        const tried = await dryRun(bodyFor(anybody, channel, more), as);
        expect(tried.status).toBe(200);
        const run = await freezeRun(await create(more));
        const { skipped } = await db
          .selectFrom('runs')
          .select('skipped')
          .where('id', '=', run)
          .executeTakeFirstOrThrow();
        const text = compileText(TEXTS['sms t_text'] ?? '', 'none');
        for (const one of channel) {
          const frozen = await db
            .selectFrom('recipients')
            .select('params')
            .where('run_id', '=', run)
            .where('channel', '=', one)
            .execute();
          const told = tried.body.data.channels[one];
          expect(told).toMatchObject({
            contacts: first.length + second.length + 1,
            recipients: frozen.length,
            skipped: skipped[one],
          });
          expect(told.offenders).toHaveLength(told.skipped.missing_params);
          if (one !== 'sms') continue;
          const segments = frozen.map(({ params }) => measureSms(text.render(params)).segments);
          expect([told.segments, told.longest]).toEqual([
            segments.reduce((sum, count) => sum + count, 0),
            Math.max(0, ...segments),
          ]);
        }
      }),
      { numRuns: 12 },
    );
  });

  test('nothing is created and nothing is left behind', async () => {
    const list = await plant([{ phone: '+12022000001', name: 'Ann' }], 'ws_a');
    const rows = async () => {
      const counts = await sql<{ n: number }>`
        select (select count(*) from campaigns) + (select count(*) from runs) + (select count(*) from recipients)
          + (select count(*) from shards) + (select count(*) from pg_class where relname = 'surveyed') as n`.execute(
        db,
      );
      return counts.rows[0]?.n;
    };
    const before = await rows();
    const answers = [await dryRun(bodyFor(list, ['sms', 'voice'])), await dryRun(bodyFor(list, ['sms']))];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await rows()).toBe(before);
  });

  test('the first hundred contacts that miss values are named, with what they miss', async () => {
    const rows: Contact[] = [{ phone: '+12022009999', name: 'Ann', params: { GREETING: 'Hi' } }];
    for (let i = 0; i < LIMITS.dryRunOffenders + 20; i++) {
      rows.push({ phone: `+1202300${1000 + i}`, name: i === 1 ? 'Bo' : null });
    }
    const { channels } = await sms(rows, { params: {} });
    expect(channels.sms.skipped.missing_params).toBe(LIMITS.dryRunOffenders + 20);
    expect(channels.sms.offenders).toHaveLength(LIMITS.dryRunOffenders);
    expect(channels.sms.offenders.slice(0, 2)).toEqual([
      { contactId: expect.stringMatching(/-1001$/), missing: ['NAME', 'GREETING'] },
      { contactId: expect.stringMatching(/-1002$/), missing: ['GREETING'] },
    ]);
  });

  test('segments are counted on every text, across pages', async () => {
    const rows = Array.from({ length: LIMITS.dryRunPage * 2 }, (_, i) => ({
      phone: `+1202400${1000 + i}`,
      name: i === 3 ? 'x'.repeat(400) : 'Ann',
    }));
    const { channels, warnings } = await sms(rows);
    expect(channels.sms).toMatchObject({ recipients: 1_000, segments: 1_002, longest: 3 });
    expect(warnings).toEqual([
      {
        path: 'settings.sms',
        code: 'several_segments',
        message: '1 of 1000 messages take more than one segment, the longest 3',
        severity: 'warning',
      },
    ]);
  });

  test('the text on opting out is counted with the messages that would end with it', async () => {
    const as = newId('wsp');
    // One segment without the text, and two with it.
    const people = [1, 2, 3].map((i) => ({ phone: `+1202200000${i}`, name: 'x'.repeat(140) }));
    const list = await plant(people, as);
    const messaging = storage.tables<MessagingTables>();
    const tell = async (address: string, state: 'sent' | 'failed') => {
      const id = newId('msg');
      await sql`
        insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class, lane, accepted_seq, state, history, payload_hash)
        values (${id}, ${as}, ${id}, 'sms', ${address}, '12345', '{}', 'marketing', 'l', 1, ${state}, '[]', '')`.execute(
        messaging,
      );
      await messaging
        .insertInto('opt_out_notices')
        .values({ workspace_id: as, sender: '12345', address, message_id: id })
        .execute();
    };
    // That one was never sent to tells nobody.
    await tell('+12022000001', 'sent');
    await tell('+12022000002', 'failed');
    const setPolicy = (onlyFirst: boolean) =>
      createPolicies({ db }).replace(as, {
        ...NO_POLICY,
        smsOptOutText: { text: 'Reply STOP to opt out', onlyFirst },
      });
    const tried = async (more: object = {}) => {
      const { data } = (await dryRun(bodyFor(list, ['sms'], more), as)).body;
      const { message } = data.warnings.find(({ code }: { code: string }) => code === 'opt_out_text') ?? {};
      const { segments, longest } = data.channels.sms;
      return { segments, longest, ended: message && Number.parseInt(message, 10) };
    };
    expect(await tried()).toEqual({ segments: 3, longest: 1, ended: undefined });
    await setPolicy(true);
    expect(await tried()).toEqual({ segments: 5, longest: 2, ended: 2 });
    expect(await tried({ class: 'transactional' })).toEqual({ segments: 3, longest: 1, ended: undefined });
    const settings = { sms: { ...SETTINGS.sms, shortCode: '54321' } };
    expect(await tried({ settings })).toEqual({ segments: 6, longest: 2, ended: 3 });
    await setPolicy(false);
    expect(await tried()).toEqual({ segments: 6, longest: 2, ended: 3 });
  });

  test('segments are left out of other channels, and where the service does not tell the text', async () => {
    const list = await plant([{ phone: '+12022000001', name: 'Ann' }], 'ws_a');
    const told = (await dryRun(bodyFor(list, ['sms', 'voice']))).body.data.channels;
    expect([Object.keys(told.sms), Object.keys(told.voice)].map((keys) => keys.includes('segments'))).toEqual(
      [true, false],
    );
    tellsTexts = false;
    expect((await dryRun(bodyFor(list, ['sms']))).body.data.channels.sms).not.toHaveProperty('segments');
  });

  test('it lasts as long as the slowest sender takes, in segments for SMS, and is unknown without limits', async () => {
    const list = await plant(
      Array.from({ length: 10 }, (_, i) => ({
        email: `p${i}@example.com`,
        phone: `+1202500000${i}`,
        name: 'Ann',
      })),
      'ws_a',
    );
    const body = bodyFor(list, ['email', 'sms'], {
      settings: { ...SETTINGS, sms: { ...SETTINGS.sms, templateId: 't_long' }, voice: undefined },
    });
    const seconds = async () => (await dryRun(body)).body.data.durationSeconds;
    expect(await seconds()).toBeNull();
    rates.email = 4;
    expect(await seconds()).toBe(3);
    rates.sms = 2;
    expect(await seconds()).toBe(10);
  });

  test('it warns of nobody to send to, of many left out, and of a start that is over', async () => {
    const list = await plant(
      [{ phone: null }, { phone: '+12022000001', name: 'Ann' }, { phone: '+12022000001', name: 'Ann' }],
      'ws_a',
    );
    const past = { schedule: { startAt: '2020-01-01T00:00:00Z' } };
    const { warnings } = (await dryRun(bodyFor(list, ['email', 'sms'], past))).body.data;
    expect(warnings.map((one: { path: string; code: string }) => `${one.path} ${one.code}`)).toEqual([
      'schedule.startAt start_in_past',
      'settings.email no_recipients',
      'settings.email many_skipped',
      'settings.sms many_skipped',
    ]);
    expect(warnings.at(-1).message).toBe('2 of 3 contacts are left out: no_address 1, duplicate_address 1');
  });

  test('creating warns of what needs no look at every contact', async () => {
    const list = await plant([{ phone: '+12022000001', name: 'Ann' }], 'ws_a');
    const more = {
      settings: { email: SETTINGS.email, sms: { ...SETTINGS.sms, templateId: 't_long' } },
      schedule: { startAt: '2020-01-01T00:00:00Z' },
    };
    const { status, body } = await server.call(
      'POST',
      '/api/campaign',
      bodyFor(list, ['sms', 'email'], more),
    );
    expect(status).toBe(201);
    expect(
      body.data.warnings.map((one: { path: string; code: string }) => `${one.path} ${one.code}`),
    ).toEqual([
      'schedule.startAt start_in_past',
      'settings.email no_recipients',
      'settings.sms several_segments',
    ]);
  });

  test('it refuses what creating refuses', async () => {
    const list = await plant([{ phone: '+12022000001', name: 'Ann' }], 'ws_a');
    const wrong = { contactListId: [list, 'lst_none'], exclude: { campaignIds: ['cmp_none'] } };
    const refused = await dryRun(bodyFor(list, ['sms'], wrong));
    expect([refused.status, refused.body.errors.map(({ path }) => path)]).toEqual([
      422,
      ['contactListId.1', 'exclude.campaignIds.0'],
    ]);
    expect((await dryRun(bodyFor(list, ['sms'], { campaignId: 'cmp_none' }))).status).toBe(404);
    const create = (more: object) => server.call('POST', '/api/campaign', bodyFor(list, ['sms'], more));
    const started = (await create({})).body.data.id;
    const draft = (await create({ start: false })).body.data.id;
    const again = await dryRun(bodyFor(list, ['sms'], { campaignId: started }));
    expect([again.status, again.body.code]).toEqual([409, 'campaign_started']);
    expect((await dryRun(bodyFor(list, ['sms'], { campaignId: draft }))).status).toBe(200);
    const empty = { campaignId: draft, contactListId: [], start: true };
    expect((await dryRun(bodyFor(list, ['sms'], empty))).body.code).toBe('no_audience');
    expect((await dryRun(bodyFor(list, ['sms']), 'ws_b')).status).toBe(422);
  });

  test('more than a few at a time are asked to come back, and places become free again', async () => {
    const list = await plant([{ phone: '+12022000001', name: 'Ann' }], 'ws_a');
    const many = 12;
    // All past the look-up before the first begins, so that none is over when another comes.
    let arrived = 0;
    let open: () => void = () => undefined;
    const all = new Promise<void>((resolve) => {
      open = resolve;
    });
    beforeLookUp = async () => {
      arrived += 1;
      if (arrived === many) open();
      await all;
    };
    const answers = await Promise.all(Array.from({ length: many }, () => dryRun(bodyFor(list, ['sms']))));
    const statuses = answers.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    beforeLookUp = async () => undefined;
    for (let i = 0; i <= LIMITS.dryRunsAtOnce; i++) {
      expect((await dryRun(bodyFor(list, ['sms']))).status).toBe(200);
    }
  });
});
