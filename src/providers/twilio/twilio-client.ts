import { LIMITS } from '../../domain/limits';
import { openHttpCarrier } from '../http-carrier';
import type { CarrierRequest, HttpAnswer, NoAnswer } from '../http-exchange';
import { prefixOf, type VendorAccount } from '../vendor/vendor';
import { objectIn, type VendorWord, wordIn } from '../vendor/vendor-answer';

export const TWILIO_URL = 'https://api.twilio.com';

/** Requests to Twilio, or to a service with its API, for one account. */
export interface TwilioClient {
  /** A create or an update; lists repeat their key. */
  post(path: string, form: [string, string][], mayBegin?: () => boolean): Asked;
  get(path: string, query?: Record<string, string>): Asked;
  handOver: ReturnType<typeof openHttpCarrier>['handOver'];
  close(): Promise<void>;
}

type Asked = Promise<HttpAnswer | NoAnswer>;

export function openTwilioClient(account: VendorAccount, answerMs: number | undefined): TwilioClient {
  const base = account.settings.url ?? TWILIO_URL;
  const carrier = openHttpCarrier({
    url: new URL(base),
    connections: LIMITS.vendorConnections,
    answerMs: answerMs ?? LIMITS.vendorAnswerMs,
    answerBytes: LIMITS.vendorAnswerBytes,
  });
  const authorization = basicOf(account);
  const own = `${prefixOf(base)}/2010-04-01/Accounts/${account.settings.accountSid}`;

  function ask(method: 'GET' | 'POST', path: string, more: Partial<CarrierRequest>, may = () => true) {
    const headers = { authorization, accept: 'application/json', ...(more.headers as object) };
    return carrier.ask({ ...more, method, path: own + path + (more.path ?? ''), headers }, may);
  }

  return {
    post: (path, form, mayBegin) =>
      ask('POST', path, { headers: FORM, body: new URLSearchParams(form).toString() }, mayBegin),
    get: (path, query = {}) => {
      const text = new URLSearchParams(query).toString();
      return ask('GET', path, { path: text === '' ? '' : `?${text}` });
    },
    handOver: carrier.handOver,
    close: () => carrier.close(),
  };
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** A key replaces the token in requests; the path keeps the account's own id. */
function basicOf({ settings, secrets }: VendorAccount): string {
  const [user, password] =
    settings.apiKey && secrets.apiSecret
      ? [settings.apiKey, secrets.apiSecret]
      : [settings.accountSid, secrets.authToken];
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** Errors come in two forms: Twilio's own, and RFC 9457. */
export function readTwilio({ status, text }: HttpAnswer): VendorWord {
  const body = objectIn(text);
  if (!body) return { kind: 'not_the_vendor' };
  if (status < 300) {
    const providerId = wordIn(body.sid);
    return providerId === undefined
      ? { kind: 'not_the_vendor' }
      : { kind: 'taken', providerId, data: dataOf(body) };
  }
  const code = wordIn(body.code, 40);
  const message = wordIn(body.message) ?? wordIn(body.detail) ?? wordIn(body.title);
  const isForm = code !== undefined || (message !== undefined && body.status !== undefined);
  return isForm ? { kind: 'refused', code, message } : { kind: 'not_the_vendor' };
}

/** How many parts are billed, where it is known at once: with a Messaging Service it is 0 until a sender is chosen. */
function dataOf(body: Record<string, unknown>): Record<string, unknown> | undefined {
  const segments = Number(body.num_segments);
  return Number.isInteger(segments) && segments > 0 ? { segments } : undefined;
}
