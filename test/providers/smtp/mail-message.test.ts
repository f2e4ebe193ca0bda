import PostalMime from 'postal-mime';
import { composeMail, writeHeaders } from '../../../src/providers/smtp/mail-message';
import { mail } from './smtp-rig';

function written(given: Parameters<typeof mail>[0]): string {
  const { headers, body } = composeMail(mail(given), Date.UTC(2026, 10, 21, 12));
  return `${writeHeaders(headers)}\r\n${body}`;
}

const TEXTS = [
  'Hello',
  'Grüße aus Köln',
  '日本語のとても長い件名なので折り返す必要があります。日本語のとても長い件名です。',
  'A subject that is far longer than a line of seventy-six characters, and is folded therefore, twice even',
  '=?utf-8?B?SGVsbG8=?= is what it says',
  'emoji 👩‍👩‍👧‍👦 family, and "quotes", and (parentheses), <angles>; all of it',
];

test.each(TEXTS)('a subject reads as it was given: %s', async (subject) => {
  const parsed = await PostalMime.parse(written({ subject }));
  expect(parsed.subject).toBe(subject);
});

test.each([
  ['news@example.org', ''],
  ['Example News <news@example.org>', 'Example News'],
  ['"Example, Inc." <news@example.org>', 'Example, Inc.'],
  ['"Grüße \\"aus\\" Köln" <news@example.org>', 'Grüße "aus" Köln'],
])('a sender reads as it was given: %s', async (from, name) => {
  const parsed = await PostalMime.parse(written({ from }));
  expect(parsed.from).toMatchObject({ address: 'news@example.org', name });
});

test.each([
  ['plain', 'Hello\nthere\n'],
  ['with umlauts', `${'Grüße an alle, und viel Spaß = Freude. '.repeat(20)}\n\ttrailing \n`],
  ['in another script', '日本語のメール\n'.repeat(100)],
  ['with long lines', `${'x'.repeat(3_000)}\n${'='.repeat(300)}\n`],
  ['with dots and boundaries', '.\n..\n--=_x\nFrom here\n'],
])('a body %s reads as it was given, and keeps to what mail may carry', async (_, body) => {
  const raw = written({ text: body, html: `<pre>${body}</pre>` });
  for (const line of raw.split('\r\n')) {
    expect(line.length).toBeLessThanOrEqual(998);
    expect(line).toMatch(/^[\x20-\x7e\t]*$/);
  }
  const parsed = await PostalMime.parse(raw);
  expect(parsed.text?.replace(/\r\n/g, '\n').trimEnd()).toBe(body.trimEnd());
  expect(parsed.html?.replace(/\r\n/g, '\n').trimEnd()).toBe(`<pre>${body}</pre>`);
});

test('headers of its own are written once, on lines of their own, and cannot replace ours', async () => {
  const headers = {
    'Reply-To': 'ask@example.org',
    'List-Unsubscribe': `<https://example.org/u/${'t'.repeat(200)}>, <mailto:u+${'t'.repeat(50)}@example.org>`,
    'X-Note': 'one\r\nBcc: other@example.net',
    Bcc: 'other@example.net',
    From: 'other@example.net',
    'Content-Type': 'text/calendar',
    'Bad Name': 'x',
  };
  const parsed = await PostalMime.parse(written({ headers }));
  const all = parsed.headers.map(({ key }) => key);
  expect(all).toEqual([
    'from',
    'to',
    'subject',
    'date',
    'message-id',
    'mime-version',
    'reply-to',
    'list-unsubscribe',
    'x-note',
    'content-type',
  ]);
  const valueIn = (name: string) => parsed.headers.find(({ key }) => key === name)?.value;
  expect(valueIn('list-unsubscribe')).toBe(headers['List-Unsubscribe']);
  expect(valueIn('date')).toBe('Sat, 21 Nov 2026 12:00:00 +0000');
});
