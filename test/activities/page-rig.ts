import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { Kysely } from 'kysely';
import { createActivities } from '../../activities';
import type { PlaceCallOutcome } from '../../activities/calls';
import type { SendPageInput, SendPageOutcome } from '../../activities/send';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { offerChunk, takePage } from '../../src/campaigns/runs/ledger';
import { readCounts } from '../../src/campaigns/runs/ledger-counts';
import type { CallEnding } from '../../src/domain/call-policy';
import type { MessageEvent } from '../../src/domain/message';
import { openGateway } from '../../src/gateway/http-gateway';
import { createLog } from '../../src/log';
import { reply } from '../support/reply';

/** What a message was sent as. */
export type Sent = { uid: string } & Record<string, unknown>;

/** The messaging service as the specification alone describes it, or with capabilities of ours. */
export class StubService {
  capabilities: string[] = [];
  readonly sent: Sent[] = [];
  answer: (uid: string, response: ServerResponse) => void = (_, response) => reply(response, 202);
  token: (response: ServerResponse) => void = (response) =>
    reply(response, 200, {
      access_token: 't',
      valid_till: '2099-01-01 00:00:00',
      capabilities: this.capabilities,
    });
  /** What its feed tells, from its beginning. */
  events: MessageEvent[] = [];
  feed: (after: number, response: ServerResponse) => void = (after, response) => {
    const data = this.events.slice(after, after + 1_000);
    reply(response, 200, { data, next: String(after + data.length) });
  };
  /** What a campaign's messages are asked to do: PUT holds them, DELETE lets them go. */
  hold: (method: string, response: ServerResponse) => void = (_, response) => reply(response, 200);
  cancel: (response: ServerResponse) => void = (response) => reply(response, 200);
  /** The uids that it was asked to cancel. */
  readonly canceled: string[] = [];
  private readonly server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://stub');
      if (pathname === '/events') return this.feed(Number(searchParams.get('after') ?? 0), response);
      if (pathname.startsWith('/holds/')) return this.hold(request.method ?? '', response);
      if (pathname.startsWith('/messages/') && request.method === 'DELETE') {
        this.canceled.push(decodeURIComponent(pathname.slice('/messages/'.length)));
        return this.cancel(response);
      }
      if (pathname !== '/send-msg') return this.token(response);
      const message = JSON.parse(text) as Sent;
      this.sent.push(message);
      this.answer(message.uid, response);
    });
  });

  get uids(): string[] {
    return this.sent.map(({ uid }) => uid);
  }

  async start() {
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return openGateway({
      authUrl: url,
      sendUrl: url,
      appUrl: url,
      clientId: 'c',
      clientSecret: 's',
      apiKey: 'k',
    });
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}

type Gateway = Awaited<ReturnType<StubService['start']>>;

/** Runs activities on a run's first shard, as its workflows would. */
export class PageRig {
  constructor(
    private readonly db: Kysely<CampaignTables>,
    private readonly gateway: Gateway,
  ) {}

  sendPage(runId: string, size = 100, launch?: number): Promise<SendPageOutcome> {
    const input: SendPageInput = { runId, launch, channel: 'sms', shard: 0, lane: 0, size };
    return new MockActivityEnvironment().run(this.activities().sender.sendPage, input);
  }

  placeCall(runId: string, attempt = 1): Promise<PlaceCallOutcome> {
    return new MockActivityEnvironment().run(this.activities().voice.placeCall, {
      runId,
      seq: 0,
      attempt,
      from: 1,
    });
  }

  readCall(runId: string, attempt = 1): Promise<CallEnding | null> {
    const call = { runId, seq: 0, attempt };
    return new MockActivityEnvironment().run(this.activities().voice.readCall, call);
  }

  /** The run's recipients by state, without the states that nobody is in. */
  async states(runId: string, channel: 'sms' | 'voice' = 'sms'): Promise<Record<string, number>> {
    const { total: _total, ...counts } = (await readCounts(this.db, runId))[channel] ?? { total: 0 };
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  }

  /** Everybody's next retry falls due. */
  async passTime(runId: string): Promise<void> {
    await this.db
      .updateTable('recipients')
      .set({ retry_at: new Date(0) })
      .where('run_id', '=', runId)
      .where('state', '=', 'waiting')
      .execute();
  }

  recipient(runId: string, seq: number) {
    return this.db
      .selectFrom('recipients')
      .select(['state', 'code', 'attempt', 'attempts', 'retry_at', 'doubts', 'due_at'])
      .where('run_id', '=', runId)
      .where('seq', '=', seq)
      .executeTakeFirstOrThrow();
  }

  /** An attempt that was given up comes to the statement with which it takes the page, later than its successor. */
  async wakeFrozen(runId: string): Promise<void> {
    await takePage(this.db, { runId, channel: 'sms', shard: 0, lane: 0 }, 10);
  }

  /** Leaves a page as an activity would that died when its first chunk was on its way. */
  async dieWhileSending(runId: string, chunk: number): Promise<void> {
    const taking = await takePage(this.db, { runId, channel: 'sms', shard: 0, lane: 0 }, 10);
    if (taking.kind !== 'page') throw new Error('no page');
    await offerChunk(this.db, taking.page, chunk);
  }

  /** Those of the orchestrator, over a database of its own if it is given one. */
  orchestrator(db = this.db) {
    return this.activities(db).orchestrator;
  }

  private activities(db = this.db) {
    const signals = {
      startCall: unused,
      wakeCall: unused,
      launchRun: unused,
      removeSchedule: unused,
    };
    return createActivities({
      db,
      gatewayFor: () => this.gateway,
      signals,
      log: createLog('silent'),
    });
  }
}

async function unused(): Promise<void> {
  throw new Error('sending a page signals nobody');
}
