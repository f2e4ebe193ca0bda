import { addressOf, recipientOf, senderOf } from '../../src/contracts/addresses';

const taken = (schema: (typeof senderOf)['email'], value: unknown) => {
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed.data : undefined;
};

describe('addresses', () => {
  test.each([
    ['+1 (415) 555-0123', '+14155550123'],
    [' +44 20 7946 0958 ', '+442079460958'],
    ['+49–30–901820', '+4930901820'],
    ['[+1]4155550123', '+14155550123'],
    ['4155550123', undefined],
    ['+0123456789', undefined],
    ['+1415555012345678', undefined],
    ['+1415', undefined],
    ['+1 415 CALL ME', undefined],
    [14155550123, undefined],
  ])('the phone number %j is taken as %j', (value, expected) => {
    expect(taken(recipientOf.sms, value)).toBe(expected);
    expect(taken(recipientOf.voice, value)).toBe(expected);
  });

  test.each([
    [' ada@example.com ', 'ada@example.com'],
    ['ada+tag@mail.example.co.uk', 'ada+tag@mail.example.co.uk'],
    ['a&b@x.com', 'a&b@x.com'],
    ["!#$%&'*+/=?^_`{|}~-.x@x.com", "!#$%&'*+/=?^_`{|}~-.x@x.com"],
    ['ada@xn--e1afmkfd.xn--p1ai', 'ada@xn--e1afmkfd.xn--p1ai'],
    ['ada', undefined],
    ['ada@', undefined],
    ['ada@localhost', undefined],
    ['ada@10.0.0.1', undefined],
    ['ada@-x.com', undefined],
    ['.ada@x.com', undefined],
    ['ada.@x.com', undefined],
    ['a..b@x.com', undefined],
    ['a,b@x.com', undefined],
    ['a@b@x.com', undefined],
    ['a b@example.com', undefined],
    [`${'a'.repeat(250)}@example.com`, undefined],
    ['"Ada" <ada@example.com>', undefined],
  ])('the email address %j is taken as %j', (value, expected) => {
    expect(taken(recipientOf.email, value)).toBe(expected);
  });

  test.each([
    ['ada@example.com', 'ada@example.com'],
    ['"Ada, Countess" <ada@example.com>', 'ada@example.com'],
    ['Ada <ada@example.com>', 'ada@example.com'],
    ['<ada@example.com>', 'ada@example.com'],
    ['R&D <r&d@example.com>', 'r&d@example.com'],
    ['Ada <ada>', undefined],
    ['Ada ada@example.com', undefined],
    ['Ada\r\nBcc: <b@example.com>', undefined],
    ['', undefined],
  ])('the email sender %j sends as %j', (value, expected) => {
    const sender = taken(senderOf.email, value);
    expect(sender && addressOf(sender)).toBe(expected);
  });

  test.each([
    ['12345', '12345'],
    ['123-45', '12345'],
    ['12', undefined],
    ['+1 415 555 0123', '+14155550123'],
    ['Fanfare', 'Fanfare'],
    ['4YOU', '4YOU'],
    [' Acme Co ', 'Acme Co'],
    ['11 Letters!', undefined],
    ['A-B', undefined],
    ['(Acme)', undefined],
    ['TOO LONG NAME', undefined],
    ['a\tb', undefined],
    ['TwelveLetter', undefined],
    ['Not Good!', undefined],
    ['123456789', undefined],
  ])('the sms sender %j is taken as %j', (value, expected) => {
    expect(taken(senderOf.sms, value)).toBe(expected);
  });

  test('a call comes from a phone number', () => {
    expect(taken(senderOf.voice, '+14155550123')).toBe('+14155550123');
    expect(taken(senderOf.voice, '12345')).toBeUndefined();
    expect(taken(senderOf.voice, 'Fanfare')).toBeUndefined();
  });
});
