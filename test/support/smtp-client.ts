import { createTransport } from 'nodemailer';

export interface BroughtMail {
  /** Empty for what nobody may answer, as reports are sent. */
  from?: string;
  to: string;
  raw: string;
}

/**
 * Brings one mail to a listener of this machine, as a mail host would. Answers what the listener said: `250`, or the
 * code of its refusal, such as `550 5.1.1`. With `tls`, encryption is demanded; otherwise it is not used.
 */
export async function bringMail(
  port: number | undefined,
  { from = '', to, raw }: BroughtMail,
  { tls = false } = {},
): Promise<string> {
  const transport = createTransport({
    host: '127.0.0.1',
    port,
    requireTLS: tls,
    ignoreTLS: !tls,
    // A mail host encrypts to whatever certificate it is shown, as long as nothing else was agreed.
    tls: { rejectUnauthorized: false },
  });
  try {
    const { response } = await transport.sendMail({ envelope: { from, to: [to] }, raw });
    return codeOf(response);
  } catch (error) {
    const { response } = error as { response?: string };
    if (response === undefined) throw error;
    return codeOf(response);
  } finally {
    transport.close();
  }
}

/** An enhanced code is said of refusals only, because what is taken has just `250` to be told by. */
function codeOf(response: string): string {
  const [, code, enhanced] = /^(\d{3})[ -](\d\.\d{1,3}\.\d{1,3})?/.exec(response) ?? [];
  if (code === undefined) throw new Error(`That is no answer of SMTP: ${response}`);
  return enhanced === undefined || code.startsWith('2') ? code : `${code} ${enhanced}`;
}
