import type { Kysely } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { newId } from '../../src/storage/new-id';
import type { TestDatabase } from '../support/storage';
import { bearerFor, type HttpAnswer, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

export type Caller = (method: string, path: string, body?: unknown) => Promise<HttpAnswer>;

/** A workspace whose policy asks for an approval above two contacts, with a list of three. */
export interface Approvals {
  workspaceId: string;
  /** A backend, which acts for nobody unless a header says so. */
  client: Caller;
  clientFor: (userId: string) => Caller;
  ann: Caller & { id: string };
  bob: Caller & { id: string };
  list: string;
  create: (by: Caller, more?: object) => Promise<HttpAnswer>;
  newCampaign: (by: Caller, more?: object) => Promise<string>;
  add: (contacts: number, list?: string) => Promise<void>;
  detail: (id: string) => Promise<HttpAnswer['body']['data']>;
  digestOf: (id: string) => Promise<string>;
  act: (by: Caller, id: string, action: string, body?: unknown) => Promise<HttpAnswer>;
  setPolicy: (policy: object) => Promise<HttpAnswer>;
}

export function approvalRig(database: TestDatabase) {
  let db: Kysely<CampaignTables>;
  let api: WholeApi;
  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<CampaignTables>();
    api = await startWholeApi(storage);
  });
  afterAll(() => api.stop());

  const callWith =
    (headers: Record<string, string>): Caller =>
    (method, path, body) =>
      api.call(method, path, { headers, body });

  async function open(): Promise<Approvals> {
    const workspace = await newWorkspace(api.identity);
    const authorization = await bearerFor(api.identity, workspace);
    const client = callWith({ authorization });
    const bySession = async (user: { id: string; email: string; password: string }) => {
      const { token } = await api.identity.login({ ...user, address: newId('adr') });
      const headers = { cookie: `session_token=${token}`, 'x-user-id': user.id };
      return Object.assign(callWith(headers), { id: user.id });
    };
    const ann = await bySession(workspace.user);
    const email = `${newId('bob')}@example.com`;
    const bob = await bySession((await ann('POST', '/api/admin/users', { email })).body.data);
    const body = { templateName: 'T', channel: 'sms', body: 'Hello' };
    const templateId = (await client('POST', '/api/template', body)).body.template.id;
    const list = (await client('POST', '/api/contact-list', { name: 'L' })).body.data.id;
    let phones = 0;
    const add = async (contacts: number, to = list) => {
      const rows = Array.from({ length: contacts }, () => ({
        phone: `+1202555${String(++phones).padStart(4, '0')}`,
      }));
      await client('POST', `/api/contact-list/${to}/contacts`, { contacts: rows });
    };
    await add(3);
    const setPolicy = (policy: object) => client('PUT', '/api/policy', policy);
    await setPolicy({ approval: { above: 2 } });
    const create = (by: Caller, more: object = {}) =>
      by('POST', '/api/campaign', {
        ...{ campaignId: null, name: 'C', channel: ['sms'], contactListId: [list] },
        settings: { sms: { shortCode: '12345', templateId, version: 1 } },
        ...more,
      });
    return {
      ...{ workspaceId: workspace.workspace.id, client, ann, bob, list, create, add, setPolicy },
      clientFor: (userId) => callWith({ authorization, 'x-user-id': userId }),
      newCampaign: async (by, more) => (await create(by, more)).body.data.id,
      detail: async (id) => (await client('GET', `/api/campaign/${id}`)).body.data,
      digestOf: async (id) => (await client('GET', `/api/campaign/${id}/digest`)).body.data.digest,
      act: (by, id, action, content = {}) => by('POST', `/api/campaign/${id}/${action}`, content),
    };
  }

  return { open, db: () => db };
}
