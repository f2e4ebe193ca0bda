import { FanfareClient, FanfareError } from '../../src/client/fanfare-client';
import type { OpenApiDocument } from '../../src/http/openapi/types';
import { operationsOf } from '../http/openapi-driver';
import { newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { describeWithDatabase } from '../support/storage';

/**
 * The client reaches every operation that a backend may call: its methods are called against a real server, and what
 * they sent is held against the document. An operation that no method reaches fails the last test.
 */

/** What a backend may call and the client does by itself, or not at all, each with its reason. */
const NOT_A_METHOD = [
  // Asked by campaigns of the messaging service; a dry run says the same to a backend.
  'checkSending',
  // For Prometheus.
  'readMetrics',
  // A progress stream needs a campaign that goes on; test/client/fanfare-client.test.ts reads one.
  'watchCampaign',
];

describeWithDatabase('the client against a real server', (database) => {
  let api: WholeApi;
  let fanfare: FanfareClient;
  /** As a process has it that was started after the first one was killed. */
  let restarted: FanfareClient;
  const reached = new Set<string>();
  const realFetch = globalThis.fetch;

  beforeAll(async () => {
    api = await startWholeApi(await database.open());
    const { client, apiKey } = await newWorkspace(api.identity);
    const document = (await api.call('GET', '/openapi.json')).body as OpenApiDocument;
    const known = operationsOf(document).map(({ method, path, operationId }) => ({
      operationId,
      pattern: new RegExp(`^${method} ${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
      fixed: !path.includes('{'),
    }));
    globalThis.fetch = async (url, init) => {
      const answer = await realFetch(url, init);
      const request = `${init?.method ?? 'GET'} ${new URL(String(url)).pathname}`;
      const matching = known.filter(({ pattern }) => pattern.test(request));
      const { operationId = request } = matching.find(({ fixed }) => fixed) ?? matching[0] ?? {};
      // A state that stands in the way is an answer of the operation too; one that was not understood is none.
      if (answer.status < 300 || [404, 409].includes(answer.status)) reached.add(operationId);
      return answer;
    };
    const secrets = { clientId: client.id, clientSecret: client.secret, apiKey };
    fanfare = new FanfareClient({ baseUrl: api.url, ...secrets, retries: 0 });
    restarted = new FanfareClient({ baseUrl: api.url, ...secrets, retries: 0 });
  });
  afterAll(async () => {
    globalThis.fetch = realFetch;
    await api?.stop();
  });

  async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
    const read: T[] = [];
    for await (const item of items) read.push(item);
    return read;
  }
  const text = async (bytes: AsyncIterable<Uint8Array>) => Buffer.concat(await all(bytes)).toString('utf8');

  let listId: string;
  let templateId: string;
  let campaignId: string;
  const message = (uid: string) => ({
    channel: 'sms' as const,
    uid,
    to: '+12025550123',
    from: '12345',
    'template-id': templateId,
    params: { NAME: 'Ada' },
    campaign: 'spring',
    sendAt: new Date(Date.now() + 3_600_000).toISOString(),
  });

  test('contact lists: made, filled, read, renamed, emptied', async () => {
    const { contacts } = fanfare;
    listId = (await fanfare.createContactList('Customers')).id;
    const ada = [{ phone: '(202) 555-0123', name: 'Ada' }];
    expect(await fanfare.addContacts(listId, ada, { country: 'US' })).toMatchObject({ created: 1 });
    expect(await fanfare.importContacts(listId, 'phone,name\n+12025550147,Grace\n')).toMatchObject({
      created: 1,
    });
    const [first] = await all(contacts.inList(listId, { pageSize: 1 }));
    expect(await all(contacts.timeline(first?.id ?? ''))).toEqual([]);
    const found = await all(contacts.find({ search: first?.email ?? first?.phone ?? '' }));
    expect(found.map(({ id }) => id)).toEqual([first?.id]);
    expect(await contacts.change(first?.id ?? '', { name: 'Changed' })).toMatchObject({ name: 'Changed' });
    expect(await contacts.read(first?.id ?? '')).toMatchObject({ name: 'Changed' });
    expect(await text(contacts.export(first?.id ?? ''))).toContain('"name":"Changed"');
    const gone = (await fanfare.createContactList('Gone')).id;
    await fanfare.addContacts(gone, [{ phone: '+12025550199' }]);
    const [person] = await all(contacts.inList(gone));
    expect(await contacts.erase(person?.id ?? '')).toEqual({ id: person?.id });
    expect(await contacts.renameList(listId, 'Readers')).toMatchObject({ name: 'Readers' });
    expect((await all(contacts.lists({ pageSize: 1 }))).map(({ name }) => name)).toContain('Readers');
    expect((await fanfare.contactList(listId)).counts).toMatchObject({ contacts: 2, withPhone: 2 });
    expect(await fanfare.contactList(listId)).toMatchObject({ name: 'Readers' });
    const spare = await fanfare.createContactList('Spare');
    await fanfare.addContacts(spare.id, [{ phone: '+12025550123' }]);
    await contacts.removeFromList(spare.id, first?.id ?? '');
    expect(await contacts.deleteList(spare.id)).toEqual({ id: spare.id });
  });

  test('templates: made, replaced, previewed, tried, archived', async () => {
    const { templates } = fanfare;
    const sms = { channel: 'sms', templateName: 'Hello', body: 'Hello {{NAME}}' } as const;
    const made = await templates.create(sms);
    templateId = made.id;
    expect(made).toMatchObject({ version: 1, warnings: [] });
    expect(await templates.replace(made.id, { ...sms, body: 'Hi {{NAME}}' })).toMatchObject({ version: 2 });
    expect(await templates.read(made.id, { version: 1 })).toMatchObject({ body: 'Hello {{NAME}}' });
    expect(await templates.preview(made.id, { params: { NAME: 'Ada' } })).toMatchObject({ text: 'Hi Ada' });
    const trial = { to: '+12025550123', from: '12345', params: { NAME: 'Ada' } };
    expect(await templates.testSend(made.id, trial)).toMatchObject({ channel: 'sms' });
    const spare = await templates.create({ ...sms, templateName: 'Spare' });
    expect((await all(templates.list('sms', { pageSize: 1 }))).map(({ id }) => id)).toContain(spare.id);
    expect((await templates.versions(made.id)).map(({ version }) => version)).toEqual([2, 1]);
    expect(await templates.archive(spare.id)).toEqual({ id: spare.id });
  });

  test('messages: sent, listed, explained, held, canceled', async () => {
    const { messages } = fanfare;
    await fanfare.send(message('m-1'));
    expect(await messages.sendMany([message('m-2'), { ...message('m-3'), to: '1' }])).toMatchObject([
      { uid: 'm-2', status: 202 },
      { uid: 'm-3', status: 422, code: 'invalid_request' },
    ]);
    expect(await fanfare.message('m-1')).toMatchObject({ uid: 'm-1', state: 'scheduled' });
    const listed = await all(messages.list({ campaign: 'spring', pageSize: 1 }));
    expect(listed.map(({ uid }) => uid).sort()).toEqual(['m-1', 'm-2']);
    expect(await messages.explain(['m-1', 'none'])).toMatchObject([{ uid: 'm-1' }]);
    expect((await messages.outbox()).marketing.bound).toBeGreaterThan(0);
    expect(await messages.hold('spring')).toEqual({ campaign: 'spring', held: true });
    expect(await messages.isHeld('spring')).toEqual({ campaign: 'spring', held: true });
    expect(await messages.releaseHold('spring')).toEqual({ campaign: 'spring', held: false });
    expect(await messages.cancel('m-1')).toMatchObject({ state: 'canceled' });
  });

  test('the event feed goes on from where its reader was', async () => {
    const uids: string[] = [];
    let after: string | undefined;
    for await (const { events, next } of fanfare.messages.events({ pageSize: 1, waitSeconds: 0 })) {
      uids.push(...events.map(({ uid }) => uid));
      after = next;
      if (uids.length === 2) break;
    }
    const stop = new AbortController();
    for await (const { events } of fanfare.messages.events({
      ...(after ? { after } : {}),
      signal: stop.signal,
    })) {
      uids.push(...events.map(({ uid }) => uid));
      break;
    }
    expect(uids.length).toBeGreaterThan(2);
  });

  test('campaigns: tried, created, changed, steered, read, exported', async () => {
    const { campaigns } = fanfare;
    const input = {
      name: 'Spring sale',
      channel: ['sms' as const],
      settings: { sms: { shortCode: '12345', templateId, version: 1 } },
      contactListId: [listId],
      start: false,
    };
    expect((await fanfare.dryRun(input)).channels.sms?.recipients).toBe(2);
    const key = { idempotencyKey: 'spring-sale-2027' };
    campaignId = (await fanfare.createCampaign(input, key)).id;
    expect((await restarted.createCampaign(input, key)).id).toBe(campaignId);
    await fanfare.appendRecipients(campaignId, [{ phone: '+12025550166', name: 'Linus' }]);
    await campaigns.change(campaignId, { delivery: { ratePerSecond: 10 } });
    expect(await fanfare.campaign(campaignId)).toMatchObject({ delivery: { ratePerSecond: 10 }, inline: 1 });
    expect((await all(campaigns.list('sms', { pageSize: 1 }))).map(({ id }) => id)).toEqual([campaignId]);
    const copy = await fanfare.duplicate(campaignId);
    await fanfare.start(campaignId);
    await fanfare.pause(campaignId);
    await fanfare.resume(campaignId);
    expect((await all(fanfare.runs(campaignId))).map(({ number }) => number)).toEqual([1]);
    expect(await all(fanfare.recipients(campaignId))).toEqual([]);
    expect(await all(fanfare.skipped(campaignId))).toEqual([]);
    await expect(fanfare.digest(campaignId)).resolves.toBeDefined();
    expect(await campaigns.outcomes(campaignId)).toEqual(expect.any(Array));
    expect(await campaigns.timeline(campaignId)).toEqual(expect.any(Object));
    expect(await text(campaigns.exportRecipients(campaignId))).toMatch(/^contactId,channel,/);
    expect(await text(campaigns.exportSkipped(campaignId))).toMatch(/^contactId,/);
    expect(await campaigns.callSummary(campaignId)).toMatchObject({ calls: 0 });
    expect(await text(campaigns.exportCalls(campaignId))).toMatch(/^contactId,address,/);
    expect(await fanfare.cancel(campaignId)).toMatchObject({ id: campaignId });
    expect(await fanfare.cancel(copy.id)).toMatchObject({ phase: 'canceled' });
  });

  test('what a campaign’s state refuses is an error with its code', async () => {
    await expect(fanfare.retryFailed(campaignId)).rejects.toMatchObject({ code: 'illegal_transition' });
    await expect(fanfare.release(campaignId)).rejects.toMatchObject({ status: 409 });
    await expect(fanfare.explain(campaignId, { to: '+12025550199' })).rejects.toMatchObject({ status: 404 });
    await expect(fanfare.explainRecipient(campaignId, 'none')).rejects.toMatchObject({ status: 404 });
  });

  test('durable sends: made, read, canceled', async () => {
    const { id } = await fanfare.sendDurable(message('d-1'));
    expect(await fanfare.durableSend(id)).toMatchObject({ uid: 'd-1' });
    expect(await fanfare.cancelDurable(id)).toMatchObject({ id });
  });

  test('suppressions: added, imported, listed, exported, lifted', async () => {
    const { suppressions } = fanfare;
    const key = { channel: 'sms', address: '+12025550188' } as const;
    expect(await suppressions.add({ ...key, reason: 'complained' })).toMatchObject(key);
    const rows = 'channel,address,reason\nemail,grace@example.com,left\n';
    expect(await suppressions.import(rows)).toMatchObject({ created: 1 });
    // The third is of the person who was erased above.
    const reasons = (await all(suppressions.list({ pageSize: 1 }))).map(({ reason }) => reason);
    expect(reasons).toEqual(['left', 'complained', 'erased']);
    expect(await text(suppressions.export())).toContain('grace@example.com');
    expect(await suppressions.lift(key)).toEqual({ removed: 1, stillSuppressed: false });
    await expect(suppressions.lift(key)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('webhooks: made, changed, rotated, tried, redelivered, deleted', async () => {
    const { webhooks } = fanfare;
    const made = await webhooks.create({ url: 'https://hooks.example.com/fanfare', events: ['message.*'] });
    expect(made.secret).toMatch(/^whsec_/);
    expect(await webhooks.change(made.id, { description: 'Orders' })).toMatchObject({
      description: 'Orders',
    });
    expect((await webhooks.rotateSecret(made.id)).secret).not.toBe(made.secret);
    expect((await all(webhooks.list())).map(({ id }) => id)).toEqual([made.id]);
    const delivery = await webhooks.test(made.id);
    expect((await all(webhooks.deliveries(made.id))).map(({ id }) => id)).toEqual([delivery.id]);
    expect(await webhooks.redeliver(made.id, delivery.id)).toMatchObject({ id: delivery.id });
    expect(await webhooks.redeliverFailed(made.id)).toEqual({ redelivered: 0, more: false });
    expect(await webhooks.read(made.id)).toMatchObject({ id: made.id });
    expect(await webhooks.delete(made.id)).toEqual({ id: made.id });
  });

  test('the workspace: its policy, its senders’ limits, its stop', async () => {
    const { workspace } = fanfare;
    expect(await workspace.setPolicy({ caps: [{ max: 3, days: 7 }] })).toMatchObject({ version: 1 });
    expect(await workspace.overview()).toMatchObject({ outbox: expect.any(Array) });
    expect(await workspace.policy()).toMatchObject({ caps: [{ max: 3, days: 7 }] });
    const sender = { channel: 'sms', sender: '12345' } as const;
    expect(await workspace.setSenderLimit({ ...sender, rate: 5 })).toMatchObject({ rate: 5 });
    expect(await all(workspace.senderLimits())).toHaveLength(1);
    expect(await workspace.liftSenderLimit(sender)).toEqual({ channel: 'sms' });
    expect(await fanfare.stop('A wrong price')).toMatchObject({ reason: 'A wrong price' });
    expect(await fanfare.currentStop()).toMatchObject({ reason: 'A wrong price' });
    await fanfare.endStop();
    expect(await fanfare.currentStop()).toBeNull();
  });

  test('a signal ends a call, and its error says so', async () => {
    const signal = AbortSignal.abort();
    await expect(fanfare.templates.read(templateId, { signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
    await expect(fanfare.templates.read('none')).rejects.toBeInstanceOf(FanfareError);
  });

  test('no operation that a backend may call is out of its reach', async () => {
    const document = (await api.call('GET', '/openapi.json')).body as OpenApiDocument;
    const wanted = operationsOf(document)
      .filter(({ security }) => security.some((one) => 'bearer' in one))
      .map(({ operationId }) => operationId)
      .filter((id) => !NOT_A_METHOD.includes(id));
    expect(wanted.filter((id) => !reached.has(id))).toEqual([]);
  });
});
