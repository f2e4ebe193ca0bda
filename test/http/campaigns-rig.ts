import { type Kysely, sql } from 'kysely';
import { createCampaigns } from '../../src/campaigns/campaigns';
import type { RunLauncher, TemplateLookup } from '../../src/campaigns/model/dependencies';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { campaignControlRoutes } from '../../src/http/campaign-control';
import { campaignRecipientRoutes } from '../../src/http/campaign-recipients';
import { campaignRunRoutes } from '../../src/http/campaign-runs';
import { campaignRoutes } from '../../src/http/campaigns';
import { createLog } from '../../src/log';
import type { TestDatabase } from '../support/storage';
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

export const EMAIL = { fromEmail: '"Fan" <fan@example.com>', templateId: 't_mail', version: 1 };
export const SMS = { shortCode: '12345', templateId: 't_text', version: 1 };
export const VOICE = { callerId: '+1 202 555 0100', templateId: 't_call', version: 1 };
export const IN_AN_HOUR = () => new Date(Date.now() + 3_600_000).toISOString();

/** In America and in Europe, whatever the hour at which the tests run. */
const DAYTIME = Date.parse('2026-06-01T15:00:00Z');

/** The campaigns' API over a real database; what it asks of Temporal is written down instead. */
export function campaignsRig(database: TestDatabase) {
  let db: Kysely<CampaignTables>;
  let server: TestServer;
  let list: string;
  const launched: Parameters<RunLauncher['launch']>[0][] = [];
  const told: string[] = [];
  let launchFails = false;
  /** What Temporal's answer to a start or a signal waits for. */
  let silence: Promise<void> | undefined;
  /** What the service's answer to a hold waits for. */
  let holding: Promise<void> | undefined;
  let now = DAYTIME;

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    const launcher: RunLauncher = {
      async launch(run) {
        if (launchFails) throw new Error('no server');
        launched.push(run);
        await silence;
      },
      async controlChanged({ runId }) {
        told.push(runId);
        await silence;
      },
    };
    const campaigns = createCampaigns({
      db,
      templates,
      launcher,
      holds: { hold: async () => holding, release: async () => undefined },
      now: () => now,
      log: createLog('silent'),
    });
    server = await startServer(db, [
      (scope) => campaignRoutes(scope, { campaigns }),
      (scope) => campaignControlRoutes(scope, { campaigns }),
      (scope) => campaignRunRoutes(scope, { campaigns }),
      (scope) => campaignRecipientRoutes(scope, { campaigns }),
    ]);
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
    holding = undefined;
    silence = undefined;
    now = DAYTIME;
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

  return {
    launched,
    told,
    newList,
    body,
    create,
    /** What hour it is where warnings and forecasts are made. */
    setClock: (at: string) => {
      now = Date.parse(at);
    },
    db: () => db,
    list: () => list,
    failLaunches() {
      launchFails = true;
    },
    silenceUntil(answer: Promise<void>) {
      silence = answer;
    },
    holdUntil(answer: Promise<void>) {
      holding = answer;
    },
    call: (...request: Parameters<TestServer['call']>) => server.call(...request),
    newCampaign: async (more: object = {}): Promise<string> => (await create(more)).body.data.id,
    detail: async (id: string) => (await server.call('GET', `/api/campaign/${id}`)).body.data,
    act: (id: string, action: string, content?: unknown) =>
      server.call('POST', `/api/campaign/${id}/${action}`, content),
    setRun: (id: string, phase: string) =>
      sql`update runs set phase = ${phase} where campaign_id = ${id}`.execute(db),
    findings: (answer: { body: Answer }) => answer.body.errors.map((error) => `${error.path} ${error.code}`),
  };
}
