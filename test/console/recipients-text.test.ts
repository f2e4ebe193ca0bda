import { recipientsOf, textOfFile } from '../../console/src/new-campaign/recipients-text';

const toParam = (name: string) => name.toUpperCase().replace(/[^A-Z0-9]/g, '_');

describe('recipients as people paste them', () => {
  test('one address a line needs no heading', () => {
    expect(recipientsOf('ada@example.com\n+12025550123\n\n')).toEqual([
      { email: 'ada@example.com' },
      { phone: '+12025550123' },
    ]);
  });

  test.each([
    ['commas', 'Email,First name\nada@example.com,Ada'],
    ['semicolons', 'Email;First name\r\nada@example.com;Ada\r\n'],
    ['tabs, from a spreadsheet', '\uFEFFEmail\tFirst name\nada@example.com\tAda'],
  ])('a table with %s: known columns are fields, others fill placeholders', (_name, text) => {
    expect(recipientsOf(text)).toEqual([{ email: 'ada@example.com', params: { FIRST_NAME: 'Ada' } }]);
  });

  test.each(['phone 2', 'Phone2', 'phone (2)'])(
    'a column %p beside the phone fills a placeholder, as an import has it, and is not dialled',
    (second) => {
      expect(recipientsOf(`phone,${second}\n+12025550123,+12025550199`)).toEqual([
        { phone: '+12025550123', params: { [toParam(second)]: '+12025550199' } },
      ]);
    },
  );

  test('quoted cells keep separators, quotes and line ends', () => {
    expect(recipientsOf('email,name\na@example.com,"Lovelace, ""Ada""\nof London"')).toEqual([
      { email: 'a@example.com', name: 'Lovelace, "Ada"\nof London' },
    ]);
  });

  test('empty cells are left out, so that they erase nothing', () => {
    expect(recipientsOf('email,phone,external id\na@example.com,,42')).toEqual([
      { email: 'a@example.com', externalId: '42' },
    ]);
  });

  test.each(['latin1', 'utf16le'] as const)('a file in %s is not read', (encoding) => {
    const bytes = Uint8Array.from(Buffer.from('\uFEFFemail,name\nm@example.com,Müller', encoding)).buffer;
    expect(textOfFile(bytes)).toBeUndefined();
  });

  test('a file in UTF-8 is, with a byte order mark or without', () => {
    const text = 'email,name\nm@example.com,Müller';
    for (const mark of ['', '\uFEFF']) {
      expect(textOfFile(Uint8Array.from(Buffer.from(mark + text)).buffer)).toBe(text);
    }
  });
});
