import fc from 'fast-check';

/** A few addresses and values, so that generated contacts meet in them. */
export const contacts = fc.array(
  fc.record({
    email: fc.constantFrom(
      null,
      'a@example.com',
      'A@example.com',
      'b@example.com',
      'c@example.com',
      'nonsense',
    ),
    phone: fc.constantFrom(null, '+12022000001', '+12022000002', '+12022000003', '+12022000004', '0123'),
    name: fc.constantFrom(null, '', 'Ann', 'Žofie', '🎺'.repeat(40), '^'.repeat(100)),
    params: fc.constantFrom({}, { CITY: 'Oslo' }, { CITY: '' }, { GREETING: 'x'.repeat(153), CITY: 7 }),
  }),
  { maxLength: 40 },
);
/** Blocks that some of them are under. */
export const blocks = fc.array(
  fc.record({
    channel: fc.constantFrom('email' as const, 'sms' as const, 'voice' as const, 'all' as const),
    address: fc.constantFrom('a@example.com', 'b@example.com', '+12022000001', '+12022000002'),
    sender: fc.constantFrom(undefined, 'fan@example.com', '12345', 'other@example.com'),
    reason: fc.constant('asked'),
  }),
  { maxLength: 3 },
);
