import { isIP } from 'node:net';
import { z } from 'zod';
import { parseOptedOutCodes } from './domain/opted-out-codes';
import { ESCAPED, parseSmtpRelays } from './domain/smtp-relays';

/** The kinds of values of variables (config.ts). Error messages never repeat a secret value. */
export const httpUrl = z.url({
  protocol: /^https?$/,
  error: 'this must be an address such as https://fanfare.example.com',
});
export const baseUrl = httpUrl.transform((value) => value.replace(/\/+$/, ''));

/** Modes of TLS that the driver takes for `verify-full`. It warns of that at each start, because a later one will not. */
const AS_VERIFY_FULL = ['allow', 'prefer', 'require', 'verify-ca'];
const SSL_MODES = ['disable', 'no-verify', 'verify-full', ...AS_VERIFY_FULL];

export const postgresUrl = z
  .url({
    protocol: /^postgres(ql)?$/,
    error:
      'this must be postgres://user:password@host:5432/name; characters such as / and # in a password are written %2F and %23',
  })
  .transform((value, context) => {
    const { searchParams } = new URL(value);
    const mode = searchParams.get('sslmode');
    if (mode === null || searchParams.has('uselibpqcompat')) return value;
    if (SSL_MODES.includes(mode)) {
      return AS_VERIFY_FULL.includes(mode) ? value.replace(`sslmode=${mode}`, 'sslmode=verify-full') : value;
    }
    context.addIssue({ code: 'custom', message: 'its sslmode must be disable, no-verify or verify-full' });
    return z.NEVER;
  });
/** Shown to people, so that it must hold no secret. */
export const openUrl = baseUrl.refine((value) => {
  const { username, password, search, hash } = new URL(value);
  return !username && !password && !search && !hash;
}, 'this must be an address without user, password, query and fragment');
/** Tokens of a log-in pass there: without TLS on this machine only. */
export const issuerUrl = httpUrl.refine((value) => {
  const { protocol, hostname } = new URL(value);
  return protocol === 'https:' || /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}, 'this must be https, unless it is on this machine');

/** A whole number within these bounds. Spaces alone are refused, because JavaScript reads them as 0. */
export const whole = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  numeric(
    (value) => Number.isSafeInteger(value) && value >= least && value <= most,
    `a whole number from ${least}${most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`}`,
  );
export const port = whole(0, 65_535);
export const positive = (most: number) =>
  numeric((value) => value > 0 && value <= most, `a number above 0, at most ${most}`);
export const rate = positive(100_000);

const SHOWN_MAX = 40;

function numeric(isAllowed: (value: number) => boolean, what: string) {
  return z.string().transform((text, context) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (isAllowed(value)) return value;
    const shown = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
    context.addIssue({ code: 'custom', message: `this must be ${what}, not ${JSON.stringify(shown)}` });
    return z.NEVER;
  });
}

export const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((value) => value === 'true');

export const domain = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i, 'this is not a domain name');
export const smtpRelays = z.string().transform((value, context) => {
  const relays = parseSmtpRelays(value);
  if (typeof relays !== 'string') return relays;
  context.addIssue({ code: 'custom', message: relays });
  return z.NEVER;
});
export const hostAndPort = z.string().transform((value, context) => {
  const [, host, digits] = /^(.+):(\d{1,5})$/.exec(value) ?? [];
  if (host && Number(digits) <= 65_535) return { host: host.replace(/^\[|\]$/g, ''), port: Number(digits) };
  context.addIssue({ code: 'custom', message: 'this is not a host and a port such as 0.0.0.0:2525' });
  return z.NEVER;
});

/** Error messages do not repeat the value, because it contains a password. */
export const urls = (protocol: RegExp) =>
  z
    .string()
    .refine(
      (value) => value.split(',').every((one) => z.url({ protocol }).safeParse(one.trim()).success),
      `this must be a URL with ${secureOrNot(protocol)}, or several with commas between them; ${ESCAPED}`,
    );

/** `smpp:// or smpps://` of `^smpps?$`. */
const secureOrNot = ({ source }: RegExp) => {
  const scheme = source.replace(/[\^$]|s\?/g, '');
  return `${scheme}:// or ${scheme}s://`;
};

/** Tags are numbers such as 0x1400. */
export const tlvs = z.string().transform((value, context) => {
  const known = z.record(z.string().regex(/^(0x[\da-fA-F]{1,4}|\d{1,5})$/), z.string().max(250));
  try {
    return known.parse(JSON.parse(value));
  } catch {
    context.addIssue({ code: 'custom', message: 'this must be JSON such as {"0x1400": "1101234567890"}' });
    return z.NEVER;
  }
});

/** 32 random bytes each; the first one encrypts. Error messages do not repeat them. */
export const secretsKeys = z.string().transform((value, context) => {
  const keys = value.split(',').map((one) => {
    const text = one.trim();
    if (/^[\da-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
    return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined;
  });
  const sound = keys.filter((key) => key !== undefined);
  if (sound.length === keys.length) return sound;
  const message =
    'a key is 32 random bytes in base64 or hexadecimal, as `openssl rand -base64 32` makes them; several have commas between them';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

export const optedOutCodes = z.string().transform((value, context) => {
  const codes = parseOptedOutCodes(value);
  if (typeof codes !== 'string') return codes;
  context.addIssue({ code: 'custom', message: codes });
  return z.NEVER;
});

/**
 * A number of proxies, or their addresses. Host names are refused, because a name is looked up once and may
 * later belong to another machine.
 */
export const trustedProxies = z.string().transform((value, context) => {
  if (/^[1-9]$/.test(value)) return Number(value);
  const addresses = value.split(',').map((one) => one.trim());
  const wrong = addresses.filter((one) => !isNetwork(one));
  if (wrong.length === 0) return addresses;
  const message =
    'this is neither a number from 1 to 9 nor a list of addresses or networks such as 10.0.0.0/8';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

/** An address, a network, or one of the names that the server knows for some networks. */
function isNetwork(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true;
  const [address = '', bits, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}
