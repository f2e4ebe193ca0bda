import { createServer, type Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { LIMITS } from '../domain/limits';
import type { App } from './request/routing';

export interface KeyPair {
  cert: Buffer;
  key: Buffer;
}

/** Forward secrecy and authenticated encryption only, also in TLS 1.2 (RFC 9325). */
const CONTEXT = {
  minVersion: 'TLSv1.2' as const,
  ciphers: [
    ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
    ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
    ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
    ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ].join(':'),
  honorCipherOrder: true,
};

export const tlsOptions = ({ cert, key }: KeyPair) => ({
  ...CONTEXT,
  ...{ cert, key },
  handshakeTimeout: LIMITS.tlsHandshakeMs,
  headersTimeout: LIMITS.httpHeadersTimeoutMs,
});

/** For connections from now on; those that are open go on. */
export function renewCertificate(app: App, { cert, key }: KeyPair): void {
  (app.server as unknown as TlsServer).setSecureContext({ ...CONTEXT, cert, key });
}

/**
 * The API without TLS, for callers of this machine (docs/operating.md): the process's own campaigns, commands and
 * health checks. They reach it by an address that no certificate names. It listens on the loopback interface
 * only, and answers exactly what the other listener answers.
 */
export function createLoopback(app: App): Server {
  const server = createServer(
    { headersTimeout: LIMITS.httpHeadersTimeoutMs, keepAliveTimeout: 0 },
    (request, response) => app.routing(request, response),
  );
  server.requestTimeout = LIMITS.httpRequestTimeoutMs;
  server.maxConnections = LIMITS.httpConnections;
  server.setTimeout(LIMITS.httpIdleTimeoutMs);
  // Broken requests are answered as those of the main server are.
  server.on('clientError', (error, socket) => app.server.emit('clientError', error, socket));
  return server;
}

/** Whether the public address, where browsers come, is https. */
export const isHttps = (publicUrl: string | undefined): boolean => publicUrl?.startsWith('https:') ?? false;
