/** Proves which relay addresses are accepted, and that no error repeats a password. */

import { parseSmtpRelays } from '../../src/domain/smtp-relays';

const PLAIN = {
  host: 'mx.example.org',
  port: 25,
  secure: false,
  tls: 'opportunistic',
  weight: 1,
  user: undefined,
  password: undefined,
};

test.each([
  ['smtp://mx.example.org', PLAIN],
  ['smtp://mx.example.org:80', { ...PLAIN, port: 80 }],
  ['smtp://MX.example.org:2525?weight=3&tls=none', { ...PLAIN, port: 2525, weight: 3, tls: 'none' }],
  ['smtp://ann@mx.example.org', { ...PLAIN, port: 587, tls: 'required', user: 'ann' }],
  [
    'smtps://ann:p%40ss%2C%3A@mx.example.org',
    { ...PLAIN, port: 465, secure: true, tls: 'required', user: 'ann', password: 'p@ss,:' },
  ],
  ['smtp://[::1]:2525', { ...PLAIN, host: '::1', port: 2525 }],
  ['smtp://10.0.0.1', { ...PLAIN, host: '10.0.0.1' }],
])('%s names a relay', (text, relay) => {
  expect(parseSmtpRelays(text)).toEqual([relay]);
});

test('several are separated by commas', () => {
  expect(parseSmtpRelays('smtp://a.example, smtps://b.example?weight=2')).toMatchObject([
    { host: 'a.example', weight: 1 },
    { host: 'b.example', weight: 2, port: 465 },
  ]);
});

test.each([
  ['', 'not an address'],
  ['mx.example.org', 'not an address'],
  ['http://mx.example.org', 'must begin with smtp://'],
  ['smtp://mx.example.org/inbox', 'nothing but'],
  // Slashes of a generated password.
  ['smtp://ann:secret/word@mx.example.org', 'are written %2F'],
  ['smtp://ann:12/word@mx.example.org', 'are written %2F'],
  ['smtp://mx.example.org?wieght=2', 'only weight and tls'],
  ['smtp://mx.example.org?weight=0', 'weight must be'],
  ['smtp://mx.example.org?tls=maybe', 'tls must be'],
  ['smtps://mx.example.org?tls=none', 'contradicts'],
  ['smtp://a.example,smtp://secret:word@b.example:x', 'relay 2: this is not an address'],
])('%j is refused in words that hold no password', (text, reason) => {
  const said = parseSmtpRelays(text);
  expect(said).toContain(reason);
  expect(said).not.toMatch(/secret|:word/);
});
