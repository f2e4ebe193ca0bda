/** Proves that languages without a voice are reported. */

import { withoutVoice } from '../../../src/domain/voice/spoken-languages';

test('a language without a voice is reported once, wherever it stands; one from a placeholder is not', () => {
  const document = `<Response><Say language="tlh">a</Say><Gather><Say language="tlh">b</Say></Gather>
    <Say language="de">c</Say><Say>d</Say><Say language="{{LANGUAGE}}">e</Say></Response>`;
  expect(withoutVoice(document, (language) => language !== 'tlh')).toEqual([
    {
      path: 'body',
      code: 'no_voice',
      message: 'There is no voice for the language tlh',
      severity: 'warning',
    },
  ]);
  expect(withoutVoice(document, () => false)).toHaveLength(3);
  expect(withoutVoice(document, () => true)).toEqual([]);
});
