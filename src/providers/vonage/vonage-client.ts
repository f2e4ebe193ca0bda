import { createPrivateKey, randomUUID, sign } from 'node:crypto';
import type { HttpAnswer } from '../http-exchange';
import { type JsonClient, openJsonClient } from '../vendor/json-client';
import type { VendorAccount } from '../vendor/vendor';
import { objectIn, type VendorWord, wordIn } from '../vendor/vendor-answer';

const VONAGE_URL = 'https://api.nexmo.com';

/** A problem document, also in the form of the Voice API. */
export function readVonage({ status, text }: HttpAnswer): VendorWord {
  const body = objectIn(text);
  if (!body) return { kind: 'not_the_vendor' };
  if (status < 300) {
    const providerId = wordIn(body.message_uuid) ?? wordIn(body.uuid);
    return providerId === undefined ? { kind: 'not_the_vendor' } : { kind: 'taken', providerId };
  }
  const title = wordIn(body.title) ?? wordIn(body.error_title);
  if (title === undefined) return { kind: 'not_the_vendor' };
  // The address of the problem ends with the code: `…/messages#1120`.
  const code =
    /#([\w-]{1,40})$/.exec(wordIn(body.type) ?? '')?.[1] ?? (/^\d+$/.test(title) ? title : undefined);
  return { kind: 'refused', code, message: wordIn(body.detail) ?? title };
}

export function openVonageClient(account: VendorAccount, answerMs: number | undefined): JsonClient {
  let token = { text: '', renewAtMs: 0 };
  return openJsonClient({
    base: account.settings.url ?? VONAGE_URL,
    authorization() {
      if (Date.now() >= token.renewAtMs) {
        token = { text: applicationToken(account), renewAtMs: Date.now() + (TOKEN_SECONDS / 2) * 1_000 };
      }
      return `Bearer ${token.text}`;
    },
    answerMs,
  });
}

const TOKEN_SECONDS = 900;

/** A JWT by which Vonage knows the application (RS256). */
function applicationToken({ settings, secrets }: VendorAccount): string {
  const iat = Math.floor(Date.now() / 1_000);
  const claims = {
    ...{ application_id: settings.applicationId, iat, exp: iat + TOKEN_SECONDS, jti: randomUUID() },
  };
  const data = [{ alg: 'RS256', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const key = createPrivateKey(secrets.privateKey ?? '');
  return `${data}.${sign('RSA-SHA256', Buffer.from(data), key).toString('base64url')}`;
}
