/** Proves that a message which was kept with a longer hash is still known for the same. */

import { hash } from 'node:crypto';
import { isSamePayload, shortHash } from '../../../../src/messaging/outbox/accept/payload-hash';

const PAYLOAD = ['sms', '+12025550123', { NAME: 'Ada' }];
/** As it was stored before it was cut off. */
const WHOLE = hash('sha256', JSON.stringify(PAYLOAD), 'base64url');

test('a payload is the same by its short hash and by the whole one, and another is not', () => {
  const asked = shortHash(PAYLOAD);
  expect(WHOLE).toHaveLength(43);
  expect([asked, WHOLE].map((stored) => isSamePayload(stored, asked))).toEqual([true, true]);
  expect(isSamePayload(WHOLE, shortHash(['sms', '+12025550123', { NAME: 'Bo' }]))).toBe(false);
});
