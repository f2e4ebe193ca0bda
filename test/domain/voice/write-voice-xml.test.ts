/** Proves that a program and its document are two forms of the same thing. */

import fc from 'fast-check';
import { parseVoiceXml } from '../../../src/domain/voice/parse-voice-xml';
import { writeVoiceXml } from '../../../src/domain/voice/write-voice-xml';
import { programs } from './programs';

test('a program written as a document and read again is the same program', () => {
  fc.assert(
    fc.property(programs(), (program) => {
      const xml = writeVoiceXml(program);
      const read = parseVoiceXml(xml);
      expect(read.program).toEqual(program);
      expect(JSON.parse(JSON.stringify(program))).toEqual(program);
      expect(writeVoiceXml(read.program ?? { steps: [] })).toBe(xml);
    }),
    { numRuns: 500 },
  );
});

test('any text at all is judged, and nothing is thrown', () => {
  const piece = fc.constantFrom(
    ...[
      '<Response>',
      '</Response>',
      '<Say>',
      '</Say>',
      '<Gather output="a">',
      '</Gather>',
      '<If expression="',
      '"/>',
    ],
    ...[
      '<!--',
      '-->',
      '<![CDATA[',
      ']]>',
      '<?',
      '?>',
      '&amp;',
      '&#1;',
      '{{NAME}}',
      '<!DOCTYPE',
      '\0',
      '\ud800',
      'x',
      ' ',
      '>',
    ],
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 30 }), (pieces) => {
      const { program, findings } = parseVoiceXml(pieces.join(''));
      expect(program !== undefined || findings.some(({ severity }) => severity === 'error')).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('a branch is written as the dialect’s own comparison', () => {
  const xml = writeVoiceXml({
    steps: [
      { verb: 'Answer', history: 'full' },
      {
        verb: 'Gather',
        numDigits: 1,
        output: 'menu',
        prompts: [{ verb: 'Say', content: ['1 < 2 "or" {{NAME}}'] }],
        branches: [
          { on: '1', steps: [{ verb: 'Hangup' }] },
          { on: '*', steps: [] },
          { on: 'nomatch', steps: [{ verb: 'Goto', to: 'end' }] },
        ],
      },
      { verb: 'Hangup', id: 'end' },
    ],
  });
  expect(xml).toBe(`<Response>
  <Answer history="full"/>
  <Gather numDigits="1" output="menu">
    <Say>1 &lt; 2 "or" {{NAME}}</Say>
  </Gather>
  <If expression="\${menu.digits}=='1'">
    <Hangup/>
  </If>
  <If expression="\${menu.digits}=='*'"/>
  <If expression="\${menu.digits}!~'^[1*]?$'">
    <Redirect>#end</Redirect>
  </If>
  <Hangup id="end"/>
</Response>`);
});
