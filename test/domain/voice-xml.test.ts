import { voiceXmlFinding } from '../../src/domain/voice-xml';

describe('a voice document', () => {
  test.each([
    '<Response/>',
    ' <Response></Response>\n',
    '<?xml version="1.0" encoding="UTF-8"?>\n<!-- greeting --><Response><Say loop="2">Hi {{NAME}} &amp; co &#233;</Say></Response>',
    '<Response><Answer/><Pause length=\'1\' history = "yes" /><Gather><Say>1 > 0</Say></Gather></Response>',
    '<Response><![CDATA[a < b & c]]></Response>',
    '\ufeff<Response/>',
  ])('%j is well-formed', (xml) => {
    expect(voiceXmlFinding(xml)).toBeUndefined();
  });

  test.each([
    ['', 'no root'],
    ['hello', 'text outside'],
    ['<Reply/>', '<Reply>'],
    ['<response/>', '<response>'],
    ['<Response>', 'not closed'],
    ['<Response><Say></Response>', '</Response>'],
    ['<Response></Say></Response>', '</Say>'],
    ['<Response/><Response/>', 'more than one'],
    ['<Response/>tail', 'text outside'],
    ['<!DOCTYPE r [<!ENTITY a "b">]><Response>&a;</Response>', 'document types'],
    ['<Response>&a;</Response>', '&'],
    ['<Response>a & b</Response>', '&'],
    ['<Response><Say voice="&x;"/></Response>', '<Say>'],
    ['<Response><Say voice=loud/></Response>', 'no complete tag'],
    ['<Response><Say voice="a" </Response>', 'no complete tag'],
    ['<Response><!-- </Response>', 'comment'],
    ['<Response><?php x ?></Response>', 'processing instructions'],
    ['<Response>1 < 2</Response>', 'no complete tag'],
  ])('%j is refused', (xml, finding) => {
    expect(voiceXmlFinding(xml)).toContain(finding);
  });

  test.each(['<', '<a ', '<!--', '<![CDATA[', '&', '<Response>', '<a b="'])(
    'a megabyte of %s takes no time',
    (piece) => {
      const begin = Date.now();
      voiceXmlFinding(`<Response>${piece.repeat(1_000_000 / piece.length)}`);
      voiceXmlFinding(`<Response ${' '.repeat(1_000_000)}`);
      expect(Date.now() - begin).toBeLessThan(2_000);
    },
  );
});
