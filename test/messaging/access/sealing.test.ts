/** Proves that encrypted secrets open with their key and for their subject only. */

import { createSealing } from '../../../src/messaging/access/sealing';

const [ONE, TWO] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

describe('sealing', () => {
  const sealing = createSealing([ONE, TWO]);

  test('what was sealed opens again, and is never sealed twice in the same way', () => {
    const sealed = [sealing.seal('whsec_ä', 'row 1'), sealing.seal('whsec_ä', 'row 1')];
    expect(new Set(sealed).size).toBe(2);
    for (const one of sealed) {
      expect(one).not.toContain('whsec');
      expect(sealing.open(one, sealing.keyId, 'row 1')).toBe('whsec_ä');
    }
  });

  test('the first key seals and the others open', () => {
    const former = createSealing([TWO]);
    expect(sealing.keyIds).toEqual([createSealing([ONE]).keyId, former.keyId]);
    expect(sealing.open(former.seal('text', 'row'), former.keyId, 'row')).toBe('text');
    const sealed = sealing.seal('text', 'row');
    expect(createSealing([ONE]).open(sealed, sealing.keyId, 'row')).toBe('text');
    expect(() => former.open(sealed, sealing.keyId, 'row')).toThrow(sealing.keyId);
  });

  test('the name of a key reveals nothing of it', () => {
    expect(sealing.keyId).toMatch(/^[0-9a-f]{12}$/);
    expect(ONE.toString('hex')).not.toContain(sealing.keyId);
  });

  test('a changed or moved text cannot be decrypted, and the error does not repeat it', () => {
    const sealed = sealing.seal('hidden', 'row 1');
    const bytes = Buffer.from(sealed, 'base64url');
    const changed = [0, 12, bytes.length - 1].map((at) => {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ 1;
      return copy.toString('base64url');
    });
    for (const one of [...changed, sealed.slice(0, 12), '']) {
      expect(() => sealing.open(one, sealing.keyId, 'row 1')).toThrow('The row 1 was changed');
    }
    expect(() => sealing.open(sealed, sealing.keyId, 'row 2')).toThrow('The row 2 was changed');
  });
});
