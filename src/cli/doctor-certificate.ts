import { readCertificate, UnusableCertificate } from '../providers/smtp/certificate';
import type { Finding, Look } from './doctor';

const DAY_MS = 86_400_000;
/** Automatic renewal happens a month before the end, so that a certificate this close to it was not renewed. */
const RENEWED_DAYS_BEFORE = 14;

/** Checks the certificate of the listener for inbound mail, if it has one. */
export const lookAtCertificate: Look = async ({ config: { smtp } }) => {
  const tls = smtp?.listen?.tls;
  if (!tls) return [];
  const finding = (state: Finding['state'], found: string, wayOut?: string): Finding[] => [
    { check: 'inbound mail', state, found, ...(wayOut === undefined ? {} : { wayOut }) },
  ];
  try {
    const { validFrom, validTo } = await readCertificate(tls);
    const now = Date.now();
    const until = validTo.toISOString().slice(0, 10);
    if (validTo.getTime() < now) {
      return finding('broken', `the certificate has expired on ${until}`, RENEW);
    }
    if (validFrom.getTime() > now) {
      const found = `the certificate is not valid before ${validFrom.toISOString()}`;
      return finding('broken', found, "Wait, or set this machine's clock.");
    }
    const soon = validTo.getTime() - now < RENEWED_DAYS_BEFORE * DAY_MS;
    const found = `the certificate is valid until ${until}`;
    return soon ? finding('note', found, RENEW) : finding('ok', found);
  } catch (error) {
    if (!(error instanceof UnusableCertificate)) throw error;
    const wayOut =
      'Correct FANFARE_SMTP_LISTEN_TLS_CERT_FILE and FANFARE_SMTP_LISTEN_TLS_KEY_FILE, or let this user read the files.';
    return finding('broken', error.message, wayOut);
  }
};

const RENEW = 'Renew it in its place; the listener takes it up at the next connection, without a restart.';
