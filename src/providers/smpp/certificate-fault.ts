import { UNTRUSTED_CERTIFICATE } from '../../domain/untrusted-certificate';

/**
 * What is wrong with a centre's certificate, and what to do about it; `undefined` of other errors. A certificate
 * does not get better by trying again, and the error itself holds all of it, which is too much for a log.
 */
export function certificateFault(error: unknown): { code: string; what: string } | undefined {
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
