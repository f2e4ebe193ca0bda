import { LIMITS } from '../../domain/limits';
import type { HttpAnswer } from '../http-answer';
import { openHttpCarrier } from '../http-carrier';
import type { NoAnswer } from '../http-exchange';
import { prefixOf } from './vendor';

/** Requests in JSON to a vendor, for one account. */
export interface JsonClient {
  post(path: string, body: unknown, mayBegin?: () => boolean): Promise<HttpAnswer | NoAnswer>;
  put(path: string, body: unknown): Promise<HttpAnswer | NoAnswer>;
  get(path: string): Promise<HttpAnswer | NoAnswer>;
  handOver: ReturnType<typeof openHttpCarrier>['handOver'];
  close(): Promise<void>;
}

export function openJsonClient(options: {
  /** The vendor's address, or the one that stands for it. */
  base: string;
  /** Called for each request, because some vendors want a token that is valid for minutes. */
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
  const give = (method: 'POST' | 'PUT', path: string, body: unknown, mayBegin = () => true) => {
    const headers = { authorization: authorization(), accept, 'content-type': 'application/json' };
    return carrier.ask({ method, path: prefix + path, headers, body: JSON.stringify(body) }, mayBegin);
  };
  return {
    post: (path, body, mayBegin) => give('POST', path, body, mayBegin),
    put: (path, body) => give('PUT', path, body),
    get: (path) =>
      carrier.ask(
        { method: 'GET', path: prefix + path, headers: { authorization: authorization(), accept } },
        () => true,
      ),
    handOver: carrier.handOver,
    close: () => carrier.close(),
  };
}
