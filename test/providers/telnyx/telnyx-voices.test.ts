/** Proves that a text is spoken in a language that Telnyx takes, or refused before the call. */

import type Telnyx from 'telnyx';
import { spokenAtTelnyx, unspokenAtTelnyx, voiceOf } from '../../../src/providers/telnyx/telnyx-voices';

test.each([
  ['de-DE', 'de-DE'],
  ['EN-gb', 'en-GB'],
  ['de', 'de-DE'],
  ['de-AT', 'de-DE'],
  ['en', 'en-US'],
  ['en-NZ', 'en-US'],
  ['pt', 'pt-BR'],
  ['fr-BE', 'fr-FR'],
  ['zh-CN', 'cmn-CN'],
  ['ar', 'arb'],
  ['no', 'nb-NO'],
] as const)('%s is spoken as %s', (tag, spoken) => {
  const language: NonNullable<Telnyx.Calls.ActionSpeakParams['language']> | undefined = spokenAtTelnyx(tag);
  expect(language).toBe(spoken);
});

test('a language that none of its voices speaks is refused, unless a speech provider’s voice is named', () => {
  const document = `<Response><Say language="fi-FI">Hei</Say><Say voice="Azure.fi-FI-NooraNeural" language="fi-FI">Hei</Say>
<Gather><Say voice="man" language='sw'>Habari</Say></Gather><Say language="de">Hallo</Say><Say>Hello</Say></Response>`;
  expect(unspokenAtTelnyx(document).map(({ about, message }) => [about, message])).toEqual([
    ['template', expect.stringContaining('fi-FI')],
    ['template', expect.stringContaining('sw')],
  ]);
  expect(voiceOf({ do: 'speak', text: 'Hei', language: 'fi-FI' } as never).language).toBe('en-US');
});
