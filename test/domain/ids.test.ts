/** Proves that the uid of a recipient's message says which recipient, sorts as messages leave, and never changes for a run. */

import { messageUid, parseMessageUid, parseRecipientId, recipientId } from '../../src/domain/ids';
import { newId } from '../../src/storage/new-id';

const RUN = newId('run');
/** From before ids were shorter. */
const EARLIER_RUN = newId('run', Date.now(), new Uint8Array(16));

test.each([RUN, EARLIER_RUN])('a uid and a recipient id of %s are read back', (runId) => {
  for (const seq of [0, 9_999_999, 10_000_000]) {
    const key = { runId, channel: 'sms', seq } as const;
    expect(parseMessageUid(messageUid(key, 3))).toEqual({ ...key, attempt: 3 });
    expect(parseRecipientId(recipientId(key))).toEqual(key);
  }
});

test('uids of a run sort by their numbers', () => {
  const uids = [0, 9, 10, 99, 100, 12_345, 9_999_999].map((seq) =>
    messageUid({ runId: RUN, channel: 'sms', seq }, 0),
  );
  expect([...uids].sort()).toEqual(uids);
});

test('an earlier run keeps the uids that its messages have', () => {
  expect(messageUid({ runId: EARLIER_RUN, channel: 'voice', seq: 12 }, 1)).toBe(`${EARLIER_RUN}.voice.12.1`);
});
