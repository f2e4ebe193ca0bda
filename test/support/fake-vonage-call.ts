import type { FakeJsonCall, FakeJsonCarrier } from './fake-json-carrier';

/** A callee of the fake, and Vonage's part of the call: documents are fetched and carried out action by action. */
export interface VonageCallee {
  /** What is entered at each input, in order; nothing for one that is not named. */
  keys?: string[];
  /** Told after so many documents. */
  events?: { after: number; event: Record<string, unknown> }[];
  seconds?: number;
}

type Action = Record<string, unknown> & { action: string };

/** From the answer to the end. Answers each action as it was carried out, with what it said, and the documents. */
export async function answerVonageCall(
  fake: FakeJsonCarrier,
  call: FakeJsonCall,
  callee: VonageCallee = {},
): Promise<{ heard: string[]; documents: Action[][] }> {
  const story = { heard: [] as string[], documents: [] as Action[][] };
  const keys = [...(callee.keys ?? [])];
  await tellVonageCall(fake, call, 'ringing');
  await tellVonageCall(fake, call, 'answered');
  const own = { uuid: call.uuid, conversation_uuid: 'CON-1' };
  const read = async (url: string, body: Record<string, unknown>): Promise<Action[]> => {
    const { status, text } = await fake.ask(url, { ...own, ...body });
    if (status !== 200) throw new Error(`The document ${url} was answered with ${status}`);
    const document = JSON.parse(text) as Action[];
    story.documents.push(document);
    if (story.documents.length > 60) throw new Error('The call does not end');
    return document;
  };
  /** Where the call was told to go meanwhile. */
  const update = (before: number) =>
    call.updates[before] as { action?: string; destination?: { url: string[] } };
  let document = await read(call.body.answer_url[0] as string, {});
  while (document.length > 0) {
    const due = callee.events?.find(({ after }) => after === story.documents.length);
    if (due) {
      callee.events?.splice(callee.events.indexOf(due), 1);
      const before = call.updates.length;
      await tellVonageCall(fake, call, '', { ...due.event, call_uuid: call.uuid, uuid: undefined });
      if (update(before)?.action === 'hangup') break;
      const elsewhere = update(before)?.destination?.url[0];
      if (elsewhere) {
        document = await fetchDocument(elsewhere, story);
        continue;
      }
    }
    document = await carryOut(document);
  }
  await tellVonageCall(fake, call, 'completed', { duration: String(callee.seconds ?? 21), price: '0.02' });
  return story;

  async function carryOut(actions: Action[]): Promise<Action[]> {
    for (const [i, one] of actions.entries()) {
      const [url = ''] = (one.eventUrl ?? []) as string[];
      story.heard.push(heardOf(one));
      if (one.action === 'input') {
        const digits = keys.shift() ?? '';
        return read(url, { dtmf: { digits, timed_out: digits === '' } });
      }
      if (one.action === 'notify') return read(url, { payload: one.payload });
      if (one.action === 'record') {
        const before = call.updates.length;
        const times = { start_time: '2026-11-22T10:00:00Z', end_time: '2026-11-22T10:00:07Z' };
        await fake.ask(url, {
          ...own,
          recording_uuid: 'rec-1',
          recording_url: 'https://x.example/r',
          ...times,
        });
        const elsewhere = update(before)?.destination?.url[0];
        if (!elsewhere) throw new Error(`The call waits behind ${JSON.stringify(actions[i + 1])}`);
        return fetchDocument(elsewhere, story);
      }
    }
    return [];
  }
}

/** A transfer is fetched by GET. */
async function fetchDocument(url: string, story: { documents: Action[][] }): Promise<Action[]> {
  const document = (await (await fetch(url)).json()) as Action[];
  story.documents.push(document);
  return document;
}

function heardOf({ action, text, streamUrl, timeout, endpoint, dtmf }: Action): string {
  const [stream] = (streamUrl ?? []) as string[];
  const [party] = (endpoint ?? []) as { number: string }[];
  const digits = (dtmf as { maxDigits?: number } | undefined)?.maxDigits;
  const what = text ?? stream ?? party?.number ?? digits ?? (action === 'wait' ? timeout : undefined);
  return [action, what].filter((part) => part !== undefined).join(' ');
}

export const tellVonageCall = (
  fake: FakeJsonCarrier,
  call: FakeJsonCall,
  status: string,
  more: Record<string, unknown> = {},
) => {
  call.status = status || call.status;
  return fake.post(call.body.event_url[0] as string, {
    ...{ uuid: call.uuid, conversation_uuid: 'CON-1', status, direction: 'outbound' },
    timestamp: new Date().toISOString(),
    ...more,
  });
};
