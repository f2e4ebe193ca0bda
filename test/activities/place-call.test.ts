import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { Kysely } from 'kysely';
import { createActivities } from '../../activities';
import type { PlaceCallOutcome } from '../../activities/calls';
import { openCall, recordStep } from '../../src/campaigns/calls/calls';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { messageUid } from '../../src/domain/ids';
import type { Gateway } from '../../src/gateway/gateway';
import { openGateway } from '../../src/gateway/http-gateway';
import { createLog } from '../../src/log';
import { plantAudience } from '../support/audience';
import { describeWithDatabase } from '../support/storage';

/** Proves that a call is asked for again when the answer was lost, though every slot is taken. */
describeWithDatabase('placing a call', (database) => {
  let db: Kysely<CampaignTables>;
  let server: Server;
  let gateway: Gateway;
  /** How many of the next requests for a call get no answer. */
  let unanswered = 0;
  const asked: string[] = [];

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => (text += chunk));
      request.on('end', () => {
        const isSend = request.url === '/send-msg';
        if (isSend) asked.push((JSON.parse(text) as { uid: string }).uid);
        if (isSend && unanswered-- > 0) return request.socket.destroy();
        const capabilities = ['events', 'idempotent'];
        const token = { access_token: 't', valid_till: '2099-01-01 00:00:00', capabilities };
        response.writeHead(isSend ? 202 : 200, { 'content-type': 'application/json' });
        return response.end(JSON.stringify(isSend ? {} : token));
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = { clientId: 'c', clientSecret: 's', apiKey: 'k' };
    gateway = openGateway({ authUrl: url, sendUrl: url, appUrl: url, ...client });
  });
  afterAll(async () => {
    await gateway.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  beforeEach(() => {
    unanswered = 0;
    asked.length = 0;
  });

  /** A recipient who was busy and whose redial is due, in a run that has one slot. */
  async function busyOnce(): Promise<string> {
    const options = { delivery: { maxConcurrentCalls: 1 } };
    const { runId } = await plantAudience(db, { contacts: 2, channel: 'voice', options });
    await openCall(db, { runId, seq: 0, attempt: 1 });
    await recordStep(db, { runId, seq: 0, attempt: 1 }, { kind: 'redial', afterSeconds: 0 }, 'busy');
    return runId;
  }

  function redial(runId: string): Promise<PlaceCallOutcome> {
    const unused = async () => undefined;
    const signals = { startCall: unused, wakeCall: unused, launchRun: unused, removeSchedule: unused };
    const { voice } = createActivities({ db, gatewayFor: () => gateway, signals, log: createLog('silent') });
    return new MockActivityEnvironment().run(voice.placeCall, { runId, seq: 0, attempt: 2, from: 1 });
  }

  test('a redial whose answer was lost is asked for again in its own slot', async () => {
    const runId = await busyOnce();
    unanswered = 1;
    expect(await redial(runId)).toEqual({ kind: 'later', waitMs: 1_000 });
    expect(await redial(runId)).toEqual({ kind: 'placed' });
    expect(asked).toEqual(Array(2).fill(messageUid({ runId, channel: 'voice', seq: 0 }, 2)));
  });

  test('a redial whose process was killed before it asked is asked for in its own slot', async () => {
    const runId = await busyOnce();
    await openCall(db, { runId, seq: 0, attempt: 2 });
    expect(await redial(runId)).toEqual({ kind: 'placed' });
    expect(asked).toHaveLength(1);
  });

  test('a redial waits while another call has the slot', async () => {
    const runId = await busyOnce();
    await openCall(db, { runId, seq: 1, attempt: 1 });
    expect(await redial(runId)).toMatchObject({ kind: 'later' });
    expect(asked).toEqual([]);
  });
});
