import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/**
 * The content of an unsubscribe link: the recipient and the workspace. Nothing is stored for it, so that it
 * works after the message is deleted, and a million mails cost no row (decision 14).
 *
 * The content is encrypted under a synthetic initialisation vector: a keyed hash of the content, which also
 * proves that we created it (as in RFC 5297, with HMAC-SHA-256 cut to 128 bits and AES-256 in counter mode).
 * The same recipient thus has the same link in every mail, a message handed over twice is the same twice, and
 * no random number can repeat. Creating one takes some ten microseconds.
 */
export interface UnsubscribeTokens {
  seal(subscriber: Subscriber): string;
  /** `undefined` for a token that we did not create, after the same work. */
  open(token: string): Subscriber | undefined;
}

export interface Subscriber {
  workspaceId: string;
  /** In the form in which addresses are compared. */
  address: string;
}

const TAG_BYTES = 16;
/** Before the rest, so that another format can follow later. */
const VERSION = 'a';
const FORM = new RegExp(`^${VERSION}[A-Za-z0-9_-]{40,500}$`);

export function createUnsubscribeTokens(secret: string): UnsubscribeTokens {
  const proving = keyFor(secret, 'unsubscribe: prove');
  const hiding = keyFor(secret, 'unsubscribe: hide');
  const tagOf = (content: Buffer) =>
    createHmac('sha256', proving).update(content).digest().subarray(0, TAG_BYTES);

  return {
    seal({ workspaceId, address }) {
      const content = Buffer.from(`${workspaceId}\n${address}`);
      const tag = tagOf(content);
      const hidden = createCipheriv('aes-256-ctr', hiding, tag).update(content);
      return VERSION + Buffer.concat([tag, hidden]).toString('base64url');
    },
    open(token) {
      const bytes = Buffer.from(isWhole(token) ? token.slice(VERSION.length) : NONE, 'base64url');
      const tag = bytes.subarray(0, TAG_BYTES);
      const content = createDecipheriv('aes-256-ctr', hiding, tag).update(bytes.subarray(TAG_BYTES));
      if (!timingSafeEqual(tagOf(content), tag)) return undefined;
      const text = content.toString();
      const end = text.indexOf('\n');
      return { workspaceId: text.slice(0, end), address: text.slice(end + 1) };
    },
  };
}

/**
 * Whether the token is written in its one form. Decoding ignores trailing bits, which would give one link
 * several tokens.
 */
const isWhole = (token: string): boolean =>
  FORM.test(token) &&
  VERSION + Buffer.from(token.slice(VERSION.length), 'base64url').toString('base64url') === token;

/** Decoded instead of a text that cannot be a token. */
const NONE = Buffer.alloc(64).toString('base64url');

const keyFor = (secret: string, use: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', use, 32));
