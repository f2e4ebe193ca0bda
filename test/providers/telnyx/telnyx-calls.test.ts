/** Proves that calls at Telnyx say what their documents say, and end as the runner of calls would have them end. */

import Telnyx from 'telnyx';
import type { HandOver, HandOverResult } from '../../../src/providers/provider';
import { TELNYX } from '../../../src/providers/telnyx/telnyx';
import { type CallingVendor, startCallingVendor } from '../../support/calling-vendor';
import { type FakeTelnyx, startFakeTelnyx, TO, UNDIALLED } from '../../support/fake-json-carrier';
import { answerTelnyxCall, tellTelnyxCall } from '../../support/fake-telnyx-call';
import { describeWithDatabase } from '../../support/storage';
import { providerConformance, type Rig } from '../conformance';
import { startInboundVendors } from '../twilio/inbound-vendors';

const MENU = `<Response><Say>Hello &amp; welcome</Say>
<Gather output="menu" numDigits="1" timeout="4" optOutDigits="9"><Say>One or nine</Say></Gather>
<If expression="\${menu.digits}=='1'"><Say>You chose one</Say></If><Say>Goodbye</Say></Response>`;

const idOf = (url: string) => new URL(url).searchParams.get('m') as string;

/** The suite asks for messages; calls have a document. */
providerConformance(
  'calls by telnyx',
  async (): Promise<Rig> => {
    const fake = await startFakeTelnyx();
    return {
      async open() {
        const { settings, secrets } = fake;
        const account = { id: 'acc_1', settings, secrets };
        let publicUrl = 'http://127.0.0.1:9';
        let closeInbound: () => Promise<void> = async () => undefined;
        const provider = TELNYX.open({
          ...{ channel: 'voice', account },
          calls: { begin: async () => ({ path: 'token/start' }), drop: async () => undefined },
          addresses: {
            callback: (id) => `${publicUrl}/inbound/telnyx/acc_1?m=${id}`,
            document: (path) => `${publicUrl}/calls/${path}`,
          },
        });
        return {
          ...provider,
          async start(takeReceipts) {
            const inbound = await startInboundVendors({
              account,
              // One event is stored in two parts: that the call was taken, and what has come of it.
              takeReceipts: async (some) =>
                some.some(({ type }) => type !== 'sent') ? takeReceipts(some) : undefined,
              calls: {
                hear: async (_provider, { messageId: id, providerId, end }) => ({
                  receipts: end ? [{ id, providerId, type: end.type }] : [],
                  isOver: end !== undefined,
                }),
              },
            });
            publicUrl = inbound.url;
            closeInbound = inbound.close;
            ending = setInterval(() => void endCalls(fake, publicUrl), 20);
          },
          async close() {
            clearInterval(ending);
            await closeInbound();
            await provider.close();
          },
        };
      },
      delivered: () => fake.telnyxCalls.map(({ body }) => idOf(body.webhook_url)),
      close: () => fake.close(),
    };
  },
  {
    channel: 'voice',
    addresses: {
      ...{ accepted: TO.accepted, rejected: TO.rejected, transient: TO.transient },
      ...{ throttled: TO.throttled, account: TO.account, lost: TO.lost },
    },
  },
);

let ending: NodeJS.Timeout | undefined;

/** Each call rings and is over; a provider that is restarted has another address. */
async function endCalls(fake: FakeTelnyx, publicUrl: string): Promise<void> {
  for (const call of fake.telnyxCalls.filter(({ isAlive }) => isAlive)) {
    call.isAlive = false;
    const { pathname, search } = new URL(call.body.webhook_url);
    const url = publicUrl + pathname + search;
    const status = await tellTelnyxCall(
      fake,
      call,
      'call.hangup',
      { hangup_cause: 'normal_clearing' },
      { url },
    ).catch(() => 0);
    if (status !== 200) call.isAlive = true;
  }
}

describeWithDatabase('a call at Telnyx', (database) => {
  let fake: FakeTelnyx;
  let vendor: CallingVendor;
  let made = 0;

  beforeEach(async () => {
    fake = await startFakeTelnyx();
    vendor = await startCallingVendor(await database.open(), 'telnyx', fake, TELNYX.open);
  });
  afterEach(async () => {
    await vendor.close();
    await fake.close();
  });

  async function call(xml: string, voice: HandOver['voice'] = {}, to = TO.accepted as string) {
    made += 1;
    const message = {
      id: `msg_x${made}`,
      uid: `u${made}`,
      channel: 'voice' as const,
      to,
      from: '+12125550100',
    };
    const [result] = await vendor.provider.handOver([{ ...message, xml, voice, attempt: 1 }]);
    return result as HandOverResult;
  }
  const placed = () => fake.telnyxCalls.at(-1) as FakeTelnyx['telnyxCalls'][number];
  const last = () => vendor.receipts.at(-1);

  test('is asked for with its events, its times, who is to be found out and an id of its own', async () => {
    const result = await call(MENU, { machine: 'leave_message', ringTimeoutSeconds: 25, maxSeconds: 90 });
    expect(result).toMatchObject({ kind: 'accepted', providerId: placed().id });
    expect(fake.requests[0]).toMatchObject({ method: 'POST', path: '/v2/calls' });
    expect(placed().body).toEqual({
      ...{ connection_id: fake.settings.connectionId, to: '+12025550190', from: '+12125550100' },
      webhook_url: expect.stringMatching(/\/inbound\/telnyx\/acc_1\?m=msg_x\d+&k=[\w-]{22}$/),
      ...{ webhook_url_method: 'POST', timeout_secs: 25, time_limit_secs: 90 },
      command_id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      answering_machine_detection: 'greeting_end',
    });
  });

  test.each([[false], [true]])(
    'asks for a key, takes its branch and says goodbye; events doubled: %s',
    async (doubled) => {
      await call(MENU);
      const events = [{ during: 1, type: 'call.machine.detection.ended', result: 'human' }];
      const heard = await answerTelnyxCall(fake, placed(), { keys: ['1'], events, doubled });
      expect(heard).toEqual([
        'speak Hello & welcome',
        'gather_using_speak One or nine',
        'speak You chose one',
        'speak Goodbye',
        'hangup',
      ]);
      expect(placed().commands[1]?.body).toMatchObject({
        ...{ minimum_digits: 1, maximum_digits: 1, terminating_digit: '#', maximum_tries: 1 },
        ...{ timeout_millis: 4_000, inter_digit_timeout_millis: 4_000, voice: 'female', language: 'en-US' },
      });
      expect(placed().ignored > 0).toBe(doubled);
      expect(last()).toMatchObject({
        type: 'completed',
        data: { answeredBy: 'human', outcome: 'human', reason: 'finished', digits: '1' },
      });
    },
  );

  test('goes on without an input, and ends at an opt-out', async () => {
    await call(MENU);
    expect((await answerTelnyxCall(fake, placed())).slice(-2)).toEqual(['speak Goodbye', 'hangup']);
    await call(MENU);
    const heard = await answerTelnyxCall(fake, placed(), { keys: ['9'] });
    expect(heard.slice(-2)).toEqual(['gather_using_speak One or nine', 'hangup']);
    expect(last()?.data).toMatchObject({ outcome: 'opted_out', optedOut: true });
  });

  test('hangs up on a machine where that is wanted', async () => {
    await call(MENU, { machine: 'hangup' });
    const events = [{ during: 1, type: 'call.machine.detection.ended', result: 'machine' }];
    const heard = await answerTelnyxCall(fake, placed(), { events });
    expect(heard).toEqual(['speak Hello & welcome', 'hangup']);
    expect(last()?.data).toMatchObject({ answeredBy: 'machine_start', outcome: 'machine' });
  });

  test.each([[false], [true]])(
    'leaves a message from its beginning at the beep; events doubled: %s',
    async (doubled) => {
      await call(MENU, { machine: 'leave_message' });
      const heard = await answerTelnyxCall(fake, placed(), {
        doubled,
        events: [
          { during: 1, type: 'call.machine.detection.ended', result: 'machine' },
          { during: 2, type: 'call.machine.greeting.ended', result: 'beep_detected' },
        ],
      });
      expect(heard).toEqual([
        'speak Hello & welcome',
        'gather_using_speak One or nine',
        ...['gather_stop', 'playback_stop', 'record_stop'],
        ...['speak Hello & welcome', 'gather_using_speak One or nine', 'speak Goodbye', 'hangup'],
      ]);
      expect(last()?.data).toMatchObject({ answeredBy: 'machine_end_beep', outcome: 'voicemail_left' });
    },
  );

  test('goes on with other documents, plays, waits, sends tones, records and connects', async () => {
    vendor.elsewhere['https://elsewhere.example/next'] =
      '<Response><Play>tone.wav</Play><Pause length="2"/><Play digits="1w2"/><Record maxLength="30" action="/done"/></Response>';
    vendor.elsewhere['https://elsewhere.example/done'] =
      '<Response><Dial callerId="+12125550100"><Number>+12025550199</Number></Dial><Say>Bye</Say></Response>';
    await call(
      '<Response><Say>One moment</Say><Redirect>https://elsewhere.example/next</Redirect></Response>',
    );
    const heard = await answerTelnyxCall(fake, placed(), { doubled: true });
    expect(heard).toEqual([
      'speak One moment',
      'playback_start https://elsewhere.example/tone.wav',
      'gather silence 2000',
      'send_dtmf 1w2',
      'gather silence 1500',
      'record_start',
      'transfer +12025550199',
      'speak Bye',
      'hangup',
    ]);
    const transfer = placed().commands.find(({ action }) => action === 'transfer')?.body;
    expect(transfer).toMatchObject({ from: '+12125550100', park_after_unbridge: 'self', timeout_secs: 30 });
    expect(last()?.data).toMatchObject({ recording: 'https://s3.example/recordings/rec-1.mp3' });
    expect(JSON.stringify(vendor.receipts)).not.toContain('Amz-Signature');
  });

  test.each([
    ['#', ['record_start', 'record_stop', 'speak Bye', 'hangup']],
    ['1', ['record_start']],
  ])('a recording ends by its key: %s', async (pressed, expected) => {
    await call('<Response><Record finishOnKey="#" maxLength="30"/><Say>Bye</Say></Response>');
    expect(await answerTelnyxCall(fake, placed(), { pressed, doubled: true })).toEqual(expected);
  });

  test('a long text is said in parts, and several prompts before the keys', async () => {
    const long = `${'word '.repeat(700)}end`;
    await call(
      `<Response><Say>${long}</Say><Gather numDigits="2"><Say>A</Say><Pause length="1"/></Gather></Response>`,
    );
    const heard = await answerTelnyxCall(fake, placed(), { keys: ['12'] });
    expect(heard.map((one) => one.split(' ')[0])).toEqual([
      'speak',
      'speak',
      'speak',
      'gather',
      'gather',
      'hangup',
    ]);
    expect(heard.every((one) => one.length <= 3_010)).toBe(true);
    expect(last()?.data).toMatchObject({ digits: '12' });
  });

  test('a command that Telnyx does not take is given again when the event is sent again', async () => {
    await call(MENU);
    await tellTelnyxCall(fake, placed(), 'call.initiated');
    fake.refuseCommands(1);
    expect(await tellTelnyxCall(fake, placed(), 'call.answered')).toBe(503);
    expect(placed().commands).toEqual([]);
    expect(await tellTelnyxCall(fake, placed(), 'call.answered')).toBe(200);
    expect(placed().commands).toHaveLength(1);
  });

  test.each([1, 2, 3, 4])(
    'a message for a machine is left when the event is sent again, after command %i of it was not taken',
    async (count) => {
      await call(MENU, { machine: 'leave_message' });
      await tellTelnyxCall(fake, placed(), 'call.answered');
      const beep = () =>
        tellTelnyxCall(fake, placed(), 'call.machine.greeting.ended', { result: 'beep_detected' });
      fake.refuseCommands(1, { after: count - 1 });
      expect(await beep()).toBe(503);
      expect(await beep()).toBe(200);
      expect(await beep()).toBe(200);
      const left = ['gather_stop', 'playback_stop', 'record_stop', 'speak'];
      expect(placed().commands.map(({ action }) => action)).toEqual(['speak', ...left]);
    },
  );

  test('a machine is hung up on when the event is sent again, although Telnyx did not take it at first', async () => {
    await call(MENU, { machine: 'hangup' });
    await tellTelnyxCall(fake, placed(), 'call.answered');
    const machine = () =>
      tellTelnyxCall(fake, placed(), 'call.machine.detection.ended', { result: 'machine' });
    fake.refuseCommands(1);
    expect(await machine()).toBe(503);
    expect(await machine()).toBe(200);
    expect(placed().commands.map(({ action }) => action)).toEqual(['speak', 'hangup']);
  });

  test.each([
    ['user_busy', { type: 'busy' }],
    ['timeout', { type: 'no_answer', code: 'ring_timeout' }],
    ['no_answer', { type: 'no_answer', code: 'ring_timeout' }],
    ['normal_clearing', { type: 'no_answer', code: 'ring_timeout' }],
    ['call_rejected', { type: 'rejected' }],
    ['not_found', { type: 'failed', code: 'not_found' }],
    ['unspecified', { type: 'failed', code: 'sip_486' }],
    ['originator_cancel', { type: 'canceled' }],
  ])('that ends by %s without an answer ends so', async (hangup_cause, end) => {
    await call(MENU);
    await tellTelnyxCall(fake, placed(), 'call.hangup', { hangup_cause, sip_hangup_cause: '486' });
    expect(last()).toMatchObject({ providerId: placed().id, ...end });
  });

  test('a callee who hangs up is one', async () => {
    await call(MENU);
    await answerTelnyxCall(fake, placed(), { hangsUpDuring: 2 });
    expect(last()).toMatchObject({ type: 'completed', data: { reason: 'callee_hung_up' } });
    expect(placed().commands.at(-1)?.action).toBe('gather_using_speak');
  });

  test('events at the address of another call tell nothing of it, and a wrong signature is refused', async () => {
    await call(MENU);
    await call(MENU);
    const event = (type: string) => ({
      data: { event_type: type, payload: { call_control_id: placed().id } },
    });
    const forged = placed().body.webhook_url.replace(/m=[^&]+/, `m=msg_x${made - 1}`);
    expect(await fake.post(forged, event('call.answered'))).toBe(200);
    expect(vendor.receipts.every(({ id }) => id === undefined)).toBe(true);
    expect(fake.telnyxCalls.flatMap(({ commands }) => commands)).toEqual([]);
    const url = placed().body.webhook_url;
    expect(await fake.post(url, event('call.answered'), { signedText: 'other' })).toBe(403);
    expect(await fake.post(url, event('call.answered'), { at: 1 })).toBe(403);
    expect(placed().commands).toEqual([]);
  });

  test('is taken back by hanging up, once', async () => {
    const result = await call(MENU);
    const id = (result as { providerId: string }).providerId;
    await vendor.provider.withdraw?.(id);
    expect(placed().commands.map(({ action }) => action)).toEqual(['hangup']);
    placed().isAlive = false;
    await vendor.provider.withdraw?.(id);
    expect(placed().commands).toHaveLength(1);
  });

  test('what Telnyx does not dial is distinguished by the end of its words', async () => {
    const kinds = await Promise.all(
      Object.keys(UNDIALLED).map(async (to) => [(await call(MENU, {}, to)).kind, UNDIALLED[to]]),
    );
    expect(kinds).toEqual([
      ['throttled', expect.stringContaining('D1')],
      ['rejected', expect.stringContaining('D13')],
      ['account', expect.stringContaining('D17')],
      ['throttled', expect.stringContaining('D22')],
      ['sender', expect.stringContaining('D51')],
    ]);
  });

  test('that cannot be made is refused, and nothing of it is kept', async () => {
    expect(await call('<Nonsense/>')).toMatchObject({ kind: 'rejected', code: 'invalid_document' });
    expect(fake.telnyxCalls).toEqual([]);
    expect(await call(MENU, {}, TO.rejected)).toMatchObject({ kind: 'rejected', code: '40310' });
    expect(await call(MENU, {}, TO.lost)).toMatchObject({ kind: 'unknown' });
  });

  test("the fake understands the vendor's own SDK", async () => {
    const { secrets, url } = fake;
    const sdk = new Telnyx({ apiKey: secrets.apiKey as string, baseURL: url, maxRetries: 0 });
    const connection_id = fake.settings.connectionId as string;
    const dialled = await sdk.calls.dial({ connection_id, to: TO.accepted, from: '+12125550100' });
    const id = dialled.data?.call_control_id as string;
    expect(id).toBe(placed().id);
    await sdk.calls.actions.speak(id, { payload: 'Hello', voice: 'female', command_id: 'one' });
    await sdk.calls.actions.speak(id, { payload: 'Hello', voice: 'female', command_id: 'one' });
    await sdk.calls.actions.hangup(id, {});
    expect(placed().commands.map(({ action }) => action)).toEqual(['speak', 'hangup']);
    const sent = await sdk.messages.send({ to: TO.accepted, from: '+12125550100', text: 'Hello' });
    expect(sent.data?.id).toBe(fake.messages.at(-1)?.id);
  });
});
