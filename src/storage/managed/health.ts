import { connect } from 'node:net';
import { join } from 'node:path';
import type { HealthCheck } from '../../supervision/keep-running';
import { SOCKET_NAME } from './socket-directory';

const EVERY_MS = 10_000;
/** In a row, which takes a minute and a half. Counted, because a paused machine lets time pass and asks nothing. */
const SILENCES = 5;
/** Every server replies with one byte, before it looks at users, databases or free connections. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * Finds a server that hangs: one that says nothing at all to new connections. One that is busy, recovers, or has no
 * connection left answers, and is never ended, because a restart would only cost it what it does.
 */
export function serverHealth(socketDirectory: string, everyMs = EVERY_MS): HealthCheck {
  let silences = 0;
  return {
    everyMs,
    restartAfterMs: () => 0,
    async ask() {
      silences = (await isSilent(socketDirectory, everyMs)) ? silences + 1 : 0;
      if (silences >= SILENCES) throw new Error(`No answer to ${silences} connections in a row`);
    },
  };
}

export function isSilent(socketDirectory: string, limitMs: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(join(socketDirectory, SOCKET_NAME));
    const end = (silent: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      done(silent);
    };
    const timer = setTimeout(end, limitMs, true);
    socket.once('connect', () => socket.write(SSL_REQUEST));
    socket.once('data', () => end(false));
    socket.once('close', () => end(false));
    // More connections wait to be accepted than may. Anything else is a server that ends, which is noticed elsewhere.
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code === 'EAGAIN'));
  });
}
