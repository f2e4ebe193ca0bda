import { LIMITS } from '../../../src/domain/limits';
import type { CallCommand } from '../../../src/domain/voice/call-control';
import { lintOtherDocuments } from '../../../src/domain/voice/call-documents';
import { callData } from '../../../src/domain/voice/call-record';
import { runCall } from '../../../src/domain/voice/call-runner';
import { runnableProgram } from '../../../src/domain/voice/parse-voice-xml';
import type { VoiceProgram } from '../../../src/domain/voice/program';
import { type Doing, ScriptedCallee } from './callee';

const programOf = (inner: string) => runnableProgram(`<Response>${inner}</Response>`) as VoiceProgram;

type Documents = Record<string, string | Doing>;

/** A person who presses these keys, in calls that go on with these documents. */
function follow(inner: string, documents: Documents, keys: string[] = [], doing: Doing = {}) {
  const left = [...keys];
  const callee = new ScriptedCallee((command) => {
    switch (command.do) {
      case 'dial':
        return { dialed: 'answered', takesMs: 4_000 };
      case 'listen':
        return { detection: { answeredBy: 'human' }, takesMs: 1_500 };
      case 'wait_key':
        return { key: left.shift() };
      case 'fetch_document': {
        const found = documents[command.url];
        const document = { url: command.url, text: `<Response>${found}</Response>` };
        return typeof found === 'string' ? { document, takesMs: 200, ...doing } : found;
      }
      default:
        return undefined;
    }
  });
  const record = runCall(programOf(inner), {}, callee);
  const asked = callee.heard.flatMap((command) => (command.do === 'fetch_document' ? [command] : []));
  return { record, callee, asked, said: callee.said };
}

const NEXT = 'https://example.com/flow/next';

describe('Redirect', () => {
  test('goes on with the other document, and nothing of the first is run any more', () => {
    const { said, record, asked } = follow(
      `<Say>One.</Say><Redirect>${NEXT}?for=a</Redirect><Say>Never.</Say>`,
      { [`${NEXT}?for=a`]: '<Say>Two.</Say>' },
    );
    expect(said).toEqual(['One.', 'Two.']);
    expect(record).toMatchObject({ end: 'completed', reason: 'finished', documents: [NEXT] });
    expect(callData(record)).toMatchObject({ documents: [NEXT] });
    expect(asked).toEqual([
      {
        do: 'fetch_document',
        url: `${NEXT}?for=a`,
        method: 'POST',
        fields: { CallStatus: 'in-progress', AnsweredBy: 'human' },
        maxMs: LIMITS.callDocumentMs,
      },
    ]);
  });

  test('asks by the method that is given', () => {
    const { asked } = follow(`<Redirect method="GET">${NEXT}</Redirect>`, { [NEXT]: '<Hangup/>' });
    expect(asked[0]?.method).toBe('GET');
  });

  test('counts a relative address, also of a recording, from the document that it stands in', () => {
    const { asked, callee } = follow(`<Redirect>${NEXT}</Redirect>`, {
      [NEXT]: '<Play>sounds/a.wav</Play><Redirect>../other?x=1</Redirect>',
      'https://example.com/other?x=1': '<Play>/b.wav</Play><Say>Here.</Say>',
    });
    expect(asked.map(({ url }) => url)).toEqual([NEXT, 'https://example.com/other?x=1']);
    expect(callee.heard.flatMap((command) => (command.do === 'play' ? [command.url] : []))).toEqual([
      'https://example.com/flow/sounds/a.wav',
      'https://example.com/b.wav',
    ]);
    expect(callee.said).toEqual(['Here.']);
  });

  test('to a relative address ends the call where there is no document to count from', () => {
    const { record, asked } = follow('<Redirect>/next</Redirect>', {});
    expect(asked).toEqual([]);
    expect(record).toMatchObject({ end: 'failed', reason: 'problem', code: 'document_address' });
  });

  test('counts from where the document came from in the end', () => {
    const { asked } = follow(`<Redirect>${NEXT}</Redirect>`, {
      [NEXT]: {
        document: { url: 'https://b.example/x/', text: '<Response><Redirect>y</Redirect></Response>' },
      },
      'https://b.example/x/y': '<Hangup/>',
    });
    expect(asked[1]?.url).toBe('https://b.example/x/y');
  });

  test.each<[string, Doing | string, string]>([
    ['that is not there', { problem: 'document_404' }, 'document_404'],
    ['that does not come in its time', {}, 'document_timeout'],
    ['with an error', '<Pause length="many"/>', 'invalid_document'],
    ['that is none', '</Response>', 'invalid_document'],
  ])('to a document %s ends the call as failed, with the code', (_, found, code) => {
    const { record, said } = follow(`<Say>a</Say><Redirect>${NEXT}</Redirect><Say>b</Say>`, {
      [NEXT]: found,
    });
    expect(record).toMatchObject({ end: 'failed', reason: 'problem', code, documents: [NEXT] });
    expect(said).toEqual(['a']);
  });

  test('ends with the longest time of the whole call', () => {
    const circle = `<Pause length="60"/><Redirect>${NEXT}</Redirect>`;
    const { record } = follow(circle, { [NEXT]: circle }, [], { takesMs: 60_000 });
    expect(record).toMatchObject({ end: 'completed', reason: 'too_long' });
    expect(record.endedAtMs - (record.answeredAtMs ?? 0)).toBeLessThan(700_000);
  });

  test('of two documents to each other ends after so many documents', () => {
    const other = 'https://example.com/flow/other';
    const { record, asked } = follow(
      `<Redirect>${NEXT}</Redirect>`,
      { [NEXT]: '<Redirect>other</Redirect>', [other]: `<Redirect>${NEXT}</Redirect>` },
      [],
      { takesMs: 0 },
    );
    expect(record).toMatchObject({ end: 'completed', reason: 'too_many_documents' });
    expect(asked).toHaveLength(LIMITS.callDocuments);
    expect(JSON.stringify(callData(record)).length).toBeLessThan(LIMITS.receiptDataChars);
  });

  test('is not followed for a callee who hangs up meanwhile', () => {
    const { record, said } = follow(`<Redirect>${NEXT}</Redirect>`, { [NEXT]: '<Say>Two.</Say>' }, [], {
      hungUp: true,
    });
    expect(record).toMatchObject({ end: 'completed', reason: 'callee_hung_up' });
    expect(said).toEqual([]);
  });

  test('to a document that refuses the call hangs up, because the call was answered', () => {
    const { record } = follow(`<Redirect>${NEXT}</Redirect>`, { [NEXT]: '<Reject/>' });
    expect(record).toMatchObject({ end: 'completed', reason: 'finished' });
  });
});

describe('a gather with an action', () => {
  const ask = (attributes = '', more = '') =>
    `<Gather numDigits="1" output="m" action="${NEXT}" ${attributes}><Say>Which?</Say></Gather>
    <If expression="\${m.digits}=='1'"><Say>Branch.</Say></If>
    <If expression="\${m.digits}==''"><Say>Nothing.</Say></If>${more}<Say>After.</Say>`;
  const documents = { [NEXT]: '<Say>There.</Say>' };

  test('sends the input there, and continues there', () => {
    const { said, asked, callee } = follow(ask(), documents, ['1']);
    expect(said).toEqual(['Which?', 'There.']);
    expect(asked[0]).toMatchObject({ fields: { Digits: '1' }, method: 'POST' });
    expect(callee.reports.at(-1)).toEqual({ type: 'digits', data: { gather: 'm', digits: '1' } });
  });

  test('goes on behind it after silence, or there if that is wanted, when it has asked often enough', () => {
    expect(follow(ask(), documents).said).toEqual(['Which?', 'Nothing.', 'After.']);
    const wanted = follow(ask('actionOnEmptyResult="true" retries="1"'), documents);
    expect(wanted.said).toEqual(['Which?', 'Which?', 'There.']);
    expect(wanted.asked[0]?.fields).toMatchObject({ Digits: '' });
  });

  test('is not asked there about an opt-out key', () => {
    const { said, asked, record } = follow(ask('optOutDigits="9"'), documents, ['9']);
    expect(said).toEqual(['Which?']);
    expect(asked).toEqual([]);
    expect(record).toMatchObject({ reason: 'opted_out', outcome: 'opted_out' });
  });

  test('of a later document names the document that asked, and its opt-out key counts', () => {
    const { callee, record } = follow(
      `<Redirect>${NEXT}</Redirect>`,
      { [NEXT]: '<Gather numDigits="1" output="n" optOutDigits="5"><Say>Stop?</Say></Gather>' },
      ['5'],
    );
    expect(callee.reports.at(-1)?.data).toEqual({ gather: 'n', digits: '5', optedOut: true, document: 1 });
    expect(callData(record)).toMatchObject({ optedOut: true, documents: [NEXT] });
  });

  test('after an opt-out is no failure when the farewell does not come', () => {
    const branch = `<If expression="\${m.digits}=='9'"><Redirect>${NEXT}</Redirect></If>`;
    const menu = `<Gather numDigits="1" output="m" optOutDigits="9"/>${branch}`;
    const { record } = follow(menu, { [NEXT]: { problem: 'document_500' } }, ['9']);
    expect(record).toMatchObject({ end: 'completed', reason: 'opted_out', outcome: 'opted_out' });
    const said = follow(menu, { [NEXT]: '<Say>Farewell.</Say><Gather/><Say>Never.</Say>' }, ['9']).said;
    expect(said).toEqual(['Farewell.']);
  });
});

test('a recording with an action continues there, and sends its reference', () => {
  const callee = new ScriptedCallee((command: CallCommand): Doing | undefined => {
    if (command.do === 'dial') return { dialed: 'answered' };
    if (command.do === 'listen') return { detection: { answeredBy: 'human' } };
    if (command.do === 'record') return { recording: { reference: 'rec_1', durationMs: 4_400 } };
    if (command.do !== 'fetch_document') return undefined;
    return { document: { url: command.url, text: '<Response><Say>Thanks.</Say></Response>' } };
  });
  runCall(programOf(`<Record action="${NEXT}"/><Say>Never.</Say>`), {}, callee);
  expect(callee.said).toEqual(['Thanks.']);
  expect(callee.heard).toContainEqual(
    expect.objectContaining({
      fields: {
        CallStatus: 'in-progress',
        AnsweredBy: 'human',
        RecordingSid: 'rec_1',
        RecordingDuration: '4',
      },
    }),
  );
});

test('a preview lists every document that a call may continue with', () => {
  const program = programOf(
    `<Gather action="/a"/><Record action="${NEXT}"/><Gather action="/a"/><Redirect>${NEXT}/b</Redirect>`,
  );
  expect(lintOtherDocuments(program).map(({ code, message }) => [code, message])).toEqual([
    ['other_document', 'The call goes on with /a, which is read in the call only'],
    ['other_document', `The call goes on with ${NEXT}, which is read in the call only`],
    ['other_document', `The call goes on with ${NEXT}/b, which is read in the call only`],
  ]);
});
