import { randomUUID } from 'node:crypto';
import type { FakeTelnyx, FakeTelnyxCall } from './fake-json-carrier';

/** A callee of the fake, and Telnyx's part of the call: commands are carried out one by one, and their ends are reported. */
export interface TelnyxCallee {
  /** What is entered each time that keys are asked for, in order; nothing for one that is not named. */
  keys?: string[];
  /** Reported while the command of this number, from 1, is carried out. */
  events?: { during: number; type: string; result: string }[];
  /** Pressed while it is recorded. */
  pressed?: string;
  /** Every event comes twice. */
  doubled?: boolean;
  /** Hangs up during the command of this number. */
  hangsUpDuring?: number;
}

/** From the answer to the end. Answers each command as it was carried out. */
export async function answerTelnyxCall(
  fake: FakeTelnyx,
  call: FakeTelnyxCall,
  callee: TelnyxCallee = {},
): Promise<string[]> {
  const heard: string[] = [];
  const keys = [...(callee.keys ?? [])];
  const tell = async (type: string, more: Record<string, unknown> = {}) => {
    await tellTelnyxCall(fake, call, type, more);
    if (callee.doubled) await tellTelnyxCall(fake, call, type, more);
  };
  await tell('call.initiated');
  await tell('call.answered');
  for (let at = 0; at < call.commands.length; at++) {
    if (at > 100) throw new Error('The call does not end');
    const { action, body } = call.commands[at] as FakeTelnyxCall['commands'][number];
    heard.push(heardOf(action, body));
    if (action === 'hangup' || callee.hangsUpDuring === heard.length) break;
    const before = call.commands.length;
    for (const { type, result } of callee.events?.filter(({ during }) => during === heard.length) ?? [])
      await tell(type, { result });
    // What was interrupted ends by the command that stopped it.
    if (call.commands.length > before) continue;
    const state = { client_state: body.client_state };
    if (action === 'speak' || action === 'playback_stop') {
      await tell('call.speak.ended', { ...state, status: 'completed' });
    } else if (action === 'playback_start') {
      await tell('call.playback.ended', { ...state, status: 'completed' });
    } else if (action === 'gather_stop') {
      await tell('call.gather.ended', { ...state, digits: '', status: 'cancelled' });
    } else if (action.startsWith('gather')) {
      const digits = isSilence(body) ? '' : (keys.shift() ?? '');
      await tell('call.gather.ended', { ...state, digits, status: digits === '' ? 'timeout' : 'valid' });
    } else if (action === 'record_start' && callee.pressed) {
      await tell('call.dtmf.received', { ...state, digit: callee.pressed });
    } else if (action === 'record_start' || (action === 'record_stop' && callee.pressed)) {
      await tell('call.recording.saved', { ...state, ...SAVED, call_control_id: undefined });
    } else if (action === 'transfer') {
      const other = { call_control_id: 'v3:other', client_state: body.target_leg_client_state };
      await tell('call.answered', other);
      await tell('call.hangup', { ...other, hangup_cause: 'normal_clearing' });
    }
  }
  call.isAlive = false;
  await tell('call.hangup', { hangup_cause: 'normal_clearing', hangup_source: 'callee' });
  return heard;
}

const SAVED = {
  recording_started_at: '2026-11-22T10:00:00Z',
  recording_ended_at: '2026-11-22T10:00:07Z',
  recording_urls: { mp3: 'https://s3.example/recordings/rec-1.mp3?X-Amz-Signature=secret' },
};

/** Keys are waited for that cannot all be entered. */
const isSilence = ({ minimum_digits: least }: Record<string, unknown>) => least === 128;

function heardOf(action: string, body: Record<string, unknown>): string {
  const what = isSilence(body)
    ? `silence ${body.timeout_millis}`
    : [body.payload, body.audio_url, body.digits, body.to].find((one) => one !== undefined);
  return what === undefined ? action : `${action} ${what}`;
}

export async function tellTelnyxCall(
  fake: FakeTelnyx,
  call: FakeTelnyxCall,
  type: string,
  payload: Record<string, unknown> = {},
  { url = call.body.webhook_url }: { url?: string } = {},
): Promise<number> {
  return fake.post(url, {
    data: {
      ...{ event_type: type, id: randomUUID(), occurred_at: new Date().toISOString(), record_type: 'event' },
      payload: { call_control_id: call.id, call_leg_id: 'leg', ...payload },
    },
  });
}
