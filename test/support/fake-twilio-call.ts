import type { FakeCall, FakeTwilio } from './fake-twilio';

/** A callee of the fake, and Twilio's part of the call: documents are fetched and carried out verb by verb. */
export interface FakeCallee {
  /** What is entered at each Gather, in order; nothing for one that is not named. */
  keys?: string[];
  /** Hangs up when a text has this in it. */
  hangsUpAt?: string;
  /** Told after so many documents. */
  answeredBy?: string;
  detectedAfter?: number;
  seconds?: number;
}

export interface FakeCallStory {
  /** Each verb as it was carried out, with what it said. */
  heard: string[];
  documents: string[];
}

/** From the answer to the end, with every callback that was asked for. */
export async function answerCall(
  fake: FakeTwilio,
  call: FakeCall,
  callee: FakeCallee = {},
): Promise<FakeCallStory> {
  const story: FakeCallStory = { heard: [], documents: [] };
  const keys = [...(callee.keys ?? [])];
  await tellCall(fake, call, 'ringing');
  await tellCall(fake, call, 'in-progress');
  let next: { url: string; fields: Record<string, string> } | undefined = {
    url: call.form.get('Url') as string,
    fields: {},
  };
  while (next) {
    if (story.documents.length === (callee.detectedAfter ?? 1) && callee.answeredBy) {
      const before = call.updates.length;
      await tellAmd(fake, call, callee.answeredBy);
      const update = call.updates[before];
      if (update?.get('Status') === 'completed') break;
      const elsewhere = update?.get('Url');
      if (elsewhere) next = { url: elsewhere, fields: {} };
    }
    const { url, fields } = next;
    const reply = await fake.post(url, { ...ofCall(fake, call), CallStatus: 'in-progress', ...fields });
    if (reply.status !== 200) throw new Error(`The document ${url} was answered with ${reply.status}`);
    story.documents.push(reply.text);
    if (story.documents.length > 60) throw new Error('The call does not end');
    next = carryOut(reply.text, story, keys, callee);
  }
  await endCall(fake, call, 'completed', { CallDuration: String(callee.seconds ?? 21) });
  return story;
}

export const tellCall = (
  fake: FakeTwilio,
  call: FakeCall,
  status: string,
  more: Record<string, string> = {},
) => {
  call.status = status;
  return fake.post(call.form.get('StatusCallback') as string, {
    ...ofCall(fake, call),
    ...{
      CallStatus: status,
      CallbackSource: 'call-progress-events',
      Timestamp: new Date().toUTCString(),
      ...more,
    },
  });
};

export const endCall = tellCall;

const tellAmd = (fake: FakeTwilio, call: FakeCall, answeredBy: string) =>
  fake.post(call.form.get('AsyncAmdStatusCallback') as string, {
    ...{ CallSid: call.sid, AccountSid: fake.account.accountSid, AnsweredBy: answeredBy },
    MachineDetectionDuration: '3120',
  });

const ofCall = (fake: FakeTwilio, call: FakeCall) => ({
  ...{
    CallSid: call.sid,
    AccountSid: fake.account.accountSid,
    ApiVersion: '2010-04-01',
    Direction: 'outbound-api',
  },
  ...{ To: call.form.get('To') ?? '', From: call.form.get('From') ?? '' },
});

interface Verb {
  name: string;
  attributes: Record<string, string>;
  inside: string;
}

/** Where the call goes on; `undefined` at its end. */
function carryOut(
  xml: string,
  story: FakeCallStory,
  keys: string[],
  callee: FakeCallee,
): { url: string; fields: Record<string, string> } | undefined {
  for (const verb of verbsIn(/<Response>(.*)<\/Response>/s.exec(xml)?.[1] ?? '')) {
    const { name, attributes, inside } = verb;
    if (name === 'Gather') {
      for (const prompt of verbsIn(inside)) {
        story.heard.push(`${prompt.name} ${plain(prompt.inside)}`.trim());
        if (callee.hangsUpAt && prompt.inside.includes(callee.hangsUpAt)) return undefined;
      }
      const wanted = attributes.numDigits ? ` ${attributes.numDigits}` : '';
      story.heard.push(`Gather${wanted}`);
      const entered = keys.shift();
      if (entered) return { url: plain(attributes.action as string), fields: { Digits: entered } };
      continue;
    }
    if (name === 'Redirect') return { url: plain(inside), fields: {} };
    if (name === 'Hangup') {
      story.heard.push('Hangup');
      return undefined;
    }
    if (name === 'Record') {
      story.heard.push('Record');
      const fields = {
        RecordingSid: 'RE1',
        RecordingUrl: 'https://api.twilio.com/RE1',
        RecordingDuration: '7',
      };
      return { url: plain(attributes.action as string), fields };
    }
    story.heard.push(`${name} ${plain(inside || (attributes.digits ?? attributes.length ?? ''))}`.trim());
    if (callee.hangsUpAt && inside.includes(callee.hangsUpAt)) return undefined;
    if (name === 'Dial')
      return { url: plain(attributes.action as string), fields: { DialCallStatus: 'completed' } };
  }
  return undefined;
}

/** Enough XML for what is written to the fake: no comments, and no element within one of its own name. */
function verbsIn(xml: string): Verb[] {
  const verbs: Verb[] = [];
  for (const [, name = '', own = '', inside = ''] of xml.matchAll(
    /<(\w+)((?:\s[\w-]+="[^"]*")*)(?:\/>|>(.*?)<\/\1>)/gs,
  )) {
    const attributes = Object.fromEntries(
      [...own.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
    );
    verbs.push({ name, attributes, inside });
  }
  return verbs;
}

const plain = (text: string): string =>
  text
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
