/** Proves that the table of capabilities in the docs says what the adapters do. */

import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VENDOR_KINDS, type VendorKind } from '../../../src/domain/account';
import type { Channel } from '../../../src/domain/channel';
import type { Provider } from '../../../src/providers/provider';
import type { Vendor, VendorAccount, Wish } from '../../../src/providers/vendor/vendor';
import { VENDORS } from '../../../src/providers/vendor/vendors';
import { ROOT } from '../../support/root';

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});
const ACCOUNT: VendorAccount = {
  id: 'acc_own',
  settings: { accountSid: `AC${'a'.repeat(32)}`, applicationId: 'app', connectionId: 'c', publicKey: 'k' },
  secrets: { authToken: 't', apiKey: 'k', privateKey, signatureSecret: 's' },
};

const TABLE = readTable();

describe.each(VENDOR_KINDS)('the capabilities of %s', (kind) => {
  const vendor = VENDORS[kind] as Vendor;
  const cell = (row: string) => TABLE.get(row)?.[kind] ?? `no row “${row}”`;
  const can = (wish: Partial<Wish>, settings: VendorAccount['settings'] = {}) =>
    vendor.unable({ channel: 'sms', from: '+12025550100', body: 'Hi', ...wish }, settings).length === 0;
  const call = (verb: string) =>
    can({ channel: 'voice', body: `<Response>${verb}</Response>` }, ACCOUNT.settings);
  const open = (channel: Channel): Provider =>
    vendor.open({
      ...{ channel, account: ACCOUNT, calls: {} as never },
      addresses: { callback: (id) => `https://us.example/${id}`, document: (path) => path },
    });

  test('channels', () => {
    expect(cell('SMS')).toBe('yes');
    expect(vendor.channels).toEqual(['sms', 'voice']);
    expect(cell('calls').startsWith('with a connection')).toBe(
      !can({ channel: 'voice', body: '<Response/>' }),
    );
    expect(call('<Say>Hi</Say>')).toBe(true);
  });

  test('tones and end keys', () => {
    const tones = call('<Play digits="1w2"/>');
    expect(call('<Gather finishOnKey="*"><Say>Hi</Say></Gather>')).toBe(tones);
    expect(call('<Gather finishOnKey="#"><Say>Hi</Say></Gather>')).toBe(true);
    expect(cell('tones (`Play digits`), end keys but `#`')).toBe(tones ? 'yes' : 'no');
  });

  test('the longest text, and names as senders', () => {
    const [longest] = cell('longest text of an SMS').match(/[\d,]+(?= characters)/) ?? ['10,000'];
    const chars = Number(longest.replace(',', ''));
    expect(can({ body: 'x'.repeat(chars) })).toBe(true);
    expect(can({ body: 'x'.repeat(chars + 1) })).toBe(!cell('longest text of an SMS').includes('characters'));
    expect(can({ from: 'Harbour' }) ? 'yes' : 'with a messaging profile').toBe(cell('names as senders'));
    expect(can({ from: 'Harbour' }, { messagingProfileId: 'p' })).toBe(true);
  });

  test('what happens after the hand-over', () => {
    const [sms, voice] = [open('sms'), open('voice')];
    expect(sms.capabilities.idempotent || voice.capabilities.idempotent ? 'yes' : 'no').toBe(
      cell('a message given again is known'),
    );
    const lookedUp = { sms: sms.lookUp !== undefined, voice: voice.lookUp !== undefined };
    expect(cell('a lost answer is resolved by')).toBe(LOST[`${lookedUp.sms} ${lookedUp.voice}`]);
    expect([sms.withdraw === undefined, voice.withdraw === undefined]).toEqual([true, false]);
    expect(cell('withdrawn after the hand-over')).toBe('calls that ring');
  });
});

const LOST: Record<string, string> = {
  'true true': 'its callback, then a look-up',
  'false false': 'its callback',
  'false true': 'its callback; calls then by a look-up',
};

/** By the first cell of each row. */
function readTable(): Map<string, Record<VendorKind, string>> {
  const text = readFileSync(join(ROOT, 'docs/carriers/vonage.md'), 'utf8');
  const rows = text
    .slice(text.indexOf('## Capabilities'))
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((one) => one.trim()));
  const kinds = (rows[0] ?? []).slice(2, 5).map((one) => one.replaceAll('`', ''));
  if (kinds.join() !== VENDOR_KINDS.join()) throw new Error(`The table's columns are ${kinds.join()}`);
  return new Map(
    rows
      .slice(2)
      .map((row) => [row[1] ?? '', { twilio: row[2] ?? '', telnyx: row[3] ?? '', vonage: row[4] ?? '' }]),
  );
}
