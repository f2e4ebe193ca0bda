import { UNTRUSTED_CERTIFICATE } from '../../domain/untrusted-certificate';

/** The code shown to an endpoint's owner for a TLS error; `undefined` for other errors. */
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
