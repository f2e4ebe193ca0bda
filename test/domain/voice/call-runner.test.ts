/** Proves what a call does, step by step, from dialling to its record. */

import { LIMITS } from '../../../src/domain/limits';
import type { AnsweredBy } from '../../../src/domain/voice/answer-detection/detection';
import type { CallOptions } from '../../../src/domain/voice/call-options';
import { callData } from '../../../src/domain/voice/call-record';
import { runCall } from '../../../src/domain/voice/call-runner';
import { parseVoiceXml } from '../../../src/domain/voice/parse-voice-xml';
import type { VoiceProgram } from '../../../src/domain/voice/program';
import { type Doing, person, ScriptedCallee } from './callee';

function programOf(inner: string): VoiceProgram {
  const { program, findings } = parseVoiceXml(`<Response>${inner}</Response>`);
  if (!program || findings.some(({ severity }) => severity === 'error'))
    throw new Error(JSON.stringify(findings));
  return program;
}
const run = (inner: string, callee: ScriptedCallee, options: CallOptions = {}) =>
  runCall(programOf(inner), options, callee);

const MENU = `<Gather numDigits="1" output="menu" optOutDigits="9" retries="2"><Say>Choose.</Say></Gather>
  <If expression="\${menu.digits}=='1'"><Say>One.</Say></If>
  <If expression="\${menu.digits}==''"><Say>Nothing.</Say></If>
  <If expression="\${menu.digits}!~'^[1]?$'"><Say>Wrong.</Say></If>
  <Say>After.</Say>`;

describe('dialling', () => {
  test.each([
    ['busy', 'busy', 'busy'],
    ['no_answer', 'no_answer', 'no_answer'],
    ['rejected', 'rejected', 'declined'],
    ['failed', 'failed', 'not_connected'],
  ] as const)('a line that is %s ends as %s, and nothing is said', (dialed, end, reason) => {
    const callee = new ScriptedCallee(() => ({ dialed }));
    expect(run(MENU, callee)).toMatchObject({ end, reason });
    expect(callee.heard).toHaveLength(1);
  });

  test('rings for half a minute, or as long as is asked for', () => {
    const rings = (options: CallOptions) => {
      const callee = new ScriptedCallee(() => ({ dialed: 'no_answer' }));
      run(MENU, callee, options);
      return callee.heard[0];
    };
    expect(rings({})).toEqual({ do: 'dial', maxMs: 30_000 });
    expect(rings({ ringTimeoutSeconds: 12 })).toEqual({ do: 'dial', maxMs: 12_000 });
  });

  test('is left out when the document does not want the call', () => {
    const callee = new ScriptedCallee(() => undefined);
    expect(run('<Reject/>', callee)).toMatchObject({ end: 'rejected', reason: 'rejected_by_flow' });
    expect(callee.heard).toEqual([]);
  });
});

describe('a menu', () => {
  test.each<[string, (string | undefined)[], string[], string | undefined]>([
    ['takes the branch of the key', ['1'], ['Choose.', 'One.', 'After.'], '1'],
    ['asks again after a wrong key', ['4', '1'], ['Choose.', 'Choose.', 'One.', 'After.'], '1'],
    [
      'takes the branch for wrong keys at last',
      ['4', '5', '6'],
      ['Choose.', 'Choose.', 'Choose.', 'Wrong.', 'After.'],
      'nomatch',
    ],
    [
      'takes the branch for silence at last',
      [],
      ['Choose.', 'Choose.', 'Choose.', 'Nothing.', 'After.'],
      'timeout',
    ],
    ['hangs up after the opt-out key', ['9'], ['Choose.'], undefined],
  ])('%s', (_, keys, said, branch) => {
    const callee = person(...keys);
    const record = run(MENU, callee);
    expect(callee.said).toEqual(said);
    expect(record.entered.at(-1)?.branch).toBe(branch);
    expect(callee.heard.at(-1)).toEqual({ do: 'hang_up' });
  });

  test('reports an opt-out with the digits and at the end, and speaks its branch', () => {
    const callee = person('9');
    const branch = `<Gather numDigits="1" output="m" optOutDigits="9"/>
      <If expression="\${m.digits}=='9'"><Say>You will not be called.</Say><Gather numDigits="1"/></If><Say>After.</Say>`;
    const record = run(branch, callee);
    expect(callee.said).toEqual(['You will not be called.']);
    expect(callee.reports.at(-1)).toEqual({
      type: 'digits',
      data: { gather: 'm', digits: '9', branch: '9', optedOut: true },
    });
    expect(record).toMatchObject({ outcome: 'opted_out', reason: 'opted_out', end: 'completed' });
    expect(callData(record)).toMatchObject({ optedOut: true, digits: '9' });
  });

  test('a key ends what is being said, and several keys end with the finishing one', () => {
    const callee = new ScriptedCallee((command): Doing | undefined => {
      if (command.do === 'dial') return { dialed: 'answered' };
      if (command.do === 'listen') return { detection: { answeredBy: 'human' } };
      if (command.do === 'speak' && command.bargeIn) return { key: '4', takesMs: 200 };
      return command.do === 'wait_key' ? { key: keys.shift() } : undefined;
    });
    const keys = ['2', '#'];
    const gather =
      '<Gather output="pin"><Say>Your number?</Say><Say>End with hash.</Say></Gather><Say>Thanks.</Say>';
    expect(run(gather, callee).entered).toEqual([{ gather: 'pin', digits: '42' }]);
    expect(callee.said).toEqual(['Your number?', 'Thanks.']);
  });

  test('a finishing key with a branch of its own is an answer', () => {
    const menu = `<Gather numDigits="1" output="m"/><If expression="\${m.digits}=='#'"><Say>Hash.</Say></If>`;
    const callee = person('#');
    run(menu, callee);
    expect(callee.said).toEqual(['Hash.']);
  });

  test('an opt-out key within a longer number is a digit', () => {
    const record = run('<Gather numDigits="3" optOutDigits="9"/>', person('1', '9', '9'));
    expect(record).toMatchObject({ outcome: 'human', entered: [{ digits: '199' }] });
    expect(run('<Gather numDigits="3" optOutDigits="9"/>', person('9'))).toMatchObject({
      outcome: 'opted_out',
    });
  });
});

describe('a machine', () => {
  const machine = (...heard: (AnsweredBy | undefined)[]) => {
    const left = [...heard];
    return new ScriptedCallee((command) => {
      if (command.do === 'dial') return { dialed: 'answered' };
      const answeredBy = command.do === 'listen' ? left.shift() : undefined;
      return answeredBy === undefined ? undefined : { detection: { answeredBy } };
    });
  };
  const SAY = '<Say>Hello.</Say>';
  const options = (behaviour: CallOptions['machine']) => ({ machine: behaviour });

  test.each<[CallOptions['machine'], AnsweredBy[], string[], string, string]>([
    ['speak', ['machine_start'], ['Hello.'], 'machine', 'finished'],
    ['hangup', ['machine_start'], [], 'machine', 'machine'],
    ['hangup', ['human'], ['Hello.'], 'human', 'finished'],
    ['leave_message', ['machine_start', 'machine_end_beep'], ['Hello.'], 'voicemail_left', 'finished'],
    ['leave_message', ['machine_end_silence'], ['Hello.'], 'voicemail_left', 'finished'],
    ['leave_message', ['machine_start', 'unknown'], [], 'machine', 'machine'],
    ['speak', ['fax'], [], 'machine', 'machine'],
    ['hangup', ['unknown'], ['Hello.'], 'human', 'finished'],
  ])('with %s, heard as %j: says %j, ends as %s by %s', (behaviour, heard, said, outcome, reason) => {
    const callee = machine(...heard);
    expect(run(SAY, callee, options(behaviour))).toMatchObject({
      outcome,
      reason,
      answeredBy: heard.at(-1),
      end: 'completed',
    });
    expect(callee.said).toEqual(said);
  });

  test('a detector that says nothing is not waited for beyond the bound', () => {
    const callee = machine();
    expect(run(SAY, callee, options('leave_message'))).toMatchObject({
      answeredBy: 'unknown',
      outcome: 'human',
    });
    expect(callee.said).toEqual(['Hello.']);
  });

  test('a message that is cut off is not left', () => {
    const callee = new ScriptedCallee((command) => {
      if (command.do === 'dial') return { dialed: 'answered' };
      if (command.do === 'listen') return { detection: { answeredBy: 'machine_end_beep' } };
      return command.do === 'speak' ? { hungUp: true } : undefined;
    });
    expect(run(SAY, callee, options('leave_message'))).toMatchObject({
      outcome: 'machine',
      reason: 'callee_hung_up',
    });
  });
});

describe('a call ends', () => {
  test('at its longest time, wherever it is', () => {
    const callee = person();
    const record = run('<Say loop="100">Hello.</Say>', callee, { maxSeconds: 10 });
    expect(record).toMatchObject({ reason: 'too_long', end: 'completed' });
    expect(record.endedAtMs - (record.answeredAtMs ?? 0)).toBe(10_000);
  });

  test('when its document goes in a circle, also where no time passes', () => {
    const circle = '<Gather id="top" timeout="1"/><Redirect>#top</Redirect>';
    expect(run(circle, person(), { maxSeconds: 60 })).toMatchObject({ reason: 'too_long' });
    const still = new ScriptedCallee((command) =>
      command.do === 'dial'
        ? { dialed: 'answered', takesMs: 0 }
        : { detection: { answeredBy: 'human' }, takesMs: 0 },
    );
    expect(run(circle, still)).toMatchObject({ reason: 'too_many_commands' });
    expect(still.heard.length).toBeLessThanOrEqual(LIMITS.callCommands + 1);
  });

  test('when something cannot be done, with the reason', () => {
    const callee = new ScriptedCallee((command) => {
      if (command.do === 'dial') return { dialed: 'answered' };
      return command.do === 'listen' ? { detection: { answeredBy: 'human' } } : { problem: 'no_voice' };
    });
    expect(run('<Say>a</Say><Say>b</Say>', callee)).toMatchObject({
      end: 'failed',
      reason: 'problem',
      code: 'no_voice',
    });
    expect(callee.said).toEqual(['a']);
  });
});

test('the record keeps of each step what its history wants, and no more than fits', () => {
  const document = `<Say history="full" id="a">Hello  <emphasis>you</emphasis>.</Say><Say history="compact" id="b">Secret.</Say>
    <Say>Unheard of.</Say><Play history="full">https://example.com/secret.wav</Play><Hangup history="compact"/>`;
  expect(run(document, person()).said).toEqual([
    { verb: 'Say', id: 'a', text: 'Hello you.' },
    { verb: 'Say', id: 'b' },
    { verb: 'Play' },
    { verb: 'Hangup' },
  ]);
  const long = `<Say history="full">${'\u{1f600}'.repeat(1_001)}</Say>`.repeat(60);
  const data = JSON.stringify(callData(run(long, person())));
  expect(data.length).toBeLessThan(LIMITS.receiptDataChars);
  expect(JSON.parse(data)).toBeTruthy();
});
