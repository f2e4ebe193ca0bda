/** Proves how the name of a copied campaign is made. */

import { copyName } from '../../../src/campaigns/actions/campaign-copy';

describe('the name of a copy', () => {
  test('says that it is one, and which', () => {
    expect(copyName('Sale')).toBe('Sale (copy)');
    expect(copyName('Sale (copy)')).toBe('Sale (copy 2)');
    expect(copyName('Sale (copy 9)')).toBe('Sale (copy 10)');
    expect(copyName('Sale (copy of ours)')).toBe('Sale (copy of ours) (copy)');
  });

  test('is no longer than a name may be, and cuts no character in two', () => {
    expect(copyName('x'.repeat(200))).toBe(`${'x'.repeat(193)} (copy)`);
    expect(copyName(`x${'🎺'.repeat(99)}`)).toBe(`x${'🎺'.repeat(96)} (copy)`);
    expect(copyName(`${'x'.repeat(193)} (copy)`)).toBe(`${'x'.repeat(191)} (copy 2)`);
  });
});
