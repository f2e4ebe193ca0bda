import { verify, X509Certificate } from 'node:crypto';
import { BoundedCache } from '../../domain/bounded-cache';
import { LIMITS } from '../../domain/limits';
import { isFresh, jsonIn, type MailEventTools, objectOf, textOf } from './mail-events';

/** A message of Amazon SNS that was signed for this topic. */
export type SnsMessage =
  | { kind: 'notification'; text: string | undefined }
  | { kind: 'confirmation'; url: URL };

/**
 * Believes what a certificate of Amazon signed for our own topic; `undefined` otherwise. Certificate and confirmation are
 * fetched from SNS alone, whatever the message says, and a confirmation only for the topic that the account names.
 */
export async function readSns(
  body: Buffer,
  topicArn: string,
  tools: MailEventTools,
): Promise<SnsMessage | undefined> {
  const message = objectOf(jsonIn(body));
  const type = textOf(message.Type);
  const signed = SIGNED[type];
  if (!signed || topicArn === '' || message.TopicArn !== topicArn) return undefined;
  if (!isFresh(Date.parse(textOf(message.Timestamp)), tools.now())) return undefined;
  const algorithm = ALGORITHM[String(message.SignatureVersion)];
  const certificateUrl = snsUrl(message.SigningCertURL);
  if (!algorithm || !certificateUrl?.pathname.endsWith('.pem')) return undefined;
  const text = signed
    .filter((key) => message[key] !== undefined)
    .map((key) => `${key}\n${textOf(message[key])}\n`)
    .join('');
  const certificate = await certificateAt(certificateUrl, tools);
  const signature = Buffer.from(textOf(message.Signature), 'base64');
  if (!certificate || !verify(algorithm, Buffer.from(text), certificate.publicKey, signature))
    return undefined;
  if (type === 'Notification') return { kind: 'notification', text: textOf(message.Message) };
  if (type === 'UnsubscribeConfirmation') return { kind: 'notification', text: undefined };
  const url = snsUrl(message.SubscribeURL);
  return url && { kind: 'confirmation', url };
}

export async function confirmSubscription(url: URL, { get }: MailEventTools): Promise<void> {
  await get(url);
}

const CONFIRMATION = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
/** In the order in which they are signed. */
const SIGNED: Readonly<Record<string, readonly string[]>> = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: CONFIRMATION,
  UnsubscribeConfirmation: CONFIRMATION,
};
const ALGORITHM: Readonly<Record<string, string>> = { '1': 'RSA-SHA1', '2': 'RSA-SHA256' };
const SNS_HOST = /^sns\.[a-zA-Z0-9-]{3,}\.amazonaws\.com(\.cn)?$/;

function snsUrl(value: unknown): URL | undefined {
  const url = URL.canParse(textOf(value)) ? new URL(textOf(value)) : undefined;
  const isPlain = url?.protocol === 'https:' && url.port === '' && url.username === '' && url.password === '';
  return url && isPlain && SNS_HOST.test(url.hostname) ? url : undefined;
}

const certificates = new BoundedCache<X509Certificate>(20);

/** Amazon changes its certificate about once a year, and gives the new one another address. */
async function certificateAt(url: URL, { get, now }: MailEventTools): Promise<X509Certificate | undefined> {
  const certificate = certificates.get(url.href) ?? readCertificate(await get(url));
  if (!certificate) return undefined;
  certificates.set(url.href, certificate);
  const isCurrent = Date.parse(certificate.validFrom) <= now() && now() <= Date.parse(certificate.validTo);
  return isCurrent ? certificate : undefined;
}

function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** Follows no redirect, because the address was checked and another one was not. */
export async function getFromSns(url: URL): Promise<string> {
  const answer = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(LIMITS.mailEventFetchMs),
  });
  if (answer.status !== 200 || !answer.body) throw new Error(`SNS answered ${answer.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body) {
    bytes += chunk.length;
    if (bytes > LIMITS.mailEventFetchBytes) throw new Error('SNS answered more than a certificate has');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
