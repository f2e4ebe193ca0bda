/** Proves calls over the HTTP provider, from hand-over to opt-out. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Kysely } from 'kysely';
import { message as messageSchema } from '../../../src/contracts/send';
import type { MessageState, ReceiptType } from '../../../src/domain/message';
import { inboundRoutes } from '../../../src/http/inbound';
import { buildServer } from '../../../src/http/server';
import { createLog } from '../../../src/log';
import { createDelivery, type Delivery } from '../../../src/messaging/delivery';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { createTemplateVersions } from '../../../src/messaging/templates/template-versions';
import { createTemplates } from '../../../src/messaging/templates/templates';
import { openHttpProvider } from '../../../src/providers/http-provider';
import type { HandOver } from '../../../src/providers/provider';
import { newId } from '../../../src/storage/new-id';
import { answer, bodyOf } from '../../providers/http-carrier';
import { NO_CALLERS } from '../../support/no-callers';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { ScriptedProvider } from '../scripted-provider';

const FLOW = {
  nodes: [
    {
      id: 'ask',
      type: 'gather',
      data: { isStart: true, text: 'Hello {{NAME}}. 9 ends this.', optOutDigits: '9' },
    },
    { id: 'end', type: 'hangup', data: { isEndNode: true } },
  ],
  edges: [{ id: 'e', source: 'ask', target: 'end', sourceHandle: '1' }],
  viewport: { x: 0, y: 0, zoom: 1 },
};
const VOICE = { machine: 'leave_message', ringTimeoutSeconds: 25, maxSeconds: 120 } as const;

describeWithDatabase('calls that a carrier over HTTP makes', (database) => {
  const workspaceId = newId('ws');
  const log = createLog('silent');
  let db: Kysely<MessagingTables>;
  let carrier: Server;
  let inboundUrl: string;
  let closeInbound: () => Promise<unknown>;
  let delivery: Delivery;
  let template: string;
  const posted: HandOver[] = [];

  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<MessagingTables>();
    const versions = createTemplateVersions(db);
    const content = { name: 'call', subject: null, body: '', emailProviderId: '', design: FLOW };
    template = (await createTemplates({ db, versions }).create(workspaceId, 'voice', content)).id;
    carrier = createServer((incoming, response) => {
      void bodyOf(incoming).then((text) => {
        const handed = JSON.parse(text) as HandOver;
        posted.push(handed);
        answer(response, 202, { id: `carrier-${handed.uid}` });
      });
    });
    await new Promise<void>((done) => carrier.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(carrier.address() as AddressInfo).port}/calls`;
    delivery = createDelivery({
      ...{ db, templates: versions, log },
      providers: {
        email: new ScriptedProvider('email'),
        sms: new ScriptedProvider('sms'),
        voice: openHttpProvider({ channel: 'voice', url, idempotent: false }),
      },
    });
    await delivery.start();
    const inbound = await buildServer({
      authenticator: NO_CALLERS,
      log,
      routes: [
        inboundRoutes({
          secret: 'secret',
          takeReceipts: delivery.receiptsOf('http'),
          takeInbound: delivery.inboundOf('http'),
        }),
      ],
    });
    await inbound.listen({ host: '127.0.0.1', port: 0 });
    closeInbound = () => inbound.close();
    inboundUrl = `http://127.0.0.1:${(inbound.server.address() as AddressInfo).port}/inbound/http/secret`;
  });
  afterAll(async () => {
    await closeInbound();
    await delivery.stop();
    carrier.closeAllConnections();
    carrier.close();
  });

  async function called(uid: string): Promise<HandOver> {
    const message = messageSchema.parse({
      ...{ channel: 'voice', uid, to: '+12025550171', from: '+12025550100', voice: VOICE },
      ...{ 'template-id': template, params: { NAME: 'A & B' } },
    });
    await delivery.accept(workspaceId, message);
    await until('it is handed over', async () => (await delivery.track(workspaceId, uid)).state === 'sent');
    return posted.find((one) => one.uid === uid) as HandOver;
  }
  async function told(payload: object): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const { status } = await fetch(inboundUrl, { method: 'POST', headers, body: JSON.stringify(payload) });
    expect(status).toBe(200);
  }

  test('are handed over with document, flow and wishes', async () => {
    const handed = await called('whole');
    expect(handed).toMatchObject({ channel: 'voice', to: '+12025550171', attempt: 1, voice: VOICE });
    expect(handed.xml).toContain('<Say>Hello A &amp; B. 9 ends this.</Say>');
    expect(handed.xml).toContain('optOutDigits="9"');
    expect(handed.flow).toMatchObject({
      nodes: [{ data: { text: 'Hello A & B. 9 ends this.' } }, {}],
      edges: FLOW.edges,
    });
  });

  test.each<[ReceiptType, MessageState]>([
    ['completed', 'delivered'],
    ['delivered', 'delivered'],
    ['busy', 'undelivered'],
    ['no_answer', 'undelivered'],
    ['undelivered', 'undelivered'],
    ['failed', 'failed'],
    ['rejected', 'rejected'],
    ['expired', 'expired'],
    ['canceled', 'canceled'],
  ])('that end by %s are %s, whatever comes late or twice', async (type, state) => {
    const { id, uid } = await called(`end-${type}`);
    const end = { providerId: `carrier-${uid}`, type, code: 'c', data: { durationMs: 5 } };
    const before = (['recording', 'digits', 'human', 'machine', 'answered', 'ringing'] as ReceiptType[]).map(
      (one, i) => ({
        id,
        type: one,
        at: new Date(1_790_000_000_000 - i).toISOString(),
        data: { digits: '1' },
      }),
    );
    await told([end, ...before]);
    await told([...before, end]);
    await told(end);
    const tracked = await delivery.track(workspaceId, uid);
    expect(tracked.state).toBe(state);
    const types = tracked.events.slice(2).map((event) => event.type);
    expect(types.toSorted()).toEqual([type, ...before.map((one) => one.type)].sort());
    expect(new Set(tracked.events.slice(2).map((event) => event.state))).toEqual(new Set([state]));
  });

  test('suppress the number of who presses the opt-out key', async () => {
    const { id } = await called('stop');
    await told([
      { id, type: 'completed' },
      { id, type: 'digits', data: { digits: '9' } },
    ]);
    const blocks = await db
      .selectFrom('suppressions')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .execute();
    expect(blocks).toMatchObject([{ address: '+12025550171', channel: 'voice', reason: 'voice_opt_out' }]);
  });
});
