/** Proves that every stored code has a meaning in words. */

import type { Channel } from '../../src/domain/channel';
import { codeMeaning } from '../../src/domain/code-meanings';

describe('what a code means', () => {
  test.each<[Channel, string, RegExp]>([
    ['email', '5.1.1', /no such address/],
    ['email', '550 5.1.1', /no such address/],
    ['email', '4.2.2', /full/],
    ['email', '550 5.7.1', /for good, because of its policy/],
    ['email', '451', /for the moment\.$/],
    ['sms', '21610', /opted out/],
    ['sms', 'answer_lost', /not sent twice/],
    ['sms', 'outbox_full', /Outbox is full/],
    ['sms', '30007', /carrier’s own code 30007,/],
    ['sms', 'too_many_parts', /more segments than/],
    ['sms', 'request_not_made', /could not be reached/],
    ['sms', 'thread_lost', /ended before the carrier’s answer/],
    ['voice', 'ring_timeout', /not answered/],
    ['voice', 'invalid_document', /call’s document was not valid/],
    ['voice', 'document_unreachable', /call’s next document/],
    ['voice', '503', /could not place/],
    ['voice', '604', /no such number/],
    ['voice', 'busy', /line was busy/],
    ['voice', 'no_answer', /not answered/],
  ])('%s %s', (channel, code, meaning) => {
    expect(codeMeaning(channel, code)).toMatch(meaning);
  });
});
