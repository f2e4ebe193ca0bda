import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { readRecord } from '../../src/providers/simulator/simulator-record';
import { ApiClient, createSmsTemplate } from '../support/api-client';
import {
  type Credentials,
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';
import { freshNamespace } from '../support/namespaces';
import { until } from '../support/until';

interface Send {
  id: string;
  workflowId: string;
  state: string;
  outcome: string | null;
  code: string | null;
  attempts: number;
  finishedAt: string | null;
}

const LIMIT_MS = 60_000;

/** A running program, and durable sends on it. */
class Rig {
  fanfare: FanfareProcess;
  api!: ApiClient;
  credentials!: Credentials;

  private constructor(
    readonly place: Place,
    readonly temporal: { address: string; namespace: string },
  ) {
    this.fanfare = startFanfare(place);
  }

  static async start(env: Record<string, string> = {}): Promise<Rig> {
    const temporal = await freshNamespace();
    const place = await makePlace({
      FANFARE_SIMULATOR_LATENCY_MS: '20',
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      ...env,
    });
    const rig = new Rig(place, temporal);
    await rig.ready();
    return rig;
  }

  async restart(): Promise<void> {
    await this.api.close();
    await this.fanfare.killGroup();
    this.fanfare = startFanfare(this.place);
    await this.ready();
  }

  private async ready(): Promise<void> {
    await untilReady(this.fanfare);
    this.credentials = readCredentials(this.place);
    this.api = new ApiClient(this.fanfare.baseUrl, this.credentials);
  }

  async stop(): Promise<void> {
    await this.api?.close();
    await this.fanfare.stop();
    await this.place.remove();
  }

  async send(more: object): Promise<Send> {
    const body = {
      channel: 'sms',
      uid: randomUUID(),
      to: '+12125550190',
      from: '12345',
      params: { NAME: 'Ada' },
      ...more,
    };
    const { data } = await this.api.expect<{ data: Send }>('POST', '/api/send', body);
    return data;
  }

  async read(id: string): Promise<Send> {
    return (await this.api.expect<{ data: Send }>('GET', `/api/send/${id}`)).data;
  }

  ended(id: string): Promise<Send> {
    const look = async () => {
      const send = await this.read(id);
      return send.finishedAt === null ? undefined : send;
    };
    return until(`the end of ${id}`, look, LIMIT_MS, 50);
  }

  until(id: string, state: string): Promise<unknown> {
    return until(`${id} is ${state}`, async () => (await this.read(id)).state === state, LIMIT_MS, 20);
  }

  async histories<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const connection = await Connection.connect({ address: this.temporal.address });
    try {
      return await work(new Client({ connection, namespace: this.temporal.namespace }));
    } finally {
      await connection.close();
    }
  }
}

describe('durable sends through the whole program', () => {
  let rig: Rig;
  let sms: string;
  let voice: string;

  beforeAll(async () => {
    rig = await Rig.start();
    sms = await createSmsTemplate(rig.api);
    const { template } = await rig.api.expect<{ template: { id: string } }>('POST', '/api/template/', {
      templateName: 'call',
      channel: 'voice',
      body: '<Response><Answer/><Say>Hello {{NAME}}</Say></Response>',
      voiceJson: {
        nodes: [{ id: '1', type: 'text', data: { isStart: true, isEndNode: true, text: 'Hello {{NAME}}' } }],
        edges: [],
        viewport: { x: 0, y: 0, zoom: 1 },
      },
    });
    voice = template.id;
  }, 120_000);
  afterAll(() => rig?.stop());

  const call = () => ({ channel: 'voice', from: '+12025550100', 'template-id': voice });

  test('deliver a message once, and end with the outcome and without an address in the history', async () => {
    const uid = randomUUID();
    const many = await Promise.all(
      Array.from({ length: 8 }, () => rig.send({ uid, 'template-id': sms, to: '+12125550190' })),
    );
    const [send] = many as [Send];
    expect(new Set(many.map(({ id }) => id)).size).toBe(1);
    expect(await rig.ended(send.id)).toMatchObject({ state: 'delivered', attempts: 1 });
    await rig.histories(async (client) => {
      const handle = client.workflow.getHandle(send.workflowId);
      expect(await handle.result()).toEqual({ state: 'delivered', outcome: null });
      const history = await handle.fetchHistory();
      const text = readable(history);
      expect(text).toContain(send.id);
      for (const secret of ['2125550190', 'Ada', rig.credentials.apiKey, 'Bearer', uid]) {
        expect([secret, text.includes(secret)]).toEqual([secret, false]);
      }
      process.stdout.write(`a delivered durable send: ${history.events?.length} events\n`);
      expect(history.events?.length).toBeLessThan(30);
    });
  }, 150_000);

  test('redial a busy line until it is answered', async () => {
    const retry = { busy: { maxAttempts: 2, delaysSeconds: [1] } };
    const send = await rig.send({ ...call(), to: '+12125550199', voice: { retry } });
    expect(await rig.ended(send.id)).toMatchObject({ state: 'delivered', outcome: 'human', attempts: 2 });
  }, 150_000);

  test('end as rejected what the service or the provider refuses', async () => {
    const refused = await rig.send({ 'template-id': 'tpl_none' });
    expect(await rig.ended(refused.id)).toMatchObject({ state: 'rejected', code: 'template_not_found' });
    const rejected = await rig.send({ 'template-id': sms, to: '+12125550191' });
    expect(await rig.ended(rejected.id)).toMatchObject({ state: 'rejected' });
  }, 150_000);

  test('are canceled while they wait for their hour, and between two calls', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const planned = await rig.send({ 'template-id': sms, sendAt });
    expect(planned.state).toBe('waiting');
    const canceled = await rig.api.expect<{ data: Send }>('DELETE', `/api/send/${planned.id}`);
    expect(canceled.data.state).toBe('canceled');
    const retry = { busy: { maxAttempts: 5, delaysSeconds: [3_600] } };
    const redialled = await rig.send({ ...call(), to: '+12125550194', voice: { retry, maxAttempts: 5 } });
    await rig.until(redialled.id, 'waiting');
    await rig.api.expect('DELETE', `/api/send/${redialled.id}`);
    await rig.histories(async (client) => {
      for (const { workflowId } of [planned, redialled]) {
        expect(await client.workflow.getHandle(workflowId).result()).toMatchObject({ state: 'canceled' });
      }
    });
  }, 150_000);

  test('wait for their hour, and for a message held at the service be called back', async () => {
    const sendAt = new Date(Date.now() + 1_500).toISOString();
    const planned = await rig.send({ 'template-id': sms, sendAt });
    await rig.api.expect('PUT', '/holds/quiet');
    const held = await rig.send({ 'template-id': sms, campaign: 'quiet' });
    await rig.until(held.id, 'accepted');
    await rig.api.expect('DELETE', `/api/send/${held.id}`);
    expect(await rig.ended(held.id)).toMatchObject({ state: 'canceled' });
    expect(await rig.ended(planned.id)).toMatchObject({ state: 'delivered' });
  }, 150_000);

  test('are all sent once when the program is killed as they are accepted', async () => {
    const before = readRecord(join(rig.place.dataDir, 'simulator'), 'sms');
    const uids = Array.from({ length: 20 }, () => randomUUID());
    const calls = uids.map((uid) => rig.send({ 'template-id': sms, uid }).catch(() => undefined));
    await Promise.race(calls);
    await rig.restart();
    await Promise.all(calls);
    // What a caller does who had no answer.
    const again = await Promise.all(uids.map((uid) => rig.send({ 'template-id': sms, uid })));
    const ends = await Promise.all(again.map(({ id }) => rig.ended(id)));
    expect(ends.map(({ state }) => state)).toEqual(ends.map(() => 'delivered'));
    const record = readRecord(join(rig.place.dataDir, 'simulator'), 'sms');
    expect(record.distinct - before.distinct).toBe(20);
    expect(record.duplicateUids).toEqual([]);
  }, 180_000);
});

describe('durable sends at a service that knows only the specification', () => {
  let stub: Server;
  let rig: Rig;
  /** What the service does with the next messages, by recipient. */
  const answers = new Map<string, (number | 'cut')[]>();
  const seen: { path: string; body: Record<string, unknown> }[] = [];

  beforeAll(async () => {
    stub = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => (text += chunk));
      request.on('end', () => {
        const body = text ? (JSON.parse(text) as Record<string, unknown>) : {};
        const path = `${request.method} ${request.url}`;
        const reply = (status: number, answer: object) =>
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
        if (path === 'POST /api/v1/auth/token') {
          reply(200, { access_token: 'opaque', valid_till: '2099-01-01 00:00:00' });
          return;
        }
        seen.push({ path, body });
        const next = answers.get(String(body.to))?.shift() ?? 200;
        if (next === 'cut') request.socket.destroy();
        else reply(next, { result: next < 300 ? 'success' : 'error' });
      });
    });
    await new Promise<void>((done) => stub.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(stub.address() as AddressInfo).port}`;
    rig = await Rig.start({
      FANFARE_AUTH_URL: url,
      FANFARE_SEND_URL: url,
      FANFARE_APP_URL: url,
      FANFARE_CLIENT_ID: 'cli_hosted',
      FANFARE_CLIENT_SECRET: 'hosted-secret',
      FANFARE_API_KEY: 'hosted-key',
    });
  }, 120_000);
  afterAll(async () => {
    await rig?.stop();
    stub.closeAllConnections();
    await new Promise((done) => stub.close(done));
  });

  const script = (to: string, ...next: (number | 'cut')[]) => {
    answers.set(to, next);
    return { to, 'template-id': 'tpl_hosted', retry: { initialDelaySeconds: 1 } };
  };

  test('end as accepted, and use nothing beyond it', async () => {
    const send = await rig.send(script('+12125550001'));
    expect(await rig.ended(send.id)).toMatchObject({ state: 'accepted', attempts: 1 });
    expect(seen.map(({ path }) => path)).toEqual(['POST /send-msg']);
    expect(Object.keys(seen[0]?.body ?? {}).sort()).toEqual(
      ['channel', 'from', 'params', 'template-id', 'to', 'uid'].sort(),
    );
  }, 150_000);

  test('try again what failed for the moment, under the same uid', async () => {
    const send = await rig.send(script('+12125550002', 500, 503));
    expect(await rig.ended(send.id)).toMatchObject({ state: 'accepted', attempts: 3 });
    const uids = seen.filter(({ body }) => body.to === '+12125550002').map(({ body }) => body.uid);
    expect(uids).toEqual([`${send.id}.1`, `${send.id}.1`, `${send.id}.1`]);
  }, 150_000);

  test('are canceled between two tries', async () => {
    const send = await rig.send({ ...script('+12125550003', 503), retry: { initialDelaySeconds: 3_600 } });
    await rig.until(send.id, 'waiting');
    const { data } = await rig.api.expect<{ data: Send }>('DELETE', `/api/send/${send.id}`);
    expect(data).toMatchObject({ state: 'canceled', code: 'dependency_down' });
  }, 150_000);

  test('wait while the account is refused, and say so', async () => {
    const send = await rig.send(script('+12125550004', 403));
    await rig.until(send.id, 'waiting');
    expect(await rig.read(send.id)).toMatchObject({ code: 'unauthenticated', attempts: 0, finishedAt: null });
  }, 150_000);

  test('are unknown when the answer was lost, and sent no second time', async () => {
    const send = await rig.send(script('+12125550005', 'cut'));
    expect(await rig.ended(send.id)).toMatchObject({ state: 'unknown', code: 'answer_lost' });
    expect(seen.filter(({ body }) => body.to === '+12125550005')).toHaveLength(1);
  }, 150_000);
});

/** A history as text, with its payloads decoded: they are base64 in it. */
function readable(history: unknown): string {
  return JSON.stringify(history, (key, value: unknown) =>
    key === 'data' && typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : value,
  ).replace(/"buildId":"[^"]*"/g, '');
}
