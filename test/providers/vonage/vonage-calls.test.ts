/** Proves that calls at Vonage say what their documents say, and end as the runner of calls would have them end. */

import type { HandOver, HandOverResult } from '../../../src/providers/provider';
import { VONAGE } from '../../../src/providers/vonage/vonage';
import { type CallingVendor, startCallingVendor } from '../../support/calling-vendor';
import { type FakeJsonCarrier, startFakeVonage, TO } from '../../support/fake-json-carrier';
import { answerVonageCall, tellVonageCall } from '../../support/fake-vonage-call';
import { describeWithDatabase } from '../../support/storage';

const MENU = `<Response><Say>Hello &amp; welcome</Say>
<Gather output="menu" numDigits="1" timeout="4" optOutDigits="9"><Say>One or nine</Say></Gather>
<If expression="\${menu.digits}=='1'"><Say>You chose one</Say></If><Say>Goodbye</Say></Response>`;

describeWithDatabase('a call at Vonage', (database) => {
  let fake: FakeJsonCarrier;
  let vendor: CallingVendor;
  let made = 0;

  beforeEach(async () => {
    fake = await startFakeVonage();
    vendor = await startCallingVendor(await database.open(), 'vonage', fake, VONAGE.open);
  });
  afterEach(async () => {
    await vendor.close();
    await fake.close();
  });

  async function call(xml: string, voice: HandOver['voice'] = {}, to = TO.accepted as string) {
    made += 1;
    const message = {
      id: `msg_v${made}`,
      uid: `u${made}`,
      channel: 'voice' as const,
      to,
      from: '+12125550100',
    };
    const [result] = await vendor.provider.handOver([{ ...message, xml, voice, attempt: 1 }]);
    return result as HandOverResult;
  }
  const placed = () => fake.calls.at(-1) as (typeof fake.calls)[number];
  const last = () => vendor.receipts.at(-1);

  test('is asked for with its document, its events, its times and who is to be found out', async () => {
    const result = await call(MENU, { machine: 'leave_message', ringTimeoutSeconds: 25, maxSeconds: 90 });
    expect(result).toMatchObject({ kind: 'accepted', providerId: placed().uuid });
    expect(fake.requests[0]).toMatchObject({ method: 'POST', path: '/v1/calls' });
    expect(placed().body).toEqual({
      to: [{ type: 'phone', number: '12025550190' }],
      from: { type: 'phone', number: '12125550100' },
      answer_url: [expect.stringMatching(/\/calls\/[\w-]{30,}\/start$/)],
      answer_method: 'POST',
      event_url: [expect.stringMatching(/\/inbound\/vonage\/acc_1\?m=msg_v\d+&k=[\w-]{22}$/)],
      event_method: 'POST',
      ringing_timer: 25,
      length_timer: 90,
      advanced_machine_detection: { behavior: 'continue', mode: 'default', beep_timeout: 45 },
    });
  });

  test('asks for a key, takes its branch and says goodbye', async () => {
    await call(MENU);
    const events = [{ after: 1, event: { status: 'human' } }];
    const story = await answerVonageCall(fake, placed(), { keys: ['1'], events });
    expect(story.heard).toEqual([
      'talk Hello & welcome',
      'talk One or nine',
      'input 1',
      'talk You chose one',
      'talk Goodbye',
      'notify',
    ]);
    expect(story.documents[0]?.slice(1)).toMatchObject([
      { action: 'talk', bargeIn: true },
      { action: 'input', type: ['dtmf'], dtmf: { maxDigits: 1, timeOut: 4, submitOnHash: true } },
    ]);
    expect(last()).toMatchObject({
      type: 'completed',
      data: { answeredBy: 'human', outcome: 'human', reason: 'finished', digits: '1', durationMs: 21_000 },
    });
  });

  test('goes on without an input, and ends at an opt-out', async () => {
    await call(MENU);
    expect((await answerVonageCall(fake, placed())).heard.slice(-2)).toEqual(['talk Goodbye', 'notify']);
    await call(MENU);
    expect((await answerVonageCall(fake, placed(), { keys: ['9'] })).heard.at(-1)).toBe('input 1');
    expect(last()?.data).toMatchObject({ outcome: 'opted_out', optedOut: true });
  });

  test('hangs up on a machine where that is wanted', async () => {
    await call(MENU, { machine: 'hangup' });
    await answerVonageCall(fake, placed(), { events: [{ after: 1, event: { status: 'machine' } }] });
    expect(placed().updates).toEqual([{ action: 'hangup' }]);
    expect(last()?.data).toMatchObject({ answeredBy: 'machine_start', outcome: 'machine' });
  });

  test('leaves a message from its beginning at the beep, which is told after the machine', async () => {
    await call(MENU, { machine: 'leave_message' });
    const story = await answerVonageCall(fake, placed(), {
      events: [
        { after: 1, event: { status: 'machine' } },
        { after: 2, event: { status: 'machine', sub_state: 'beep_start' } },
      ],
    });
    expect(placed().updates).toMatchObject([
      { action: 'transfer', destination: { type: 'ncco', url: [expect.stringMatching(/\/again$/)] } },
    ]);
    expect(story.heard.filter((one) => one === 'talk Hello & welcome')).toHaveLength(2);
    expect(last()?.data).toMatchObject({ answeredBy: 'machine_end_beep', outcome: 'voicemail_left' });
  });

  test('goes on with other documents, plays, waits, records and connects', async () => {
    vendor.elsewhere['https://elsewhere.example/next'] =
      '<Response><Play>tone.wav</Play><Pause length="2"/><Record maxLength="30" action="/done"/></Response>';
    vendor.elsewhere['https://elsewhere.example/done'] =
      '<Response><Dial callerId="+12125550100"><Number>+12025550199</Number></Dial><Say>Bye</Say></Response>';
    await call(
      '<Response><Say>One moment</Say><Redirect>https://elsewhere.example/next</Redirect></Response>',
    );
    const story = await answerVonageCall(fake, placed());
    expect(story.heard).toEqual([
      'talk One moment',
      'notify',
      'stream https://elsewhere.example/tone.wav',
      'wait 2',
      'record',
      'connect 12025550199',
      'notify',
      'talk Bye',
      'notify',
    ]);
    expect(last()?.data).toMatchObject({ recording: 'rec-1' });
  });

  test.each(['answered', 'busy', 'completed'])(
    'a party to whom the callee is connected, and who is %s, changes nothing of the call',
    async (status) => {
      await call('<Response><Dial><Number>+12025550199</Number></Dial><Say>Bye</Say></Response>');
      await tellVonageCall(fake, placed(), 'answered');
      const { text } = await fake.ask(placed().body.answer_url[0] as string, { uuid: placed().uuid });
      const [connect, goOn] = JSON.parse(text) as { eventUrl?: string[] }[];
      const before = vendor.receipts.length;
      // An action without an address of its own reports to the call's.
      const [url] = connect?.eventUrl ?? placed().body.event_url;
      await fake.post(url as string, { uuid: 'other', conversation_uuid: 'CON-1', status });
      expect(vendor.receipts.slice(before)).toEqual([]);
      const next = await fake.ask(goOn?.eventUrl?.[0] as string, { uuid: placed().uuid });
      expect(JSON.parse(next.text)).toMatchObject([{ action: 'talk', text: 'Bye' }, { action: 'notify' }]);
    },
  );

  test.each([
    ['busy', {}, { type: 'busy' }],
    ['unanswered', {}, { type: 'no_answer', code: 'ring_timeout' }],
    ['timeout', {}, { type: 'no_answer', code: 'ring_timeout' }],
    ['failed', { detail: 'cannot_route' }, { type: 'failed', code: 'cannot_route' }],
    ['rejected', { detail: 'declined' }, { type: 'rejected', code: 'declined' }],
    ['cancelled', {}, { type: 'canceled' }],
  ])('that is %s ends so', async (status, more, end) => {
    await call(MENU);
    await tellVonageCall(fake, placed(), status, more);
    expect(last()).toMatchObject({ providerId: placed().uuid, ...end });
  });

  test('events at the address of another call tell nothing of it, and a wrong signature is refused', async () => {
    await call(MENU);
    const other = placed();
    await call(MENU);
    const forged = placed().body.event_url[0]?.replace(/m=[^&]+/, `m=msg_v${made - 1}`) as string;
    const event = { uuid: placed().uuid, conversation_uuid: 'CON-1', status: 'busy' };
    expect(await fake.post(forged, event)).toBe(200);
    expect(vendor.receipts.every(({ id }) => id === undefined)).toBe(true);
    const url = other.body.answer_url[0] as string;
    expect((await fake.ask(url, {}, { claims: { iss: 'Other' } })).status).toBe(403);
    expect((await fake.ask(url, {}, { signedText: 'other' })).status).toBe(403);
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(200);
    expect((await fetch(url.replace('/calls/', '/calls/_'))).status).toBe(404);
  });

  test('is taken back only while it rings, and found by its numbers', async () => {
    const result = await call(MENU);
    const id = (result as { providerId: string }).providerId;
    await vendor.provider.withdraw?.(id);
    expect(placed().updates).toEqual([{ action: 'hangup' }]);
    placed().status = 'answered';
    await vendor.provider.withdraw?.(id);
    expect(placed().updates).toHaveLength(1);
    const doubt = {
      ...{ id: 'm', to: TO.accepted, from: '+12125550100', text: undefined },
      ...{ sinceMs: Date.now() - 1_000, untilMs: Date.now() },
    };
    expect(await vendor.provider.lookUp?.(doubt)).toEqual({ kind: 'found', providerIds: [id] });
    expect(await vendor.provider.lookUp?.({ ...doubt, to: '+12025550111' })).toEqual({ kind: 'none' });
  });

  test('whose document Vonage cannot carry out is never placed', async () => {
    expect(await call('<Response><Play digits="1w2"/></Response>')).toMatchObject({
      kind: 'rejected',
      code: 'message_not_possible',
    });
    expect(await call('<Response><Gather finishOnKey="*"><Say>Hi</Say></Gather></Response>')).toMatchObject({
      kind: 'rejected',
      code: 'message_not_possible',
    });
    expect(await call('<Nonsense/>')).toMatchObject({ kind: 'rejected', code: 'invalid_document' });
    expect(fake.calls).toEqual([]);
    expect(await call(MENU, {}, TO.rejected)).toMatchObject({ kind: 'rejected', code: 'vonage_400' });
  });
});
