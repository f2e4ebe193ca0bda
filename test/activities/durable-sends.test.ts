/** Proves what the steps of a durable send make of a service's answers, whichever attempt hears them. */

import { MockActivityEnvironment } from '@temporalio/testing';
import type { Kysely } from 'kysely';
import { durableSendActivities } from '../../activities/durable-sends';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { claimSend } from '../../src/campaigns/sends/claim-sends';
import { createDurableSends } from '../../src/campaigns/sends/durable-sends';
import { durableSendBody } from '../../src/contracts/durable-sends';
import { DomainError } from '../../src/domain/errors';
import type { CancelAnswer, Gateway, SendAnswer } from '../../src/gateway/gateway';
import { createLog } from '../../src/log';
import { newId } from '../../src/storage/new-id';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

describeWithDatabase('the steps of a durable send', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  async function made(workspaceId: string) {
    const launcher = { launchSend: async () => undefined, wakeSend: async () => undefined };
    const sends = createDurableSends({ db, launcher, log: createLog('silent') });
    const body = { channel: 'sms', uid: newId('uid'), to: '+12025550190', from: '12345', 'template-id': 't' };
    const { id } = await sends.create(workspaceId, newId('snd'), durableSendBody.parse(body));
    return { id, sends };
  }

  test('call back a message whose request of an earlier attempt arrives after the cancel', async () => {
    const log = createLog('silent');
    const workspaceId = newId('ws');
    const { id, sends } = await made(workspaceId);

    let arrive: () => void = () => undefined;
    const held: string[] = [];
    let state: 'absent' | 'waiting' | 'canceled' = 'absent';
    const gateway = {
      capabilities: async () => new Set(['holds', 'idempotent']),
      send: async ([message]: { uid: string }[]): Promise<SendAnswer[]> => {
        held.push(message?.uid ?? '');
        await new Promise<void>((done) => {
          arrive = done;
        });
        state = 'waiting';
        return [{ kind: 'accepted' }];
      },
      cancel: async (): Promise<CancelAnswer> => {
        if (state === 'absent') return 'absent';
        state = 'canceled';
        return 'canceled';
      },
    } as unknown as Gateway;
    const { actOnSend } = durableSendActivities({
      ...{ db, log, gatewayFor: () => gateway },
      signals: undefined as never,
    });
    const attempt = () => new MockActivityEnvironment().run(actOnSend, { sendId: id });

    const slow = attempt();
    await until('its request to be on its way', () => held.length === 1);
    await sends.cancel(workspaceId, id);
    const next = attempt();
    const isOver = await Promise.race([
      next.then(() => true),
      new Promise((done) => setTimeout(() => done(false), 1_500)),
    ]);
    arrive();
    expect(await next).toMatchObject({ kind: 'ended', state: 'canceled' });
    await slow;
    expect([isOver, state]).toEqual([false, 'canceled']);
    expect(await sends.read(workspaceId, id)).toMatchObject({ state: 'canceled' });
  }, 20_000);

  test.each([
    ['the service cannot call messages back', ['idempotent'], false],
    ['the account is refused', ['idempotent', 'holds'], true],
  ] as const)(
    'send nothing that was canceled while it was in doubt, where %s',
    async (_, able, isRefused) => {
      const workspaceId = newId('ws');
      const { id, sends } = await made(workspaceId);
      const offered: string[] = [];
      const gateway = {
        capabilities: async () => new Set(able),
        send: async ([message]: { uid: string }[]): Promise<SendAnswer[]> => {
          offered.push(message?.uid ?? '');
          return [{ kind: 'accepted' }];
        },
      } as unknown as Gateway;
      let refuses: boolean = isRefused;
      const { actOnSend } = durableSendActivities({
        ...{ db, log: createLog('silent'), signals: undefined as never },
        gatewayFor: () => {
          if (refuses) throw new DomainError('invalid_client', 'refused');
          return gateway;
        },
      });
      const act = () => new MockActivityEnvironment().run(actOnSend, { sendId: id });
      // The process that offered it was killed before an answer came.
      await claimSend(db, id, true);
      await sends.cancel(workspaceId, id);
      await act();
      refuses = false;
      expect(await act()).toMatchObject({ kind: 'ended', state: 'unknown' });
      expect(offered).toEqual([]);
      expect(await sends.read(workspaceId, id)).toMatchObject({ state: 'unknown', code: 'answer_lost' });
    },
  );
});
