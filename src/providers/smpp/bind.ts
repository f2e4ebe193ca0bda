import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LIMITS } from '../../domain/limits';
import { UNTRUSTED_CERTIFICATE } from '../../domain/untrusted-certificate';
import type { Pdu } from './library';
import { BindRefused, type SessionTimes, SmppSession } from './session';
import type { SmppEndpoint } from './settings';
import { isAccount, statusCode } from './statuses';
import { Window } from './window';

/**
 * Keeps one session to a centre, for as long as the provider is open: when it ends the next is tried for,
 * soon at first and then less often, at moments of chance so that many do not come back together.
 */
export interface Bind {
  /** `undefined` while there is no session. */
  readonly session: SmppSession | undefined;
  /** What a person must see to, if the last try failed of such a thing. */
  readonly refused: Refusal | undefined;
  readonly nextTryMs: number;
  window: Window;
  close(): Promise<void>;
}

/** The centre does not let our account in, or shows a certificate that we do not trust. */
export interface Refusal {
  code: string;
  message: string;
}

export interface BindOptions {
  endpoint: SmppEndpoint;
  times: SessionTimes;
  window: number;
  onDelivery(pdu: Pdu, session: SmppSession): void;
  /** A session has begun or ended, or the account was refused. */
  onChange(): void;
  log: Logger | undefined;
}

/** A session that lasted so long was a good one: the next trouble is a new one. */
const STEADY_MS = 10_000;

export function keepBound(options: BindOptions): Bind {
  const { endpoint, times, onDelivery, onChange, log } = options;
  const closing = new AbortController();
  const state = {
    session: undefined as SmppSession | undefined,
    refused: undefined as Refusal | undefined,
    nextTryMs: Date.now(),
    window: new Window(options.window),
    async close() {
      closing.abort();
      await state.session?.unbind();
      await running;
    },
  };

  async function run(): Promise<void> {
    let failures = 0;
    while (!closing.signal.aborted) {
      const startedMs = Date.now();
      try {
        await live();
        if (closing.signal.aborted) return;
        log?.warn({ host: endpoint.host, port: endpoint.port }, 'The session with the SMS centre has ended');
      } catch (error) {
        note(error);
      }
      if (Date.now() - startedMs > STEADY_MS) failures = 0;
      const pauseMs = reconnectMs(failures++, Math.random());
      state.nextTryMs = Date.now() + pauseMs;
      onChange();
      await delay(pauseMs, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  }

  /** Resolves when the session has ended. */
  async function live(): Promise<void> {
    let closed: () => void = () => undefined;
    const end = new Promise<void>((done) => {
      closed = done;
    });
    const session = await SmppSession.open(endpoint, times, { onDelivery, onClosed: closed }, closing.signal);
    state.session = session;
    state.refused = undefined;
    state.window = new Window(options.window);
    log?.info({ host: endpoint.host, port: endpoint.port }, 'Bound to the SMS centre');
    onChange();
    await end;
    state.session = undefined;
  }

  function note(error: unknown): void {
    if (closing.signal.aborted) return;
    const place = { host: endpoint.host, port: endpoint.port };
    const fault = certificateFault(error);
    if (fault) {
      state.refused = { code: 'smpp_certificate', message: fault.what };
      log?.error({ ...place, code: fault.code }, `${fault.what}; trying again`);
      return;
    }
    state.refused =
      error instanceof BindRefused && isAccount(error.status)
        ? { code: statusCode(error.status), message: 'The SMS centre refuses our account' }
        : undefined;
    log?.warn({ ...place, err: error }, 'No session with the SMS centre; trying again');
  }

  const running = run();
  return state;
}

/** `random` in [0, 1). */
function reconnectMs(failures: number, random: number): number {
  const whole = Math.min(LIMITS.smppReconnectMinMs * 2 ** Math.min(failures, 20), LIMITS.smppReconnectMaxMs);
  return whole * (0.5 + random / 2);
}

/**
 * What is wrong with a centre's certificate, and what to do about it; `undefined` of other errors. A certificate
 * does not get better by trying again, and the error itself holds all of it, which is too much for a log.
 */
function certificateFault(error: unknown): { code: string; what: string } | undefined {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === undefined) return undefined;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const what =
      'The certificate of the SMS centre is for another name: write the host in FANFARE_SMPP_URL as the certificate has it';
    return { code, what };
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    const what =
      "The certificate of the SMS centre is not valid today: have its operator renew it, or set this machine's clock";
    return { code, what };
  }
  if (!UNTRUSTED_CERTIFICATE.has(code)) return undefined;
  const what =
    'The certificate of the SMS centre is not trusted: set NODE_EXTRA_CA_CERTS to a file with the certificate that signed it';
  return { code, what };
}
