/** Proves that an erased person is named by nothing that is served, a minute later at the latest. */

import type { Kysely } from 'kysely';
import { keepErasing } from '../../src/app/erasures';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { createDurableSends } from '../../src/campaigns/sends/durable-sends';
import { createLog } from '../../src/log';
import type { Storage } from '../../src/storage/storage';
import { bearerFor, newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { CITY, EMAIL, NAME, PHONE, TRACES, tracesIn } from '../support/erased-person';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

/** What the promise says (api.md 16). */
const WITHIN_MS = 60_000;
/** Each look asks for thirteen pages and reads every table, and an erasure takes 15 s at least. */
const LOOK_MS = 1_000;

describeWithDatabase('what is served of a person who is erased', (database) => {
  let storage: Storage;
  let db: Kysely<CampaignTables>;
  let api: WholeApi;
  let headers: Record<string, string>;
  let erasures: ReturnType<typeof keepErasing>;

  beforeAll(async () => {
    storage = await database.open();
    db = storage.tables<CampaignTables>();
    api = await startWholeApi(storage);
    const owner = await newWorkspace(api.identity);
    headers = { authorization: await bearerFor(api.identity, owner), 'x-api-key': owner.apiKey };
    const log = createLog('silent');
    const launcher = { launchSend: async () => undefined, wakeSend: async () => undefined };
    const sends = createDurableSends({ db, launcher, log });
    const { delivery } = await api.rig.process();
    erasures = keepErasing({ storage, delivery, cancelSend: sends.cancel, log });
  });
  afterAll(async () => {
    erasures?.stop();
    await api?.stop();
  });

  const post = async (path: string, body: unknown) => {
    const answer = await api.call('POST', path, { headers, body });
    expect([path, answer.status < 300, answer.body]).toEqual([path, true, answer.body]);
    return answer.body;
  };
  const textOf = async (path: string): Promise<string> =>
    JSON.stringify((await api.call('GET', path, { headers })).body ?? '').toLowerCase();
  /** Those of the addresses whose answer names the person. */
  async function naming(paths: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    for (const path of paths) {
      const text = await textOf(path);
      if (TRACES.some((one) => text.includes(one))) found.push(path);
    }
    return found;
  }

  /** The person in a list, in a campaign that is under way, and with two messages; answers every address that tells of them. */
  async function servedOf(): Promise<{ contactId: string; paths: string[] }> {
    const list = (await post('/api/contact-list', { name: 'Readers' })).data.id;
    const person = { name: NAME, email: EMAIL, phone: PHONE, params: { CITY } };
    await post(`/api/contact-list/${list}/contacts`, { contacts: [person] });
    const [{ id: contactId }] = (await api.call('GET', `/api/contact-list/${list}/contacts`, { headers }))
      .body.data;
    const made = await post('/api/template', {
      ...{ channel: 'sms', templateName: 'Hello', body: 'Hello {{NAME}} of {{CITY}}' },
    });
    const campaign = (
      await post('/api/campaign', {
        ...{ name: 'Spring', channel: ['sms'], contactListId: [list] },
        settings: { sms: { shortCode: '12345', templateId: made.template.id, version: 1 } },
      })
    ).data.id;
    const run = await db
      .selectFrom('runs')
      .select(['id', 'workspace_id'])
      .where('campaign_id', '=', campaign)
      .executeTakeFirstOrThrow();
    await freezeAudience(db, {
      ...{ runId: run.id, workspaceId: run.workspace_id, channel: 'sms', contactListIds: [list] },
      ...{ placeholders: ['NAME', 'CITY'], campaignParams: {} },
    });
    const message = { channel: 'sms', to: PHONE, from: '12345', 'template-id': made.template.id };
    await post('/send-msg', { ...message, uid: 'now', params: { NAME, CITY } });
    const sendAt = new Date(Date.now() + 86_400_000).toISOString();
    await post('/send-msg', { ...message, uid: 'later', params: { NAME, CITY }, sendAt });
    await post('/api/suppression', { channel: 'email', address: EMAIL, reason: `${NAME} asked` });
    const paths = [
      ...[`/api/contact/${contactId}`, `/api/contact/${contactId}/export`, '/api/contact'],
      ...[`/api/contact/${contactId}/timeline`, `/api/contact-list/${list}/contacts`],
      ...[`/api/campaign/${campaign}/recipients`, `/api/campaign/${campaign}/recipients.csv`],
      ...[
        `/api/explain?campaign=${campaign}&contact=${contactId}`,
        '/api/suppression',
        '/api/suppression.csv',
      ],
      ...['/messages', '/messages/now', '/messages/later'],
    ];
    return { contactId, paths };
  }

  test('names them nowhere within a minute: lists, exports, messages, explanations, and every table', async () => {
    const { contactId, paths } = await servedOf();
    // What names the person before is what can be searched for them afterwards.
    expect(await naming(paths)).toEqual(paths);

    const beganAt = performance.now();
    const erased = await api.call('DELETE', `/api/contact/${contactId}?erase=true`, { headers });
    expect(erased.status).toBe(202);
    await until(
      'nothing names the person',
      async () => (await naming(paths)).length === 0 && (await tracesIn(db)).length === 0,
      WITHIN_MS,
      LOOK_MS,
    );
    expect(performance.now() - beganAt).toBeLessThan(WITHIN_MS);
    expect(await naming([...paths, '/events?limit=1000'])).toEqual([]);
  }, 120_000);
});
