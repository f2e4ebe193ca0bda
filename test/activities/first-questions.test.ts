import type { ServerResponse } from 'node:http';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { Kysely } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { createPolicies } from '../../src/campaigns/policy/policy';
import { LIMITS } from '../../src/domain/limits';
import { NO_POLICY } from '../../src/domain/policy';
import type { Gateway } from '../../src/gateway/gateway';
import { plantRun } from '../support/audience';
import { reply } from '../support/reply';
import { describeWithDatabase } from '../support/storage';
import { PageRig, StubService } from './page-rig';

/** Proves that runs that begin leave room for others while the service is slow. */
describeWithDatabase('what runs ask the service before they send', (database) => {
  let db: Kysely<CampaignTables>;
  let service: StubService;
  let gateway: Gateway;

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  beforeEach(async () => {
    service = new StubService();
    gateway = await service.start();
  });

  afterEach(async () => {
    await gateway.close();
    await service.stop();
  });

  test('is asked by so many at once, and by the others again after a moment', async () => {
    const { refreshToken } = new PageRig(db, gateway).orchestrator();
    const ask = () => new MockActivityEnvironment().run(refreshToken, { workspaceId: 'wsp' });
    let isAsked: (response: ServerResponse) => void;
    const asked = new Promise<ServerResponse>((done) => (isAsked = done));
    const { token } = service;
    service.token = (response) => isAsked(response);

    const waiting = Array.from({ length: LIMITS.questionsAtOnce }, ask);
    const unanswered = await asked;
    await expect(ask()).rejects.toMatchObject({ type: 'dependency_down', nonRetryable: false });
    service.token = token;
    reply(unanswered, 200, { access_token: 't', valid_till: '2099-01-01 00:00:00', capabilities: ['bulk'] });
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => ['bulk']));
    expect(await ask()).toEqual(['bulk']);
  });

  test('a run whose sender the policy does not allow by now asks for no template, at a service that knows no policy', async () => {
    const { lookUpTemplates } = new PageRig(db, gateway).orchestrator();
    const { runId, workspaceId } = await plantRun(db, { contacts: 1 });
    const ask = () => new MockActivityEnvironment().run(lookUpTemplates, { runId });
    const allow = (sms: string[]) =>
      createPolicies({ db }).replace(workspaceId, { ...NO_POLICY, allowedSenders: { sms } });
    await allow(['54321']);
    await expect(ask()).rejects.toMatchObject({ type: 'sender_not_allowed', nonRetryable: true });
    await allow(['12345']);
    await expect(ask()).rejects.not.toMatchObject({ type: 'sender_not_allowed' });
  });
});
