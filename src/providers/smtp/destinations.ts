import { LIMITS } from '../../domain/limits';

/**
 * How much is sent at once to each recipient's host. A host that has asked for less is left alone for a
 * while, longer each time; afterwards it is given one message, and with every one it takes room for one more
 * (slow start), until it is like any other again. Others do not notice.
 */
export interface Destinations {
  /** Waits for room until the given time at the latest. */
  enter(domain: string, deadlineMs: number): Promise<Entry>;
  /** How long the host is still to be left alone. */
  silentMs(domain: string): number;
}

export type Entry =
  /** Leaving again is nothing. */
  | { kind: 'room'; leave(outcome: 'taken' | 'slow_down' | 'other'): void }
  | { kind: 'wait'; retryAfterMs: number };

interface Host {
  sending: number;
  waiting: (() => void)[];
  /** Below the bound of all hosts while it is in slow start. */
  room: number;
  silentUntilMs: number;
  silenceMs: number;
}

export function createDestinations(now: () => number = Date.now): Destinations {
  const hosts = new Map<string, Host>();

  function hostOf(domain: string): Host {
    const known = hosts.get(domain);
    if (known) return known;
    const fresh = {
      sending: 0,
      waiting: [],
      room: LIMITS.smtpPerDestination,
      silentUntilMs: 0,
      silenceMs: 0,
    };
    hosts.set(domain, fresh);
    return fresh;
  }

  /** Deletes a host about which nothing has to be remembered. */
  function forget(domain: string, host: Host): void {
    if (host.sending > 0 || host.waiting.length > 0) return;
    if (host.silenceMs === 0 || hosts.size > LIMITS.smtpDestinations) hosts.delete(domain);
  }

  function leave(domain: string, host: Host, startedAtMs: number, outcome: Outcome) {
    host.sending -= 1;
    learn(host, startedAtMs, now(), outcome);
    while (host.sending < host.room && host.waiting.length > 0) {
      host.sending += 1;
      host.waiting.shift()?.();
    }
    forget(domain, host);
  }

  return {
    silentMs: (domain) => Math.max(0, (hosts.get(domain)?.silentUntilMs ?? 0) - now()),
    async enter(domain, deadlineMs) {
      const host = hostOf(domain);
      const isSlow = host.silenceMs > 0;
      // In slow start it is unknown how long it takes; others wait no longer than their batch does.
      const patientUntilMs = isSlow ? Math.min(deadlineMs, now() + LIMITS.smtpSlowWaitMs) : deadlineMs;
      const silentMs = host.silentUntilMs - now();
      if (silentMs > 0) return { kind: 'wait', retryAfterMs: silentMs };
      if (host.sending < host.room) host.sending += 1;
      else if (!(await roomIn(host, patientUntilMs - now()))) {
        forget(domain, host);
        return { kind: 'wait', retryAfterMs: Math.max(host.silentUntilMs - now(), LIMITS.smtpSlowWaitMs) };
      }
      const startedAtMs = now();
      if (host.silentUntilMs > startedAtMs) {
        leave(domain, host, startedAtMs, 'other');
        return { kind: 'wait', retryAfterMs: host.silentUntilMs - startedAtMs };
      }
      let hasLeft = false;
      return {
        kind: 'room',
        leave(outcome) {
          if (!hasLeft) leave(domain, host, startedAtMs, outcome);
          hasLeft = true;
        },
      };
    },
  };
}

function roomIn(host: Host, waitMs: number): Promise<boolean> {
  if (host.sending < host.room) return Promise.resolve(true);
  return new Promise((done) => {
    const enter = () => {
      clearTimeout(timer);
      done(true);
    };
    const timer = setTimeout(
      () => {
        host.waiting.splice(host.waiting.indexOf(enter), 1);
        done(false);
      },
      Math.max(0, waitMs),
    );
    host.waiting.push(enter);
  });
}

type Outcome = 'taken' | 'slow_down' | 'other';

/** What an answer says of the host's pace. */
function learn(host: Host, startedAtMs: number, nowMs: number, outcome: Outcome): void {
  // Several at once get the same answer; only what was sent after the silence counts anew.
  if (outcome === 'slow_down' && startedAtMs >= host.silentUntilMs) {
    host.silenceMs = Math.min(host.silenceMs * 2 || LIMITS.smtpSilenceFirstMs, LIMITS.smtpSilenceMaxMs);
    host.silentUntilMs = nowMs + host.silenceMs;
    host.room = 1;
  } else if (outcome === 'taken' && host.silenceMs > 0) {
    host.room += 1;
    if (host.room >= LIMITS.smtpPerDestination) host.silenceMs = 0;
  }
}
