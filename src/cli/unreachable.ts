import { UNTRUSTED_CERTIFICATE } from '../domain/untrusted-certificate';

/** The reason behind `fetch failed`. */
export function reasonOf(error: Error): Error & { code?: string } {
  let reason = error;
  while (reason.cause instanceof Error) reason = reason.cause;
  return reason;
}

/** What to do where something listens at the address, and cannot be spoken to as the address says. */
export function wayIn(url: string, { code = '' }: { code?: string }): string | undefined {
  if (UNTRUSTED_CERTIFICATE.has(code))
    return 'Let NODE_EXTRA_CA_CERTS name the file of the authority that signed its certificate.';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'Use the name that its certificate is for.';
  if (code === 'CERT_HAS_EXPIRED') return 'Renew its certificate.';
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return 'Write the address with http:// if it speaks no https there.';
  if (code === 'UND_ERR_SOCKET' && url.startsWith('http:'))
    return 'Write the address with https:// if it speaks https there.';
  return undefined;
}
