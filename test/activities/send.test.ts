import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApplicationFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { Kysely } from 'kysely';
import { createActivities } from '../../activities';
import type { SendPageInput, SendPageOutcome } from '../../activities/send';
import { offerChunk, takePage } from '../../src/campaigns/ledger';
import { readCounts } from '../../src/campaigns/ledger-counts';
import type { CampaignTables } from '../../src/campaigns/tables';
import type { Gateway } from '../../src/gateway/gateway';
import { openGateway } from '../../src/gateway/http-gateway';
import { createLog } from '../../src/log';
import { installTemporalRuntime } from '../../src/temporal/runtime';
import { plantAudience } from '../support/audience';
import { describeEachEngine } from '../support/storage';

// A refused account is logged as a failed activity, as it should be; not here.
beforeAll(() => installTemporalRuntime(createLog('silent')));

/** The messaging service as the specification alone describes it, or with capabilities of ours. */
describeEachEngine('sending a page', (engine) => {
  let db: Kysely<CampaignTables>;
  let server: Server;
  let gateway: Gateway;
  let capabilities: string[];
  let sent: string[];
  let answer: (uid: string, response: ServerResponse) => void;

  beforeAll(async () => {
    db = (await engine.open()).tables<CampaignTables>();
  });

  beforeEach(async () => {
    capabilities = [];
    sent = [];
    answer = (_, response) => reply(response, 202);
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => (text += chunk));
      request.on('end', () => {
        if (request.url !== '/send-msg') {
          reply(response, 200, { access_token: 't', valid_till: '2099-01-01 00:00:00', capabilities });
          return;
        }
        const { uid } = JSON.parse(text) as { uid: string };
        sent.push(uid);
        answer(uid, response);
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    gateway = openGateway({
      authUrl: url,
      sendUrl: url,
      appUrl: url,
      clientId: 'c',
      clientSecret: 's',
      apiKey: 'k',
    });
  });

  afterEach(async () => {
    await gateway.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });

  function sendPage(runId: string, size = 100): Promise<SendPageOutcome> {
    const signals = {
      startCall: unused,
      callEnded: unused,
      wakeCall: unused,
      wakeSend: unused,
      followOutcomes: unused,
    };
    const { sender } = createActivities({ db, gatewayFor: () => gateway, signals, log: createLog('silent') });
    const input: SendPageInput = { runId, channel: 'sms', shard: 0, lane: 0, size };
    return new MockActivityEnvironment().run(sender.sendPage, input);
  }

  async function states(runId: string): Promise<Record<string, number>> {
    const { total: _total, ...counts } = (await readCounts(db, runId)).sms ?? { total: 0 };
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  }

  /** Leaves a page as an activity would that died when its first chunk was on its way. */
  async function dieWhileSending(runId: string, chunk: number): Promise<void> {
    const taking = await takePage(db, { runId, channel: 'sms', shard: 0, lane: 0 }, 10);
    if (taking.kind !== 'page') throw new Error('no page');
    await offerChunk(db, taking.page, chunk);
  }

  it('settles each recipient by itself', async () => {
    const { runId } = await plantAudience(db, { contacts: 10 });
    answer = (uid, response) => {
      if (uid.includes('.sms.3.')) reply(response, 422, { code: 'invalid_request' });
      else if (uid.includes('.sms.4.')) reply(response, 429, { code: 'throttled' });
      else reply(response, 202);
    };
    expect(await sendPage(runId)).toMatchObject({ kind: 'sent', size: 10 });
    expect(await states(runId)).toEqual({ accepted: 8, rejected: 1, waiting: 1 });
    expect(sent[0]).toBe(`${runId}.sms.0.0`);
  });

  it('calls recipients unknown whose answer was lost, where asking again could send twice', async () => {
    const { runId } = await plantAudience(db, { contacts: 10 });
    answer = (uid, response) => {
      if (uid.includes('.sms.7.')) response.destroy();
      else reply(response, 202);
    };
    await sendPage(runId);
    expect(await states(runId)).toEqual({ accepted: 9, unknown: 1 });
    expect(sent).toHaveLength(10);
  });

  it('asks an idempotent service again, for the same message', async () => {
    capabilities = ['idempotent'];
    const { runId } = await plantAudience(db, { contacts: 3 });
    answer = (_, response) => {
      response.destroy();
      answer = (_uid, next) => reply(next, 202);
    };
    await sendPage(runId);
    expect(await states(runId)).toEqual({ accepted: 2, waiting: 1 });
    await db
      .updateTable('recipients')
      .set({ retry_at: new Date(0) })
      .where('run_id', '=', runId)
      .execute();
    expect(await sendPage(runId)).toMatchObject({ kind: 'sent', size: 1 });
    expect(await states(runId)).toEqual({ accepted: 3 });
    expect(new Set(sent).size).toBe(3);
  });

  it('takes over what a dead attempt left: unknown where it may have been sent, the rest is sent', async () => {
    const { runId } = await plantAudience(db, { contacts: 10 });
    await dieWhileSending(runId, 4);
    expect(await sendPage(runId)).toMatchObject({ kind: 'sent' });
    expect(await states(runId)).toEqual({ accepted: 6, unknown: 4 });
    expect(sent).toHaveLength(6);
  });

  it('takes over at an idempotent service by asking for the very same messages', async () => {
    capabilities = ['idempotent'];
    const { runId } = await plantAudience(db, { contacts: 10 });
    await dieWhileSending(runId, 4);
    await sendPage(runId);
    expect(await states(runId)).toEqual({ accepted: 10 });
    expect(sent.sort()).toEqual(Array.from({ length: 10 }, (_, seq) => `${runId}.sms.${seq}.0`).sort());
  });

  it('backs off, with nobody in doubt and no attempt spent, when the service takes nothing', async () => {
    const { runId } = await plantAudience(db, { contacts: 10 });
    answer = (_, response) => reply(response, 503, {}, { 'retry-after': '3' });
    expect(await sendPage(runId)).toEqual({ kind: 'backoff', waitMs: 3000 });
    answer = (_, response) => reply(response, 202);
    expect(await sendPage(runId)).toMatchObject({ kind: 'sent' });
    expect(await states(runId)).toEqual({ accepted: 10 });
  });

  it('stops for good when the account is refused, and burns no recipient', async () => {
    const { runId } = await plantAudience(db, { contacts: 10 });
    answer = (_, response) => reply(response, 403, { code: 'forbidden' });
    const failure = await sendPage(runId).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect(failure).toMatchObject({ type: 'invalid_client', nonRetryable: true });
    answer = (_, response) => reply(response, 202);
    await sendPage(runId);
    expect(await states(runId)).toEqual({ accepted: 10 });
  });
});

async function unused(): Promise<void> {
  throw new Error('sending a page signals nobody');
}

function reply(
  response: ServerResponse,
  status: number,
  body: unknown = {},
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
