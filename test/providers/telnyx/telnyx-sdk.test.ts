/**
 * Proves that our requests to Telnyx are what its own SDK sends for the same wishes. The wishes are written in the SDK's types, so
 * that the compiler refuses a member or a value that Telnyx does not have.
 */

import Telnyx from 'telnyx';
import type { Instruction } from '../../../src/domain/voice/call-script';
import type { HandOver } from '../../../src/providers/provider';
import { TELNYX } from '../../../src/providers/telnyx/telnyx';
import { writeState } from '../../../src/providers/telnyx/telnyx-commands';
import type { VendorAccount } from '../../../src/providers/vendor/vendor';
import { type FakeTelnyx, startFakeTelnyx, TO } from '../../support/fake-json-carrier';

type Actions = Telnyx['calls']['actions'];

const FROM = '+12125550100';
const CALLBACK = 'https://fanfare.example/inbound/telnyx/acc_1?m=msg_1';

describe('requests to Telnyx', () => {
  let fake: FakeTelnyx;
  let account: VendorAccount;
  let sdk: Telnyx;

  beforeEach(async () => {
    fake = await startFakeTelnyx();
    const { settings, secrets, url } = fake;
    account = { id: 'acc_1', settings, secrets };
    sdk = new Telnyx({ apiKey: secrets.apiKey as string, baseURL: url, maxRetries: 0 });
  });
  afterEach(() => fake.close());

  const open = (channel: 'sms' | 'voice', more: Record<string, string> = {}) =>
    TELNYX.open({
      ...{ channel, account: { ...account, settings: { ...account.settings, ...more } } },
      addresses: { callback: () => CALLBACK, document: (path) => `https://fanfare.example/calls/${path}` },
      calls: { begin: async () => ({ path: 'token/start' }), drop: async () => undefined },
    });
  const message = (more: Partial<HandOver>): HandOver => ({
    ...{ id: 'msg_1', uid: 'u1', channel: 'sms', to: TO.accepted, from: FROM, attempt: 1, ...more },
  });
  /** What the fake was asked since the last time, as it stood on the wire. */
  const asked = () =>
    fake.requests
      .splice(0)
      .map(({ method, path, text, headers }) => [
        ...[method, decodeURIComponent(path), text && JSON.parse(text)],
        headers.authorization,
      ]);

  test.each([
    ['Hello', 'gsm7', {}],
    ['Привет', 'ucs2', { messagingProfileId: '4001-profile' }],
  ] as const)('a message (%s) is what the SDK makes of it', async (text, encoding, settings) => {
    const provider = open('sms', settings);
    await provider.handOver([message({ text })]);
    await provider.close();
    const ours = asked();
    const { webhook_url } = (ours[0]?.[2] ?? {}) as { webhook_url: string };
    expect(webhook_url.startsWith(CALLBACK)).toBe(true);
    const sent = await sdk.messages.send({
      ...{
        to: TO.accepted,
        from: FROM,
        text,
        type: 'SMS',
        encoding,
        webhook_url,
        use_profile_webhooks: false,
      },
      ...('messagingProfileId' in settings ? { messaging_profile_id: settings.messagingProfileId } : {}),
    });
    expect(sent.data?.id).toBe(fake.messages[1]?.id);
    expect(ours).toEqual(asked());
  });

  test('a call and its withdrawal are what the SDK makes of them', async () => {
    for (const [machine, answering_machine_detection] of [
      ['leave_message', 'greeting_end'],
      ['hangup', 'detect'],
    ] as const) {
      const provider = open('voice');
      const voice = { machine, ringTimeoutSeconds: 20, maxSeconds: 300 };
      const [result] = await provider.handOver([message({ channel: 'voice', xml: '<Response/>', voice })]);
      const id = (result as { providerId: string }).providerId;
      await provider.withdraw?.(id);
      await provider.close();
      const ours = asked();
      const { webhook_url, command_id } = (ours[0]?.[2] ?? {}) as { webhook_url: string; command_id: string };
      await sdk.calls.dial({
        ...{ connection_id: account.settings.connectionId as string, to: TO.accepted, from: FROM },
        ...{ webhook_url, webhook_url_method: 'POST', command_id, answering_machine_detection },
        ...{ timeout_secs: 20, time_limit_secs: 300 },
      });
      await sdk.calls.retrieveStatus(id);
      await sdk.calls.actions.hangup(id, {});
      expect(ours).toEqual(asked());
    }
  });

  const speak = { do: 'speak', text: 'Hello', voice: 'Polly.Joanna', language: 'de' } as Instruction;
  const play = { do: 'play', url: 'https://fanfare.example/a.mp3' } as Instruction;
  const keys = { do: 'gather', numDigits: 1, finishOnKey: '#', timeoutMs: 4_000 } as const;
  const dial = {
    do: 'connect',
    element: {
      ...{ kind: 'element', name: 'Dial', attributes: [['callerId', FROM]] },
      children: [{ name: 'Number', attributes: [], children: [TO.accepted] }],
    },
  } as unknown as Instruction;
  const common = { minimum_digits: 1, maximum_digits: 1, terminating_digit: '#' };
  const times = { inter_digit_timeout_millis: 4_000, timeout_millis: 4_000, maximum_tries: 1 };
  const joanna = { voice: 'AWS.Polly.Joanna', language: 'de-DE', payload_type: 'text' } as const;

  /** Each instruction, and what the SDK is asked for in its place; `of`: the members that differ by call. */
  const COMMANDS: [string, Instruction, (actions: Actions, id: string, of: Of[]) => Promise<unknown>[]][] = [
    ['a text', speak, (on, id, [of]) => [on.speak(id, { payload: 'Hello', ...joanna, ...of })]],
    [
      'a recording that is played',
      play,
      (on, id, [of]) => [on.startPlayback(id, { audio_url: 'https://fanfare.example/a.mp3', ...of })],
    ],
    [
      'keys after a text',
      { ...keys, prompts: [speak] },
      (on, id, [of]) => [
        on.gatherUsingSpeak(id, { payload: 'Hello', ...joanna, ...common, ...times, ...of }),
      ],
    ],
    [
      'keys after a recording',
      { ...keys, prompts: [play] },
      (on, id, [of]) => [
        on.gatherUsingAudio(id, { audio_url: 'https://fanfare.example/a.mp3', ...common, ...times, ...of }),
      ],
    ],
    [
      'tones',
      { do: 'send', tones: '1w2' } as Instruction,
      (on, id, [of, then]) => [
        on.sendDtmf(id, { digits: '1w2', ...of }),
        on.gather(id, silence(1_500, then)),
      ],
    ],
    [
      'a pause',
      { do: 'pause', maxMs: 3_000 } as Instruction,
      (on, id, [of]) => [on.gather(id, silence(3_000, of))],
    ],
    [
      'a recording',
      { do: 'record', silenceMs: 5_000, finishOnKey: '#', beep: true, maxMs: 60_000 } as Instruction,
      (on, id, [of]) => [
        on.startRecording(id, {
          ...{ format: 'mp3', channels: 'single', play_beep: true, max_length: 60, timeout_secs: 5, ...of },
        }),
      ],
    ],
    [
      'a connection',
      dial,
      (on, id, [of]) => [
        on.transfer(id, {
          ...{ to: TO.accepted, from: FROM, timeout_secs: 30, park_after_unbridge: 'self', ...of },
        }),
      ],
    ],
    ['the end', { do: 'hang_up' }, (on, id, [of]) => [on.hangup(id, { ...of })]],
  ];
  interface Of {
    client_state: string;
    command_id: string;
    webhook_url?: string;
    target_leg_client_state?: string;
  }
  const silence = (ms: number, of: Of | undefined) => ({
    ...{ minimum_digits: 128, maximum_digits: 128, terminating_digit: '', timeout_millis: ms },
    ...{ initial_timeout_millis: ms, inter_digit_timeout_millis: ms, ...of },
  });

  test.each(COMMANDS)('the command for %s is what the SDK makes of it', async (_, instruction, bySdk) => {
    const { data } = await sdk.calls.dial({ connection_id: '1', to: TO.accepted, from: FROM });
    const id = data?.call_control_id as string;
    asked();
    const call = { providerId: id, messageId: 'msg_1', callback: CALLBACK };
    const place = { step: '0.1', index: 0 };
    for (const commands of TELNYX.commands?.write([instruction]) ?? []) {
      expect(await TELNYX.commands?.carryOut(account, call, commands, place)).toBe('done');
    }
    const ours = asked();
    expect(ours.length).toBeGreaterThan(0);
    const of = ours.map(([, , body]) => {
      const { client_state, command_id, webhook_url, target_leg_client_state } = body as Of;
      expect(client_state).toBe(writeState({ ...place, callId: id, isOther: false }));
      return {
        ...{ client_state, command_id },
        ...(webhook_url ? { webhook_url, target_leg_client_state } : {}),
      } as Of;
    });
    // One after the other, as ours are.
    for (const request of bySdk(sdk.calls.actions, id, of)) await request;
    expect(ours).toEqual(asked());
  });

  test('what stops a call for another document is what the SDK makes of it, and so is a check of the account', async () => {
    const { data } = await sdk.calls.dial({ connection_id: '1', to: TO.accepted, from: FROM });
    const id = data?.call_control_id as string;
    asked();
    await TELNYX.commands?.interrupt(account, id);
    await TELNYX.check(account);
    const ours = asked();
    const client_state = Buffer.from('[]').toString('base64');
    const [gather, playback, recording] = ours.map(([, , body]) => body as { command_id: string });
    await sdk.calls.actions.stopGather(id, { client_state, command_id: gather?.command_id ?? '' });
    const command_id = playback?.command_id ?? '';
    await sdk.calls.actions.stopPlayback(id, { client_state, command_id, stop: 'all' });
    await sdk.calls.actions.stopRecording(id, { client_state, command_id: recording?.command_id ?? '' });
    await sdk.messagingProfiles.list({ 'page[size]': 1 });
    expect(ours).toEqual(asked());
  });

  test('what the stand-in signs, the SDK believes, and nothing that was altered', async () => {
    const seen: { headers: Record<string, string>; body: string }[] = [];
    const real = globalThis.fetch;
    globalThis.fetch = (async (_: string, init: { headers: Record<string, string>; body: string }) => {
      seen.push(init);
      return new Response('');
    }) as unknown as typeof fetch;
    await fake.post('http://127.0.0.1/', { data: { event_type: 'message.finalized', id: '1', payload: {} } });
    globalThis.fetch = real;
    const [{ headers, body }] = seen as [(typeof seen)[number]];
    const known = new Telnyx({ apiKey: 'key', publicKey: fake.settings.publicKey as string });
    await expect(known.webhooks.unwrap(body, { headers })).resolves.toMatchObject({ data: { id: '1' } });
    await expect(known.webhooks.unwrap(body.replace('"1"', '"2"'), { headers })).rejects.toThrow();
  });
});
