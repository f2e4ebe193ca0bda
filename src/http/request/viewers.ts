import { pipeline, Readable, Transform } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { FastifyRequest, onSendHookHandler, preSerializationHookHandler } from 'fastify';
import { type AuthKind, callerOf } from './caller';
import { type App, addRouteHooks } from './routing';

/** Whether the caller may see addresses, and find by them. A viewer may not (api.md 17). */
export const seesAddresses = (request: FastifyRequest): boolean => callerOf(request).role !== 'viewer';

/**
 * Masks the addresses in every answer to a viewer: JSON, CSV files and server-sent events. It is done here, and not
 * where answers are made, so that a new endpoint cannot forget it.
 */
export function maskForViewers(app: App): void {
  app.addHook('onRoute', (route) => {
    const { auth } = route.config ?? {};
    // Templates are written for recipients and name none; what they name is the workspace's own.
    if ((auth && UNSEEN.has(auth)) || route.schema?.operation?.tag === 'Templates') return;
    addRouteHooks(route, { preSerialization: maskJson, onSend: maskStream });
  });
}

/** Routes that admit no user, and so no viewer. */
const UNSEEN: ReadonlySet<AuthKind> = new Set(['open', 'send', 'metrics']);

const isViewer = ({ caller }: FastifyRequest): boolean => caller?.role === 'viewer';

const maskJson: preSerializationHookHandler = (request, _reply, payload, done) => {
  if (!isViewer(request)) return done(null, payload);
  let masked: unknown;
  try {
    masked = maskedValue(payload);
  } catch (error) {
    return done(error as Error);
  }
  done(null, masked);
};

const maskStream: onSendHookHandler = (request, _reply, payload, done) => {
  if (!isViewer(request) || !(payload instanceof Readable)) return done(null, payload);
  const masked = maskLines();
  pipeline(payload, masked, () => undefined);
  done(null, masked);
};

/** Line by line, because a chunk may end within an address. Lines of CSV and of events are short. */
function maskLines(): Transform {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return new Transform({
    transform(chunk: Buffer | string, _encoding, done) {
      const text = rest + (typeof chunk === 'string' ? chunk : decoder.write(chunk));
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      done(null, end === 0 ? undefined : maskAddresses(text.slice(0, end)));
    },
    flush(done) {
      const last = maskAddresses(rest + decoder.end());
      done(null, last === '' ? undefined : last);
    },
  });
}

/**
 * Addresses as a viewer sees them (api.md 17): `a***@e***` and `+1•••43`, with the country's code whole. Every email
 * address and phone number within a text is masked, because addresses also stand in explanations, params and
 * external ids.
 */
export function maskAddresses(text: string): string {
  const emails = text.includes('@') ? text.replace(EMAIL, maskEmail) : text;
  return emails.includes('+') ? emails.replace(PHONE, maskPhone) : emails;
}

/**
 * Matches more than the addresses that the API accepts, because masking too much is better than too little.
 */
const EMAIL = /([^\s@"'<>(),:;[\]\\])[^\s@"'<>(),:;[\]\\]*@([^\s@"'<>(),:;[\]\\])[^\s@"'<>(),:;[\]\\]*/gu;
/** E.164, as all phone numbers are stored. */
const PHONE = /\+([1-9]\d{6,})(?!\d)/g;
/** Country calling codes of one and of two digits (ITU-T E.164, list of assigned codes); all others have three. */
const COUNTRY = /^(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})/;

const maskEmail = (_whole: string, local: string, domain: string) => `${local}***@${domain}***`;
const maskPhone = (_whole: string, digits: string) => `+${COUNTRY.exec(digits)?.[0]}•••${digits.slice(-2)}`;

/**
 * Members that name senders, or the caller. They are not about recipients, and a reader of a campaign has to know who it
 * is from.
 */
const SHOWN: ReadonlySet<string> = new Set([
  'user',
  'from',
  'fromEmail',
  'replyTo',
  'shortCode',
  'callerId',
  'sender',
  'allowedSenders',
]);

/** A copy of a JSON value with masked texts. */
export function maskedValue(value: unknown): unknown {
  if (typeof value === 'string') return maskAddresses(value);
  if (Array.isArray(value)) return value.map(maskedValue);
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      maskAddresses(key),
      SHOWN.has(key) ? member : maskedValue(member),
    ]),
  );
}
