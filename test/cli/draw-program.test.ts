import { drawProgram } from '../../src/cli/draw-program';
import { parseVoiceXml } from '../../src/domain/voice/parse-voice-xml';

const drawn = (xml: string): string => {
  const { program } = parseVoiceXml(xml);
  if (!program) throw new Error('no program');
  return drawProgram(program).join('\n');
};

/** Not a placeholder of ours: how the dialect names what was entered. */
const CHOICE = '$' + '{choice.digits}';

test('a flow is drawn with its questions, branches and loops', () => {
  const xml = `<Response>
    <Say id="hello" language="en-US">Good evening, {{NAME}}.</Say>
    <Gather numDigits="1" timeout="8" retries="2" output="choice" optOutDigits="9">
      <Say>Press 1 to confirm.</Say>
    </Gather>
    <If expression="${CHOICE}=='1'"><Say>Thank you.</Say><Hangup/></If>
    <If expression="${CHOICE}=='2'"><Redirect>#hello</Redirect></If>
    <If expression="${CHOICE}==''"><Redirect>#bye</Redirect></If>
    <If expression="${CHOICE}!~'^[12]?$'"><Pause/></If>
    <Pause length="2"/>
    <Say id="bye" loop="2">Good bye.</Say>
  </Response>`;
  expect(drawn(xml).split('\n')).toEqual([
    'the call',
    '├─ [hello] say “Good evening, {{NAME}}.” (en-US)',
    '├─ ask for a key, 8 s for each, asked again 2 times',
    '│  ├─ say “Press 1 to confirm.”',
    '│  ├─ key 1 →',
    '│  │  ├─ say “Thank you.”',
    '│  │  └─ hang up',
    '│  ├─ key 2 → ↑ back to [hello]',
    '│  ├─ nothing in time → ↓ on to [bye]',
    '│  ├─ anything else →',
    '│  │  ├─ wait 1 s',
    '│  │  └─ ↓ on, after the question',
    '│  └─ key 9 → never called again, the call ends',
    '├─ wait 2 s',
    '├─ [bye] say “Good bye.”, 2 times',
    '└─ the call ends',
  ]);
});

test('the ways to other documents are drawn', () => {
  const xml = `<Response><Gather numDigits="1" action="/menu"/><Record action="/done"/>
    <Redirect>https://example.com/next</Redirect></Response>`;
  expect(drawn(xml).split('\n')).toEqual([
    'the call',
    '├─ ask for a key, 5 s for each',
    '│  └─ whatever is entered → go on with the document at /menu',
    '├─ record after a beep, 3600 s at most, then go on with the document at /done',
    '└─ → go on with the document at https://example.com/next',
  ]);
});

test('what a terminal would obey and what would fill it is not drawn', () => {
  const text = drawn(`<Response><Say>a\u0085b ${'long '.repeat(50)}</Say><Dial>1</Dial><Hangup/></Response>`);
  expect(text.split('\n')).toHaveLength(4);
  expect(text).toContain('a?b');
  expect(text).toContain('<Dial> is not run');
  for (const line of text.split('\n')) expect(line.length).toBeLessThan(90);
});
