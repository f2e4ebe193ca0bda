import { draftOf, policyOf } from '../../console/src/policy/policy-draft';

/** The policy is replaced as a whole, so that what its form does not change must come out of it as it went in. */
describe('the form of the policy', () => {
  const NONE = { quietHours: null, caps: null, allowedSenders: null, smsOptOutText: null, approval: null };
  const shown = (email: string[]) =>
    draftOf({ ...NONE, allowedSenders: { email }, version: 1, updatedAt: null } as Parameters<
      typeof draftOf
    >[0]);

  test('a sender with a comma in its name stays one sender', () => {
    const email = [
      '"Harbour Books, Inc." <news@example.com>',
      'Shop, Ltd <shop@example.com>',
      '@example.org',
    ];
    expect(policyOf(shown(email)).allowedSenders).toMatchObject({ email });
  });

  test('addresses may be typed with commas between them', () => {
    const draft = shown([]);
    const typed = {
      ...draft,
      senders: { ...draft.senders, email: 'a@example.com, b@example.com\n\n@example.org' },
    };
    expect(policyOf(typed).allowedSenders).toMatchObject({
      email: ['a@example.com', 'b@example.com', '@example.org'],
    });
  });
});
