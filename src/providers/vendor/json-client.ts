import { LIMITS } from '../../domain/limits';
import { openHttpCarrier } from '../http-carrier';
import type { CarrierRequest, HttpAnswer, MayBegin, NoAnswer } from '../http-exchange';
import { prefixOf } from './vendor';

/** Requests in JSON to a vendor, for one account. */
export interface JsonClient {
  post(path: string, body: unknown, mayBegin?: () => boolean): Promise<HttpAnswer | NoAnswer>;
  put(path: string, body: unknown): Promise<HttpAnswer | NoAnswer>;
  get(path: string): Promise<HttpAnswer | NoAnswer>;
  handOver: ReturnType<typeof openHttpCarrier>['handOver'];
  close(): Promise<void>;
}

/** Nothing was asked, because the account's own key or password cannot be read. */
export const UNREADABLE: NoAnswer = { code: 'credentials_unreadable', offered: false, stayed: false };

export function openJsonClient(options: {
  /** The vendor's address, or the one that stands for it. */
  base: string;
  /** Called for each request, because some vendors want a token that is valid for minutes. Throws for a key that is none. */
  authorization(): string;
  answerMs: number | undefined;
}): JsonClient {
  const { base, authorization } = options;
  const carrier = openHttpCarrier({
    url: new URL(base),
    connections: LIMITS.vendorConnections,
    answerMs: options.answerMs ?? LIMITS.vendorAnswerMs,
    answerBytes: LIMITS.vendorAnswerBytes,
  });
  const prefix = prefixOf(base);
  const accept = 'application/json';
  const ask = async (request: CarrierRequest, mayBegin: MayBegin) => {
    let authorized: string;
    try {
      authorized = authorization();
    } catch {
      return UNREADABLE;
    }
    return carrier.ask(
      { ...request, headers: { authorization: authorized, accept, ...request.headers } },
      mayBegin,
    );
  };
  const give = (method: 'POST' | 'PUT', path: string, body: unknown, mayBegin: MayBegin = () => true) =>
    ask(
      {
        ...{ method, path: prefix + path, body: JSON.stringify(body) },
        headers: { 'content-type': 'application/json' },
      },
      mayBegin,
    );
  return {
    post: (path, body, mayBegin) => give('POST', path, body, mayBegin),
    put: (path, body) => give('PUT', path, body),
    get: (path) => ask({ method: 'GET', path: prefix + path }, () => true),
    handOver: carrier.handOver,
    close: () => carrier.close(),
  };
}
