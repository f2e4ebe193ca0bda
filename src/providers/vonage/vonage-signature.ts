import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { LIMITS } from '../../domain/limits';
import type { Callback, CallbackAccount } from '../vendor/vendor';
import { objectIn, wordIn } from '../vendor/vendor-answer';

/** A JWT by the signature secret (HS256) that covers the body by its hash. */
export function isSignedByVonage(
  authorization: string,
  callback: Callback,
  { settings, secrets }: CallbackAccount,
): boolean {
  const [, head = '', payload = '', signature = ''] =
    /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/i.exec(authorization) ?? [];
  const given = Buffer.from(signature, 'base64url');
  const isOurs = secrets.some(({ signatureSecret }) => {
    if (!signatureSecret) return false;
    const expected = createHmac('sha256', signatureSecret).update(`${head}.${payload}`).digest();
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isOurs || partOf(head)?.alg !== 'HS256') return false;
  const claims = partOf(payload);
  if (claims?.iss !== 'Vonage') return false;
  const { application_id: application, iat } = claims;
  if (application !== undefined && application !== settings.applicationId) return false;
  if (typeof iat !== 'number' || Math.abs(Date.now() / 1_000 - iat) > LIMITS.callbackAgeSeconds) return false;
  return claims.payload_hash === createHash('sha256').update(callback.body).digest('hex');
}

const partOf = (part: string) => objectIn(Buffer.from(part, 'base64url').toString('utf8'));

export function timeOf(value: unknown): string | undefined {
  const ms = Date.parse(wordIn(value) ?? '');
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
