/** Proves which voice documents are accepted, and that every problem names its place. */

import { LIMITS } from '../../../src/domain/limits';
import { checkVoiceXml, parseVoiceXml } from '../../../src/domain/voice/parse-voice-xml';

const coded = (xml: string) =>
  checkVoiceXml(xml).map(({ severity, code, line, column }) => `${severity} ${code} ${line}:${column}`);
const around = (verbs: string) => `<Response>${verbs}</Response>`;

describe('a voice document', () => {
  test.each([
    '<Response/>',
    ' <Response></Response>\n',
    '<?xml version="1.0" encoding="UTF-8"?>\n<!-- greeting --><Response><Say loop="2">Hi {{NAME}} &amp; co &#233;</Say></Response>',
    '<Response><Answer/><Pause length=\'1\' history = "full" /><Gather><Say>1 > 0</Say></Gather></Response>',
    '<Response><Say><![CDATA[a < b & c]]></Say></Response>',
    '\ufeff<Response/>',
    around('<Speak>a</Speak><GetDigits numDigits="1" timeout="{{SECONDS}}"/><Pause length="{{N}}"/>'),
    around('<Say voice="Polly.Amy" language="en-GB"><emphasis level="strong">Now</emphasis><break/></Say>'),
    around('<Play>https://example.com/{{FILE}}.mp3</Play><Play digits="1w2"/><Reject reason="busy"/>'),
    around('<Record maxLength="14400" timeout="0" playBeep="false" finishOnKey="#*"/><Hangup/>'),
    around('<Gather id="a" output="m"/><Redirect>#a</Redirect>'),
  ])('%j is as it should be', (xml) => {
    expect(checkVoiceXml(xml)).toEqual([]);
  });

  const REFUSED: [string, string][] = [
    ['', 'invalid_xml'],
    ['hello', 'invalid_xml'],
    ['<Reply/>', 'wrong_root'],
    ['<response/>', 'wrong_root'],
    ['<Response>', 'invalid_xml'],
    ['<Response><Say></Response>', 'invalid_xml'],
    ['<Response></Say></Response>', 'invalid_xml'],
    ['<Response/><Response/>', 'invalid_xml'],
    ['<Response/>tail', 'invalid_xml'],
    ['<!DOCTYPE r [<!ENTITY a "b">]><Response>&a;</Response>', 'doctype_forbidden'],
    [
      '<?xml version="1.0"?> <!-- a --><!doctype r SYSTEM "file:///etc/passwd"><Response/>',
      'doctype_forbidden',
    ],
    ['<Response><!DOCTYPE r></Response>', 'doctype_forbidden'],
    ['<!DOCTYPE', 'doctype_forbidden'],
    ['<Response>&a;</Response>', 'unknown_entity'],
    ['<Response><Say>a & b</Say></Response>', 'unknown_entity'],
    ['<Response><Say voice="&x;"/></Response>', 'unknown_entity'],
    ['<Response><Say>&#0;</Say></Response>', 'unknown_entity'],
    ['<Response><Say voice=loud/></Response>', 'invalid_xml'],
    ['<Response><Say voice="a" </Response>', 'invalid_xml'],
    ['<Response><Say voice="a" voice="b"/></Response>', 'invalid_xml'],
    ['<Response><!-- </Response>', 'invalid_xml'],
    ['<Response><?php x ?></Response>', 'processing_instruction'],
    ['<Response>1 < 2</Response>', 'invalid_xml'],
    ['<Response>\0</Response>', 'invalid_text'],
    ['<Response>\u0001</Response>', 'invalid_text'],
    ['<Response>\ud800</Response>', 'invalid_text'],
    ['<Response>\udc00\ud800</Response>', 'invalid_text'],
    ['<?xml version="1.1"?><Response/>', 'invalid_xml'],
    ['<?xml version="1.0" encoding="UTF-16"?><Response/>', 'invalid_xml'],
    ['<Response><!-- {{NAME}} --></Response>', 'placeholder_in_comment'],
    ['<Response><Say><![CDATA[{{NAME}}]]></Say></Response>', 'placeholder_in_cdata'],
    [around('<A>'.repeat(9) + '</A>'.repeat(9)), 'unknown_verb'],
    [around('<A>'.repeat(10) + '</A>'.repeat(10)), 'too_deep'],
    [around('<Answer/>'.repeat(201)), 'too_many_verbs'],
    [around('x'.repeat(256 * 1024)), 'too_long'],
    [around('Hello'), 'unexpected_text'],
    [around('<Hangup>Bye</Hangup>'), 'unexpected_text'],
    [around('<Gather>Press</Gather>'), 'unexpected_text'],
    [around('<Gather><Gather/></Gather>'), 'misplaced_verb'],
    [around('<Gather><Hangup/></Gather>'), 'misplaced_verb'],
    [around('<Say>a<Play>https://example.com/a</Play></Say>'), 'misplaced_verb'],
    [around('<Pause><Say>a</Say></Pause>'), 'misplaced_verb'],
    [around('<Pause length="0"/>'), 'invalid_value'],
    [around('<Pause length="61"/>'), 'invalid_value'],
    [around('<Pause length="1.5"/>'), 'invalid_value'],
    [around('<Say loop="0">a</Say>'), 'invalid_value'],
    [around('<Say language="english!">a</Say>'), 'invalid_value'],
    [around('<Gather input="smell"/>'), 'invalid_value'],
    [around('<Gather finishOnKey="##"/>'), 'invalid_value'],
    [around('<Gather action="#here"/>'), 'invalid_value'],
    [around('<Gather output="a b"/>'), 'invalid_value'],
    [around('<Record playBeep="yes"/>'), 'invalid_value'],
    [around('<Play>ftp://example.com/a</Play>'), 'invalid_value'],
    [around('<Redirect>javascript:alert(1)</Redirect>'), 'invalid_value'],
    [around('<Reject reason="tired"/>'), 'invalid_value'],
    [around('<Say id="1">a</Say>'), 'invalid_value'],
    [around('<Play/>'), 'missing_value'],
    [around('<Redirect/>'), 'missing_value'],
    [around('<Say id="a">a</Say><Say id="a">b</Say>'), 'duplicate_id'],
    [around('<Redirect>#nowhere</Redirect>'), 'unknown_place'],
    [around('<Gather><Say id="in">a</Say></Gather><Redirect>#in</Redirect>'), 'unknown_place'],
    [around('<Say id="a">Again</Say><Redirect>#a</Redirect>'), 'loop_without_gather'],
    [around("<If expression=\"'{{NAME}}'=='x'\"/>"), 'placeholder_in_expression'],
  ];
  test.each(REFUSED.map(([xml, code]) => [xml.slice(0, 100), xml, code]))(
    '%j is refused',
    (_title, xml, code) => {
      const findings = checkVoiceXml(xml);
      expect(findings.map((finding) => finding.code)).toContain(code);
      const refused = findings.filter(({ severity }) => severity === 'error');
      expect(refused.length).toBe(code === 'unknown_verb' ? 0 : Math.max(1, refused.length));
      for (const { path, message, line, column } of findings) {
        expect([path, message.startsWith(`Line ${line}, column ${column}: `)]).toEqual(['body', true]);
      }
    },
  );

  test.each([
    [around('<Sing key="c">la</Sing>'), 'unknown_verb'],
    [around('<say>a</say>'), 'unknown_verb'],
    [around('<Dial>+12025550100</Dial>'), 'unsupported_verb'],
    [around('<Set name="a">b</Set>'), 'unsupported_verb'],
    [around('<Say tempo="2">a</Say>'), 'unknown_attribute'],
    ['<Response xmlns="urn:x"/>', 'unknown_attribute'],
    [around('<Say history="true">a</Say>'), 'invalid_value'],
    [around('<Hangup/><Say>a</Say>'), 'unreachable_verb'],
    [around('<Play>/a.wav</Play>'), 'relative_url'],
    [around('<Say> </Say>'), 'empty_text'],
    [around('<Say><blink>a</blink></Say>'), 'unknown_speech_mark'],
  ])('%j is kept, with a warning', (xml, code) => {
    const { program, findings } = parseVoiceXml(xml);
    expect(findings.map((finding) => [finding.severity, finding.code])).toEqual([['warning', code]]);
    expect(program).toBeDefined();
  });

  test('all problems are reported at once, each with its place', () => {
    const xml = [
      '<Response>',
      '  <Answer now="1"/>',
      '  <Pause length="99"/><Sing/>',
      '  <Gather numDigits="0"',
      '     timeout="soon"><Hangup/></Gather>\r\n  text',
      '  <Redirect>#gone</Redirect>',
      '</Response>',
    ].join('\n');
    expect(coded(xml)).toEqual([
      'error unexpected_text 1:1',
      'warning unknown_attribute 2:3',
      'error invalid_value 3:3',
      'warning unknown_verb 3:23',
      'error invalid_value 4:3',
      'error invalid_value 4:3',
      'error misplaced_verb 5:21',
      'error unknown_place 7:3',
    ]);
  });

  test('a bare & hides nothing that follows', () => {
    const xml = '<Response><Say voice="a&b">R & D</Say><!-- a & b --><Pause length="0"/></Response>';
    expect(coded(xml)).toEqual([
      'error unknown_entity 1:24',
      'error unknown_entity 1:30',
      'error invalid_value 1:53',
    ]);
    expect(parseVoiceXml(xml).program).toBeUndefined();
  });

  test('an unknown verb’s message names the one that was meant', () => {
    expect(checkVoiceXml(around('<hangup/>'))[0]?.message).toContain('did you mean <Hangup>?');
  });

  test('an endless list of findings ends with how many were left out', () => {
    const findings = checkVoiceXml(around('<A/>'.repeat(500)));
    expect(findings).toHaveLength(101);
    expect(findings[100]).toMatchObject({ code: 'more_findings', severity: 'error', path: 'body' });
  });

  const MEGABYTES = 4 * 1024 * 1024;
  test.each([
    '<',
    '<a ',
    '<a>',
    '<!--',
    '<![CDATA[',
    '&',
    '&amp;',
    '<Response>',
    '<a b="',
    ']',
    ']]>',
    '-',
    '<?a ',
    'a="" ',
  ])('megabytes of %s take no time', (piece) => {
    const text = piece.repeat(MEGABYTES / piece.length);
    for (const xml of [
      text,
      `<Response>${text}`,
      `<Response ${text}`,
      `<Response><Say a="${text}"/></Response>`,
    ]) {
      for (const whole of [xml, xml.slice(0, LIMITS.voiceXmlChars)]) {
        // The processor's time, because the machine may be busy with other things.
        const begun = process.cpuUsage();
        checkVoiceXml(whole);
        const { user, system } = process.cpuUsage(begun);
        expect((user + system) / 1_000).toBeLessThan(1_500);
      }
    }
  });
});

describe('a document’s program', () => {
  const programOf = (xml: string) => parseVoiceXml(xml).program;

  test('has verbs under one name, values with their types, and text with its marks', () => {
    const xml = around(
      '<Answer/><Speak loop="2" tempo="1">Hi <break time="1s"/>{{NAME}}</Speak><Play loop="3">https://example.com/a</Play><Record playBeep="false"/>',
    );
    expect(programOf(xml)).toEqual({
      steps: [
        { verb: 'Answer' },
        {
          verb: 'Say',
          loop: 2,
          extra: [['tempo', '1']],
          content: ['Hi ', { name: 'break', attributes: [['time', '1s']], children: [] }, '{{NAME}}'],
        },
        { verb: 'Play', loop: 3, url: 'https://example.com/a' },
        { verb: 'Record', playBeep: false },
      ],
    });
  });

  test('has the comparisons behind a gather as its branches', () => {
    const xml = around(`<Gather output="menu" retries="2"><Say>Press</Say></Gather>
      <If expression='\${menu.digits} == "1"'><Say>One</Say><Hangup/></If>
      <If expression="\${menu.digits}==''"><Redirect>#end</Redirect></If>
      <If expression="\${menu.digits}!~'^[1]?$'"/>
      <Hangup id="end"/>`);
    expect(parseVoiceXml(xml).findings).toEqual([]);
    expect(programOf(xml)?.steps).toEqual([
      {
        verb: 'Gather',
        output: 'menu',
        retries: 2,
        prompts: [{ verb: 'Say', content: ['Press'] }],
        branches: [
          { on: '1', steps: [{ verb: 'Say', content: ['One'] }, { verb: 'Hangup' }] },
          { on: 'timeout', steps: [{ verb: 'Goto', to: 'end' }] },
          { on: 'nomatch', steps: [] },
        ],
      },
      { verb: 'Hangup', id: 'end' },
    ]);
  });

  test.each([
    ['another variable', `\${other.digits}=='1'`],
    ['what was said', `\${menu.speech}=='1'`],
    ['two keys', `\${menu.digits}=='12'`],
    ['other keys than have branches', `\${menu.digits}!~'^[12]?$'`],
    ['two things', `\${menu.digits}=='1' || 1==1`],
  ])('leaves a comparison of %s as it is', (_what, expression) => {
    const xml = around(`<Gather output="menu"/><If expression="${expression}"/>`);
    expect(parseVoiceXml(xml).findings.map(({ code }) => code)).toEqual(['unsupported_verb']);
    expect(programOf(xml)?.steps.map(({ verb }) => verb)).toEqual(['Gather', 'Other']);
  });

  test('changes no prototype, whatever an attribute is called', () => {
    const program = programOf(around('<Say __proto__="x" constructor="y">a</Say>'));
    expect(program?.steps[0]).toEqual({
      verb: 'Say',
      content: ['a'],
      extra: [
        ['__proto__', 'x'],
        ['constructor', 'y'],
      ],
    });
  });
});
