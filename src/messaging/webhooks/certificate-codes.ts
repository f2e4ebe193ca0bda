import { UNTRUSTED_CERTIFICATE } from '../../domain/untrusted-certificate';

/** What an endpoint's owner is told of a connection that TLS refused; `undefined` for what is not of TLS. */
export function tlsCodeOf(code: string): string | undefined {
  if (UNTRUSTED_CERTIFICATE.has(code)) return 'certificate_untrusted';
  return FAULTS[code] ?? (/^(EPROTO$|ERR_SSL_)/.test(code) ? 'tls_failed' : undefined);
}

const FAULTS: Partial<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'certificate_expired',
  CERT_NOT_YET_VALID: 'certificate_not_yet_valid',
  CERT_REVOKED: 'certificate_revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate_wrong_name',
};
