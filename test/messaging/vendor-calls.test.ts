/** Proves that calls at Twilio say what their documents say, and end as the runner of calls would have them end. */

import type { HandOver, HandOverResult } from '../../src/providers/provider';
import { openTwilioVoice } from '../../src/providers/twilio/twilio-voice';
import { type CallingVendor, startCallingVendor } from '../support/calling-vendor';
import { type FakeTwilio, startFakeTwilio } from '../support/fake-twilio';
import { answerCall, endCall } from '../support/fake-twilio-call';
import { describeWithDatabase } from '../support/storage';

const MENU = `<Response><Say>Hello &amp; welcome</Say>
<Gather output="menu" numDigits="1" timeout="4" optOutDigits="9"><Say>One or nine</Say></Gather>
<If expression="\${menu.digits}=='1'"><Say>You chose one</Say></If><Say>Goodbye</Say></Response>`;

describeWithDatabase('a call at Twilio', (database) => {
  let fake: FakeTwilio;
  let vendor: CallingVendor;
  let made = 0;

  beforeEach(async () => {
    fake = await startFakeTwilio();
    vendor = await startCallingVendor(
      await database.open(),
      'twilio',
      {
        settings: { accountSid: fake.account.accountSid, url: fake.url },
        secrets: { authToken: fake.account.authToken },
      },
      openTwilioVoice,
    );
  });
  afterEach(async () => {
    await vendor.close();
    await fake.close();
  });

  const message = (xml: string, voice: HandOver['voice'] = {}): HandOver => ({
    ...{ id: `msg_${made++}`, uid: `u${made}`, channel: 'voice', to: '+12025550190', from: '+12125550100' },
    ...{ xml, voice, attempt: 1 },
  });
  async function call(xml: string, voice: HandOver['voice'] = {}): Promise<HandOverResult> {
    const [result] = await vendor.provider.handOver([message(xml, voice)]);
    return result as HandOverResult;
  }
  const placed = () => fake.calls.at(-1) as (typeof fake.calls)[number];
  const types = () => vendor.receipts.map(({ type }) => type);
  const last = () => vendor.receipts.at(-1);

  test('is asked for with its document, every event, its times and who is to be found out', async () => {
    expect(
      await call(MENU, { machine: 'leave_message', ringTimeoutSeconds: 25, maxSeconds: 90 }),
    ).toMatchObject({ kind: 'accepted', providerId: placed().sid });
    const form = placed().form;
    expect(form.getAll('StatusCallbackEvent')).toEqual(['initiated', 'ringing', 'answered', 'completed']);
    expect(Object.fromEntries(form)).toMatchObject({
      ...{ To: '+12025550190', From: '+12125550100', Method: 'POST', Timeout: '25', TimeLimit: '90' },
      ...{ MachineDetection: 'DetectMessageEnd', AsyncAmd: 'true' },
    });
    expect(form.get('Url')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/calls\/[\w-]{30,}\/start$/);
    expect(form.get('StatusCallback')).toMatch(/\/inbound\/twilio\/acc_1\?m=msg_\d+$/);
    expect(form.get('Twiml')).toBeNull();
  });

  test('asks for a key, takes its branch and says goodbye', async () => {
    await call(MENU);
    const story = await answerCall(fake, placed(), { keys: ['1'], answeredBy: 'human' });
    expect(story.heard).toEqual([
      'Say Hello & welcome',
      'Say One or nine',
      'Gather 1',
      'Say You chose one',
      'Say Goodbye',
      'Hangup',
    ]);
    expect(story.documents[0]).toMatch(
      /<Gather input="dtmf" action="http[^"]+" method="POST" numDigits="1" finishOnKey="#" timeout="4">/,
    );
    expect(types().filter((type) => type !== 'sent')).toEqual([
      'ringing',
      'answered',
      'answered',
      'human',
      'digits',
      'completed',
    ]);
    expect(last()).toMatchObject({
      type: 'completed',
      data: {
        answeredBy: 'human',
        outcome: 'human',
        reason: 'finished',
        digits: '1',
        durationMs: 21_000,
        branch: [{ gather: 'menu', on: '1' }],
      },
    });
  });

  test('goes on without an input, and ends at an opt-out', async () => {
    await call(MENU);
    expect((await answerCall(fake, placed())).heard.slice(-2)).toEqual(['Say Goodbye', 'Hangup']);
    await call(MENU);
    const story = await answerCall(fake, placed(), { keys: ['9'] });
    expect(story.heard.slice(-2)).toEqual(['Gather 1', 'Hangup']);
    expect(
      vendor.receipts.find(({ type, data }) => type === 'digits' && data?.digits === '9')?.data,
    ).toMatchObject({
      optedOut: true,
    });
    expect(last()?.data).toMatchObject({ outcome: 'opted_out', optedOut: true });
  });

  test('takes a key and who answered also when both are told at the same moment', async () => {
    for (let i = 0; i < 10; i++) {
      await call(MENU);
      const of = { CallSid: placed().sid, AccountSid: fake.account.accountSid };
      const start = await fake.post(placed().form.get('Url') as string, { ...of, CallStatus: 'in-progress' });
      const next = /action="([^"]+)"/.exec(start.text)?.[1] as string;
      const told = [
        () => fake.post(next, { ...of, CallStatus: 'in-progress', Digits: '9' }),
        () =>
          fake.post(placed().form.get('AsyncAmdStatusCallback') as string, { ...of, AnsweredBy: 'human' }),
      ];
      // Either may be the one that is stored first.
      const answers = await Promise.all((i % 2 === 0 ? told : told.reverse()).map((tell) => tell()));
      const answer = answers.find(({ text }) => !text.endsWith('<Response/>'));
      expect(answer?.text).toMatch(/<Response><Hangup\/><\/Response>/);
      await endCall(fake, placed(), 'completed', { CallDuration: '3' });
      expect(last()?.data).toMatchObject({ outcome: 'opted_out', optedOut: true, answeredBy: 'human' });
    }
  });

  test('takes several keys, or fewer with the key that ends them', async () => {
    const xml =
      '<Response><Gather output="pin" numDigits="4" retries="1"><Say>Your number</Say></Gather><Gather id="b"><Say>More</Say></Gather></Response>';
    await call(xml);
    const story = await answerCall(fake, placed(), { keys: ['1234', '56'] });
    expect(story.heard).toEqual(['Say Your number', 'Gather 4', 'Say More', 'Gather', 'Hangup']);
    expect(vendor.receipts.filter(({ type }) => type === 'digits').map(({ data }) => data?.digits)).toEqual([
      '1234',
      '56',
    ]);
  });

  test('hangs up on a machine where that is wanted, once it is known', async () => {
    await call(MENU, { machine: 'hangup' });
    await answerCall(fake, placed(), { answeredBy: 'machine_start' });
    expect(placed().updates.map((update) => update.get('Status'))).toEqual(['completed']);
    expect(types()).toContain('machine');
    expect(last()).toMatchObject({
      type: 'completed',
      data: { answeredBy: 'machine_start', outcome: 'machine', reason: 'machine' },
    });
  });

  test('leaves a message from its beginning when the greeting is over, and counts only a whole one', async () => {
    await call(MENU, { machine: 'leave_message' });
    const story = await answerCall(fake, placed(), { answeredBy: 'machine_end_beep' });
    expect(placed().updates[0]?.get('Url')).toMatch(/\/again$/);
    expect(story.heard.filter((one) => one === 'Say Hello & welcome')).toHaveLength(2);
    expect(last()?.data).toMatchObject({ answeredBy: 'machine_end_beep', outcome: 'voicemail_left' });
    await call('<Response><Say>First</Say><Say>Second</Say></Response>', { machine: 'leave_message' });
    await answerCall(fake, placed(), { answeredBy: 'machine_end_beep', hangsUpAt: 'Second' });
    expect(last()?.data).not.toMatchObject({ outcome: 'voicemail_left' });
  });

  test('speaks on to a machine by default, and never to a fax', async () => {
    await call(MENU);
    await answerCall(fake, placed(), { answeredBy: 'machine_start' });
    expect(placed().updates).toEqual([]);
    expect(last()?.data).toMatchObject({ outcome: 'machine', reason: 'finished' });
    await call(MENU);
    await answerCall(fake, placed(), { answeredBy: 'fax' });
    expect(placed().updates.map((update) => update.get('Status'))).toEqual(['completed']);
  });

  test('goes on with other documents, records, plays, waits and connects', async () => {
    vendor.elsewhere['https://elsewhere.example/next?a=1'] =
      '<Response><Play>tone.wav</Play><Pause length="2"/><Record maxLength="30" action="/done"/></Response>';
    vendor.elsewhere['https://elsewhere.example/done'] =
      '<Response><Play digits="12w3"/><Dial callerId="+12125550100"><Number>+12025550199</Number></Dial><Say>Bye</Say></Response>';
    await call(
      '<Response><Say>One moment</Say><Redirect>https://elsewhere.example/next?a=1</Redirect></Response>',
    );
    const story = await answerCall(fake, placed());
    expect(story.heard).toEqual([
      'Say One moment',
      'Play https://elsewhere.example/tone.wav',
      'Pause 2',
      'Record',
      'Play 12w3',
      'Dial +12025550199',
      'Say Bye',
      'Hangup',
    ]);
    expect(vendor.fetched.map(({ url }) => url)).toEqual([
      'https://elsewhere.example/next?a=1',
      'https://elsewhere.example/done',
    ]);
    expect(vendor.fetched[1]?.fields).toMatchObject({ RecordingSid: 'RE1', RecordingDuration: '7' });
    expect(last()?.data).toMatchObject({
      recording: 'RE1',
      documents: ['https://elsewhere.example/next', 'https://elsewhere.example/done'],
    });
    await call('<Response><Redirect>https://elsewhere.example/missing</Redirect></Response>');
    await answerCall(fake, placed());
    expect(last()).toMatchObject({ type: 'failed', code: 'document_404' });
  });

  test.each([
    ['busy', {}, { type: 'busy' }],
    ['no-answer', {}, { type: 'no_answer', code: 'ring_timeout' }],
    ['failed', { SipResponseCode: '404' }, { type: 'failed', code: 'sip_404' }],
    ['failed', { SipResponseCode: '603' }, { type: 'rejected' }],
    ['canceled', {}, { type: 'canceled' }],
  ])('that is %s ends so', async (status, more, end) => {
    await call(MENU);
    await endCall(fake, placed(), status, more);
    expect(last()).toMatchObject(end);
  });

  test('the same request again is the same document, a wrong signature is refused, and after the end it is gone', async () => {
    await call(MENU);
    const url = placed().form.get('Url') as string;
    const fields = { CallSid: placed().sid, AccountSid: fake.account.accountSid, CallStatus: 'in-progress' };
    const first = await fake.post(url, fields);
    expect((await fake.post(url, fields)).text).toBe(first.text);
    expect((await fake.post(url, fields, { signature: 'none' })).text).toBe(first.text);
    const next = /action="([^"]+)"/.exec(first.text)?.[1] as string;
    const second = await fake.post(next, { ...fields, Digits: '1' });
    expect((await fake.post(next, { ...fields, Digits: '9' })).text).toBe(second.text);
    expect((await fake.post(next, fields, { token: 'another' })).status).toBe(403);
    expect((await fake.post(url.replace('/calls/', '/calls/_'), fields)).status).toBe(404);
    await endCall(fake, placed(), 'completed', { CallDuration: '3' });
    expect((await fake.post(url, fields)).status).toBe(200);
  });

  test('whose document cannot be run, or refuses the call, is never placed', async () => {
    expect(await call('<Nonsense/>')).toMatchObject({ kind: 'rejected', code: 'invalid_document' });
    expect(await call('<Response><Reject/></Response>')).toMatchObject({
      kind: 'rejected',
      code: 'rejected_by_flow',
    });
    expect(fake.calls).toEqual([]);
    fake.answerWith({ status: 400, body: { code: 13224, message: 'Invalid number', status: 400 } });
    expect(await call(MENU)).toMatchObject({ kind: 'rejected', code: '13224' });
  });
});
