/** What an endpoint's owner is told of a connection that TLS refused; `undefined` for what is not of TLS. */
export function tlsCodeOf(code: string): string | undefined {
  if (UNTRUSTED.has(code)) return 'certificate_untrusted';
  return FAULTS[code] ?? (/^(EPROTO$|ERR_SSL_)/.test(code) ? 'tls_failed' : undefined);
}

const FAULTS: Partial<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'certificate_expired',
  CERT_NOT_YET_VALID: 'certificate_not_yet_valid',
  CERT_REVOKED: 'certificate_revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate_wrong_name',
};

/** OpenSSL's words for a chain that ends at nobody who is trusted, one without its middle among them. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_CHAIN_TOO_LONG',
  'INVALID_CA',
  'INVALID_PURPOSE',
]);
