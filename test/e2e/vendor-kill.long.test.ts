/** Proves that a process killed while its request to a vendor is under way sends nothing twice, and what ends the doubt. */

import { type FakeTwilio, startFakeTwilio } from '../support/fake-twilio';
import { answerCall } from '../support/fake-twilio-call';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const TIMEOUT_MS = 240_000;
/** The first look-up is after 30 s. */
const LOOK_MS = 60_000;

describe('a program that is killed while Twilio has its request', () => {
  let twilio: FakeTwilio;
  let here: Installation;
  beforeAll(async () => {
    twilio = await startFakeTwilio();
    const { accountSid, authToken } = twilio.account;
    here = await Installation.start({
      ...{ FANFARE_SMS_PROVIDER: 'twilio', FANFARE_VOICE_PROVIDER: 'twilio', FANFARE_TWILIO_URL: twilio.url },
      ...{ FANFARE_TWILIO_ACCOUNT_SID: accountSid, FANFARE_TWILIO_AUTH_TOKEN: authToken },
    });
  }, TIMEOUT_MS);
  afterAll(async () => {
    await here?.remove();
    await twilio?.close();
  });

  async function templates(): Promise<{ sms: string; voice: string }> {
    const create = async (content: object) =>
      (await here.api.expect<{ template: { id: string } }>('POST', '/api/template/', content)).template.id;
    const node = { id: '1', type: 'text', data: { isStart: true, isEndNode: true, text: 'Hello' } };
    return {
      sms: await create({ templateName: 'sms', channel: 'sms', body: 'Hello' }),
      voice: await create({
        ...{ templateName: 'call', channel: 'voice', body: '<Response><Say>Hello</Say></Response>' },
        voiceJson: { nodes: [node], edges: [], viewport: { x: 0, y: 0, zoom: 1 } },
      }),
    };
  }
  const stateOf = async (uid: string) =>
    (await here.api.expect<{ data: { state: string; attempt?: number } }>('GET', `/messages/${uid}`)).data
      .state;
  const states = async () =>
    Object.fromEntries(await Promise.all(UIDS.map(async (uid) => [uid, await stateOf(uid)])));
  const UIDS = ['sms-told', 'sms-found', 'call-told', 'call-found'];
  const numberOf = (uid: string) => `+1202555017${UIDS.indexOf(uid)}`;
  const taken = (uid: string) =>
    [...twilio.messages, ...twilio.calls].filter(({ form }) => form.get('To') === numberOf(uid));
  const only = <T>(list: readonly T[]): T => {
    expect(list).toHaveLength(1);
    return list[0] as T;
  };

  test(
    'an SMS and a call are in doubt, made certain by a callback or a look-up, and never sent again',
    async () => {
      const { sms, voice } = await templates();
      twilio.answerWith('held');
      for (const uid of UIDS) {
        const channel = uid.startsWith('sms') ? 'sms' : 'voice';
        await here.api.expect('POST', '/send-msg', {
          ...{ channel, uid, to: numberOf(uid), from: '+12025550100' },
          ...{ 'template-id': channel === 'sms' ? sms : voice, params: {} },
        });
      }
      await until('Twilio has every request', () => UIDS.every((uid) => taken(uid).length > 0), 30_000);

      await here.fanfare.killGroup();
      twilio.answerWith(undefined);
      await here.run();
      await until(
        'all are in doubt',
        async () => Object.values(await states()).every((state) => state === 'unknown'),
        60_000,
      );

      const message = only(taken('sms-told')) as FakeTwilio['messages'][number];
      expect(await twilio.tell(message, 'delivered')).toBe(200);
      const { heard } = await answerCall(twilio, only(taken('call-told')) as FakeTwilio['calls'][number]);
      expect(heard).toEqual(['Say Hello', 'Hangup']);
      await until('callbacks have ended two doubts', async () => {
        const now = await states();
        return now['sms-told'] === 'delivered' && now['call-told'] === 'delivered';
      });
      await until(
        'look-ups have ended the others',
        async () => {
          const now = await states();
          return now['sms-found'] === 'sent' && now['call-found'] === 'sent';
        },
        LOOK_MS,
      );
      const ids = await Promise.all(
        ['sms-found', 'call-found'].map(async (uid) => {
          const { data } = await here.api.expect<{ data: { providerId?: string } }>(
            'GET',
            `/messages/${uid}`,
          );
          return [data.providerId, only(taken(uid)).sid];
        }),
      );
      for (const [known, sid] of ids) if (known !== undefined) expect(known).toBe(sid);
      for (const uid of UIDS) expect(taken(uid)).toHaveLength(1);
    },
    TIMEOUT_MS,
  );
});
