import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { isDomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { UNTRUSTED_CERTIFICATE } from '../../domain/untrusted-certificate';
import { hostOf, type PinnedAddress, type TargetGuard } from './target-guard';

/** The result of one attempt. Only a 2xx is a success; a redirect is a failure and is not followed. */
export interface PostOutcome {
  success: boolean;
  status: number | null;
  /** Why it failed. */
  code: string | null;
  /** The beginning of the answer's body. */
  answer: string | null;
  retryAfterMs: number | null;
}

export interface WebhookPoster {
  /** Never throws. */
  post(url: string, headers: Record<string, string>, body: string): Promise<PostOutcome>;
  close(): void;
}

/** Unused connections are closed after this time. */
const IDLE_MS = 10_000;
const IDLE_SOCKETS = 50;

export function createWebhookPoster(
  guard: TargetGuard,
  answerMs: number,
  /** Trusted certificate authorities, instead of those that Node trusts. */
  authorities?: Buffer[],
): WebhookPoster {
  const kept = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: IDLE_SOCKETS };
  const trust = authorities ? { ca: authorities } : {};
  const agents = { 'http:': new HttpAgent(kept), 'https:': new HttpsAgent({ ...kept, ...trust }) };

  async function attempt(
    target: URL,
    headers: Record<string, string>,
    body: string,
    signal: AbortSignal,
  ): Promise<PostOutcome> {
    const addresses = await withDeadline(guard.addressesOf(target), signal);
    const send = (fresh: boolean) =>
      sendOnce({ target, addresses, headers, body, signal, fresh, agents, trust });
    try {
      return outcomeOf(await send(false), signal);
    } catch (error) {
      // A kept connection may have been closed by the other side just as it was used again, so that its loss
      // proves nothing.
      if (!(error as { onKeptConnection?: boolean }).onKeptConnection) throw error;
      return outcomeOf(await send(true), signal);
    }
  }

  return {
    async post(url, headers, body) {
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), answerMs);
      try {
        return await attempt(new URL(url), headers, body, deadline.signal);
      } catch (error) {
        const code = deadline.signal.aborted ? 'timeout' : codeOf(error);
        return { success: false, status: null, code, answer: null, retryAfterMs: null };
      } finally {
        clearTimeout(timer);
      }
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

interface Sending {
  target: URL;
  addresses: PinnedAddress[];
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
  /** Use a new connection. */
  fresh: boolean;
  agents: { 'http:': HttpAgent; 'https:': HttpsAgent };
  trust: { ca?: Buffer[] };
}

function sendOnce({
  target,
  addresses,
  headers,
  body,
  signal,
  fresh,
  agents,
  trust,
}: Sending): Promise<IncomingMessage> {
  const isTls = target.protocol === 'https:';
  const host = hostOf(target);
  const bytes = Buffer.from(body);
  return new Promise((done, fail) => {
    const request = (isTls ? httpsRequest : httpRequest)({
      method: 'POST',
      host,
      port: target.port || (isTls ? 443 : 80),
      path: target.pathname + target.search,
      // The name stays in Host and, with TLS, is what the certificate is checked against.
      headers: {
        host: target.host,
        'content-type': 'application/json',
        'content-length': bytes.length,
        'user-agent': 'fanfare-webhooks',
        ...headers,
      },
      ...(isTls ? trust : {}),
      ...(isTls && !isIP(host) ? { servername: host } : {}),
      agent: fresh ? false : agents[isTls ? 'https:' : 'http:'],
      // The addresses that were checked, without a second lookup.
      lookup: (_name, options, callback) => {
        const first = addresses[0] as PinnedAddress;
        if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      signal,
    });
    request.on('response', done);
    request.on('error', (error: NodeJS.ErrnoException) => {
      const lost = request.reusedSocket && CLOSED.has(error.code) && !signal.aborted;
      fail(lost ? Object.assign(error, { onKeptConnection: true }) : error);
    });
    request.end(bytes);
  });
}

/** How the end of a connection shows: EPIPE, where the body was still being written. */
const CLOSED: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE']);

async function outcomeOf(response: IncomingMessage, signal: AbortSignal): Promise<PostOutcome> {
  const status = response.statusCode ?? 0;
  const answer = await beginningOf(response, signal);
  if (status >= 200 && status < 300) return { success: true, status, code: null, answer, retryAfterMs: null };
  const retryAfterMs = ASK_FOR_LESS.has(status) ? parseRetryAfter(response.headers['retry-after']) : null;
  return { success: false, status, code: `http_${status}`, answer, retryAfterMs };
}

const ASK_FOR_LESS = new Set([429, 502, 503, 504]);

/** The status decides: a body that is too long, ends early or never comes changes nothing. */
async function beginningOf(response: IncomingMessage, signal: AbortSignal): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      chunks.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      if (bytes >= LIMITS.webhookAnswerBytes || signal.aborted) break;
    }
  } catch {
    response.destroy();
  }
  const text = Buffer.concat(chunks).toString('utf8').replace(UNPRINTABLE, ' ').trim();
  return text === '' ? null : text.slice(0, LIMITS.webhookAnswerKeptChars);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a database takes no NUL, a terminal no escapes.
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\ud800-\udfff]+/g;

/** Seconds or a date (RFC 9110, 10.2.3). */
function parseRetryAfter(value: string | undefined): number | null {
  if (value === undefined || value === '') return null;
  const seconds = Number(value);
  const ms = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1_000;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), LIMITS.webhookSilenceMs);
}

function codeOf(error: unknown): string {
  if (isDomainError(error)) return error.code;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? (tlsCodeOf(code) ?? code.toLowerCase()) : 'no_answer';
}

async function withDeadline<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const expired = new Promise<never>((_, fail) => {
    signal.addEventListener('abort', () => fail(new Error('Too late')), { once: true });
  });
  return Promise.race([work, expired]);
}

/** The code shown to an endpoint's owner for a TLS error; `undefined` for other errors. */
function tlsCodeOf(code: string): string | undefined {
  if (UNTRUSTED_CERTIFICATE.has(code)) return 'certificate_untrusted';
  return FAULTS[code] ?? (/^(EPROTO$|ERR_SSL_)/.test(code) ? 'tls_failed' : undefined);
}

const FAULTS: Partial<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'certificate_expired',
  CERT_NOT_YET_VALID: 'certificate_not_yet_valid',
  CERT_REVOKED: 'certificate_revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate_wrong_name',
};
