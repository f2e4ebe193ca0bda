/** A relay as FANFARE_SMTP_URL names it. */
export interface SmtpRelayAddress {
  host: string;
  port: number;
  /** TLS from the first byte (`smtps`). */
  secure: boolean;
  /** How STARTTLS is used otherwise. */
  tls: 'required' | 'opportunistic' | 'none';
  /** Its share of the mail, relative to the other relays. */
  weight: number;
  user: string | undefined;
  password: string | undefined;
}

const RELAYS_MAX = 20;
const WEIGHT_MAX = 1_000;
const SETTINGS = ['weight', 'tls'];

/** Generated passwords hold such characters, and what is behind one would be taken for the host, the path or another address. */
export const ESCAPED =
  'characters such as / @ : # and , in a user or password are written %2F, %40, %3A, %23 and %2C';

/**
 * Parses relays separated by commas. For a wrong one it returns a sentence instead; the sentence never contains
 * the address, because that may hold a password.
 */
export function parseSmtpRelays(text: string): SmtpRelayAddress[] | string {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.length > RELAYS_MAX) return `at most ${RELAYS_MAX} relays can be named`;
  const relays: SmtpRelayAddress[] = [];
  for (const [i, part] of parts.entries()) {
    const relay = parseOne(part);
    if (typeof relay === 'string') return parts.length === 1 ? relay : `relay ${i + 1}: ${relay}`;
    relays.push(relay);
  }
  return relays;
}

function parseOne(text: string): SmtpRelayAddress | string {
  let url: URL;
  let user: string;
  let password: string;
  try {
    // The URL standard has special rules for hosts of schemes it knows; use those of http.
    url = new URL(text.replace(/^smtps?:/i, 'http:'));
    user = decodeURIComponent(url.username);
    password = decodeURIComponent(url.password);
  } catch {
    return `this is not an address such as smtp://user:password@mail.example.com:587; ${ESCAPED}`;
  }
  const scheme = /^smtps?(?=:\/\/)/i.exec(text)?.[0].toLowerCase();
  if (!scheme || !url.hostname) return 'it must begin with smtp:// or smtps://, and name a host';
  if (url.pathname !== '/' || url.hash)
    return `nothing but ?weight= and ?tls= may follow the port; ${ESCAPED}`;
  const unknown = [...url.searchParams.keys()].find((key) => !SETTINGS.includes(key));
  if (unknown !== undefined) return 'only weight and tls can be set behind the question mark';
  const weight = Number(url.searchParams.get('weight') ?? 1);
  if (!Number.isInteger(weight) || weight < 1 || weight > WEIGHT_MAX) {
    return `weight must be a whole number from 1 to ${WEIGHT_MAX}`;
  }
  const secure = scheme === 'smtps';
  // A password is never sent unencrypted unless the operator asks for it.
  const tls = url.searchParams.get('tls') ?? (user === '' ? 'opportunistic' : 'required');
  if (tls !== 'required' && tls !== 'opportunistic' && tls !== 'none') {
    return 'tls must be required, opportunistic or none';
  }
  if (secure && tls === 'none') return 'smtps with tls=none contradicts itself';
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(portIn(text)) || (secure ? 465 : user === '' ? 25 : 587),
    secure,
    tls,
    weight,
    user: user || undefined,
    password: password || undefined,
  };
}

/** The port as written, because the URL parser drops port 80 from an http address. */
function portIn(text: string): string | undefined {
  return /^[a-z]+:\/\/(?:[^/?#]*@)?(?:\[[^\]]*\]|[^/?#:@]*):(\d+)(?:[/?#]|$)/i.exec(text)?.[1];
}
