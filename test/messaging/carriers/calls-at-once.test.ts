import type { AddressInfo } from 'node:net';
import { providerName, rateOf } from '../../../src/domain/account';
import { inboundVendorRoutes } from '../../../src/http/inbound-vendors';
import { buildServer } from '../../../src/http/server';
import { createLog } from '../../../src/log';
import type { CarriersDeps } from '../../../src/messaging/carriers/carriers';
import { createVendorCalls } from '../../../src/messaging/vendor-calls';
import { TELNYX } from '../../../src/providers/telnyx/telnyx';
import { VENDORS } from '../../../src/providers/vendor/vendors';
import type { Storage } from '../../../src/storage/storage';
import { NO_MAIL } from '../../providers/twilio/inbound-vendors';
import { type FakeTelnyx, startFakeTelnyx } from '../../support/fake-json-carrier';
import { tellTelnyxCall } from '../../support/fake-telnyx-call';
import { NO_CALLERS } from '../../support/no-callers';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { addTemplate, createOutboxRig, type OutboxRig } from '../outbox-rig';
import { createAccountsRig } from './accounts-rig';

const CALLS = 24;
const BOUND = 3;
const CALL_MS = 120;
const RATE = 6;

describeWithDatabase('calls of an account at once', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let fake: FakeTelnyx;
  let publicUrl = '';
  let closeServer: () => Promise<void>;
  let template: string;
  beforeAll(async () => {
    storage = await database.open();
    rig = await createOutboxRig(storage);
    fake = await startFakeTelnyx();
    template = await addTemplate(rig.db, rig.workspaceId, {
      channel: 'voice',
      body: '<Response><Say>Hello</Say></Response>',
    });
  });
  afterAll(async () => {
    await rig.stop();
    await fake.close();
  });

  /** A process of its own: it shares nothing with the other but the database. */
  const process = async () => {
    const calls = createVendorCalls({
      db: rig.db,
      documents: { fetch: async () => ({ problem: 'document_404' }) },
    });
    const carriers: CarriersDeps = {
      ...createAccountsRig(storage).carriers(),
      open: async (account) => [
        {
          ...TELNYX.open({
            channel: 'voice',
            account: {
              ...{ id: account.id, provider: providerName(account), callsMax: account.maxConcurrentCalls },
              callsPerSecond: rateOf(account, 'voice'),
              ...{ settings: fake.settings, secrets: fake.secrets },
            },
            calls,
            addresses: {
              callback: (id) => `${publicUrl}/inbound/telnyx/${account.id}?m=${id}`,
              document: () => '',
            },
          }),
          name: providerName(account),
        },
      ],
    };
    return { ...(await rig.process({}, { carriers })), calls };
  };

  async function serve({ delivery, calls }: Awaited<ReturnType<typeof process>>, accountId: string) {
    const { settings, secrets } = fake;
    const account = { id: accountId, provider: `telnyx:${accountId}`, settings, secrets: [secrets] };
    const app = await buildServer({
      authenticator: NO_CALLERS,
      log: createLog('silent'),
      routes: [
        inboundVendorRoutes({
          accounts: { find: async () => account },
          ...{ receiptsOf: delivery.receiptsOf, inboundOf: delivery.inboundOf },
          ...{ sendersRefused: async () => undefined, mailTools: NO_MAIL, publicUrl: () => publicUrl },
          ...{ calls, vendors: VENDORS, log: createLog('silent') },
        }),
      ],
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    publicUrl = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    closeServer = async () => void (await app.close());
  }

  /** Makes calls by two processes, each of which is over after a while; answers how many there were at once. */
  async function makeCalls(word: string, bounds: object): Promise<number> {
    fake.telnyxCalls.length = 0;
    const owner = createAccountsRig(storage);
    const { settings, secrets } = fake;
    const account = await owner.make({ kind: 'telnyx', channels: ['voice'], settings, secrets, ...bounds });
    await owner.routes.put([{ channel: 'voice', accounts: [{ account: account.id }] }]);
    const processes = [await process(), await process()];
    await serve(processes[0] as (typeof processes)[number], account.id);
    let most = 0;
    const seen = new Set<string>();
    const watch = setInterval(() => {
      most = Math.max(most, fake.telnyxCalls.filter(({ isAlive }) => isAlive).length);
      for (const call of fake.telnyxCalls.filter(({ id }) => !seen.has(id))) {
        seen.add(call.id);
        setTimeout(async () => {
          // The carrier has one call less before it says so.
          call.isAlive = false;
          await tellTelnyxCall(fake, call, 'call.hangup', { hangup_cause: 'user_busy' });
        }, CALL_MS);
      }
    }, 1);
    const messages = (of: number) =>
      Array.from({ length: CALLS / 2 }, (_, i) =>
        rig.sms(`${word}-${of}-${i}`, {
          ...{ channel: 'voice', from: '+12025550100', to: `+1202555${1_000 + of * 100 + i}` },
          ...{ 'template-id': template, params: {} },
        }),
      );
    try {
      await Promise.all(
        processes.map(({ delivery }, of) => delivery.acceptMany(rig.workspaceId, messages(of))),
      );
      await until('all were made', () => fake.telnyxCalls.length === CALLS, 60_000);
      await until('all are over', async () =>
        Object.values(await rig.states()).every((state) => state === 'undelivered' || state === 'failed'),
      );
    } finally {
      clearInterval(watch);
    }
    expect(new Set(fake.telnyxCalls.map(({ body }) => body.to)).size).toBe(CALLS);
    // None of those that waited has spent an attempt.
    const tries = await rig.db.selectFrom('messages').select('attempt').distinct().execute();
    expect(tries).toEqual([{ attempt: 1 }]);
    await closeServer();
    return most;
  }

  test('two processes together never have more calls than its bound, and make all in the end', async () => {
    expect(await makeCalls('once', { maxConcurrentCalls: BOUND, ratePerSecond: 1_000 })).toBe(BOUND);
  }, 90_000);

  test('two processes together make no more calls in any second than its rate', async () => {
    await makeCalls('rate', { ratePerSecond: RATE });
    const times = fake.telnyxCalls.map(({ atMs }) => atMs);
    // The carrier sees a call some milliseconds after it was counted.
    const inWindow = times.map((from) => times.filter((at) => at >= from && at < from + 900).length);
    expect(Math.max(...inWindow)).toBeLessThanOrEqual(RATE);
    const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1_000;
    expect(CALLS / seconds).toBeGreaterThan(RATE / 2);
  }, 90_000);

  test('a call of whose end nothing is heard holds its place only as long as it can last', async () => {
    const calls = createVendorCalls({ db: rig.db, documents: { fetch: async () => ({ problem: 'x' }) } });
    const account = { kind: 'telnyx' as const, id: 'acc_lost', provider: 'telnyx:acc_lost', callsMax: 1 };
    const begin = (id: string) =>
      calls.begin(
        {
          ...{ id, uid: id, channel: 'voice', to: '+12025550101', from: '+12025550100', attempt: 1 },
          ...{ xml: '<Response><Say>Hello</Say></Response>', voice: { maxSeconds: 60 } },
        },
        account,
      );
    expect(await begin('one')).toHaveProperty('path');
    expect(await begin('two')).toEqual({ waitMs: expect.any(Number) });
    // The same message again is the same call.
    expect(await begin('one')).toHaveProperty('path');
    await rig.db
      .updateTable('vendor_calls')
      .set({ created_at: new Date(Date.now() - 3 * 60_000) })
      .where('message_id', '=', 'one')
      .execute();
    expect(await begin('two')).toHaveProperty('path');
    await calls.ended('two');
    expect(await begin('three')).toHaveProperty('path');
  });
});
