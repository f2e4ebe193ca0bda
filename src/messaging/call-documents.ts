import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { isDomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { CallDocuments, DocumentAnswer, DocumentRequest } from '../domain/voice/call-documents';
import { hostOf, type PinnedAddress, type TargetGuard } from './webhooks/target-guard';

/**
 * Fetches documents that calls continue with, from any address in a document. The address is checked like a
 * webhook's, again on each HTTP redirect, and time and length have our limits. It logs nothing, because an
 * address may hold values meant only for its author and the call.
 */
export function createCallDocuments(
  guard: TargetGuard,
  answerMs: number = LIMITS.callDocumentMs,
): CallDocuments {
  async function follow(request: DocumentRequest, signal: AbortSignal): Promise<DocumentAnswer> {
    let target = withFields(request);
    let { method } = request;
    for (let hops = 0; ; hops++) {
      const url = callable(target);
      const addresses = await orAbort(guard.addressesOf(url), signal);
      const body = method === 'POST' ? new URLSearchParams(request.fields).toString() : undefined;
      const response = await send(url, { body, addresses, signal });
      const status = response.statusCode ?? 0;
      const elsewhere = status >= 300 && status < 400 ? response.headers.location : undefined;
      if (elsewhere === undefined) return await answerFrom(response, url);
      response.destroy();
      if (hops === LIMITS.callDocumentHops) throw new Problem('document_redirects');
      if (!URL.canParse(elsewhere, url.href)) throw new Problem('document_address');
      target = new URL(elsewhere, url);
      // All redirects but these two are followed by a GET without the form's fields (RFC 9110, 15.4).
      if (status !== 307 && status !== 308) method = 'GET';
    }
  }

  return {
    async fetch(request, signal) {
      const late = AbortSignal.timeout(answerMs);
      const deadline = signal ? AbortSignal.any([signal, late]) : late;
      try {
        return await follow(request, deadline);
      } catch (error) {
        return { problem: deadline.aborted ? 'document_timeout' : problemOf(error) };
      }
    },
  };
}

class Problem extends Error {}

function withFields({ url, method, fields }: DocumentRequest): URL {
  const target = new URL(url);
  if (method === 'GET')
    for (const [name, value] of Object.entries(fields)) target.searchParams.set(name, value);
  return target;
}

/** Refuses an address with a password, because every user who may read templates could read it. */
function callable(url: URL): URL {
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:';
  if (!isHttp || url.username || url.password) throw new Problem('document_address');
  return url;
}

interface Sending {
  body: string | undefined;
  addresses: readonly PinnedAddress[];
  signal: AbortSignal;
}

function send(url: URL, { body, addresses, signal }: Sending): Promise<IncomingMessage> {
  const host = hostOf(url);
  const isTls = url.protocol === 'https:';
  const options: RequestOptions = {
    method: body === undefined ? 'GET' : 'POST',
    host,
    port: url.port || (isTls ? 443 : 80),
    path: url.pathname + url.search,
    headers: {
      host: url.host,
      accept: 'application/xml, text/xml;q=0.9, */*;q=0.1',
      'user-agent': 'fanfare-calls',
      ...(body === undefined ? {} : FORM),
    },
    // A kept connection may be closed just now, and the request is not repeated.
    agent: false,
    lookup: pinned(addresses),
    signal,
  };
  return new Promise((done, fail) => {
    const request = isTls
      ? httpsRequest({ ...options, ...(isIP(host) ? {} : { servername: host }) })
      : httpRequest(options);
    request.on('response', done).on('error', fail).end(body);
  });
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** Connects to the addresses that were checked, without a second lookup. */
function pinned(addresses: readonly PinnedAddress[]): NonNullable<RequestOptions['lookup']> {
  return (_name, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
}

async function answerFrom(response: IncomingMessage, url: URL): Promise<DocumentAnswer> {
  const { statusCode = 0 } = response;
  if (statusCode < 200 || statusCode > 299) {
    response.destroy();
    throw new Problem(`document_${statusCode}`);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    // Leaving the loop closes the connection.
    if (bytes > LIMITS.callDocumentBytes) throw new Problem('document_too_large');
    chunks.push(chunk as Buffer);
  }
  try {
    return { url: url.href, text: new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)) };
  } catch {
    throw new Problem('invalid_document');
  }
}

function problemOf(error: unknown): string {
  if (error instanceof Problem) return error.message;
  return isDomainError(error) && error.code === 'private_target'
    ? 'document_refused'
    : 'document_unreachable';
}

/** Stops waiting when the time is over, because a resolver may never answer. */
async function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw signal.reason;
  const aborted = new Promise<never>((_, fail) => {
    signal.addEventListener('abort', () => fail(signal.reason as Error), { once: true });
  });
  return Promise.race([work, aborted]);
}
