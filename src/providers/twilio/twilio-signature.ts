import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { type Callback, header } from '../vendor/vendor';

/**
 * Whether a request is signed with one of the tokens. `X-Twilio-Signature` is the base64 of HMAC-SHA1 over the address as
 * it was given to the carrier and, for a form, each name with its values, sorted. A body of another kind is covered by
 * `bodySHA256` in the address. Nothing in it tells a time, so that replays have to be harmless.
 */
export function isSignedByTwilio(callback: Callback, tokens: readonly string[], isTwilio: boolean): boolean {
  // Services with the same API sign in the same way, some under a name of their own.
  const given =
    header(callback, 'x-twilio-signature') ??
    (isTwilio ? undefined : header(callback, 'x-signalwire-signature'));
  if (given === undefined) return false;
  const fields = signedFields(callback);
  if (fields === undefined) return false;
  const urls = urlForms(callback.url);
  return tokens.some((token) => urls.some((url) => isEqual(given, signatureOf(token, url + fields))));
}

/** `undefined` for a body that is not the one that was signed. */
function signedFields(callback: Callback): string | undefined {
  const { method, query, body } = callback;
  const hash = query.get('bodySHA256');
  if (hash !== null) {
    const actual = createHash('sha256').update(body).digest('hex');
    return isEqual(hash.toLowerCase(), actual) ? '' : undefined;
  }
  if (method === 'GET') return '';
  if (body.length > 0 && !isForm(callback)) return undefined;
  const values = new Map<string, Set<string>>();
  for (const [name, value] of new URLSearchParams(body.toString('utf8'))) {
    values.set(name, (values.get(name) ?? new Set()).add(value));
  }
  return [...values.keys()]
    .sort()
    .map((name) =>
      [...(values.get(name) ?? [])]
        .sort()
        .map((value) => name + value)
        .join(''),
    )
    .join('');
}

export const isForm = (callback: Callback): boolean =>
  /^application\/x-www-form-urlencoded\b/i.test(header(callback, 'content-type') ?? '');

/** Senders differ in whether they sign the port, also where it is the scheme's own. */
function urlForms(url: string): string[] {
  const parts = /^(https?):\/\/([^/?#]+?)(?::(\d+))?([/?#].*)?$/i.exec(url);
  if (!parts) return [url];
  const [, scheme = '', host = '', port, rest = ''] = parts;
  const own = scheme.toLowerCase() === 'https' ? '443' : '80';
  const bare = `${scheme}://${host}${rest}`;
  const full = `${scheme}://${host}:${port ?? own}${rest}`;
  return [...new Set([url, bare, full])];
}

const signatureOf = (token: string, text: string): string =>
  createHmac('sha1', token).update(text, 'utf8').digest('base64');

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
