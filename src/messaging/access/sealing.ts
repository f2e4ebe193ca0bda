import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/**
 * Encrypts secrets that must be read again: AES-256-GCM with a random nonce, under a named key. The subject of
 * a secret is authenticated with it, so that a text moved to another row cannot be decrypted.
 *
 * The first key encrypts; all keys decrypt. A key's name is derived from it and reveals nothing of it, so that
 * a process without the key can say which one is missing.
 */
export interface Sealing {
  readonly keyId: string;
  readonly keyIds: readonly string[];
  seal(text: string, about: string): string;
  /** Throws for a missing key, and for a text that was not encrypted for this subject. */
  open(sealed: string, keyId: string, about: string): string;
}

/** What an operator writes in place of the name of a key that is lost, so that the rest starts (docs/operating.md). */
export const LOST_KEY = 'lost';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NAME_BYTES = 6;

export function createSealing(keys: readonly [Buffer, ...Buffer[]]): Sealing {
  const byName = new Map(keys.map((key) => [derive(key, 'name', NAME_BYTES).toString('hex'), sealerOf(key)]));
  const [first] = [...byName] as [[string, Sealer], ...unknown[]];
  return {
    keyId: first[0],
    keyIds: [...byName.keys()],
    seal: (text, about) => first[1].seal(text, about),
    open(sealed, keyId, about) {
      const sealer = byName.get(keyId);
      if (!sealer) throw new Error(`The key ${keyId} is not there, with which the ${about} is sealed`);
      try {
        return sealer.open(sealed, about);
      } catch (error) {
        throw new Error(`The ${about} was changed after it was sealed with the key ${keyId}`, {
          cause: error,
        });
      }
    },
  };
}

interface Sealer {
  seal(text: string, about: string): string;
  open(sealed: string, about: string): string;
}

function sealerOf(given: Buffer): Sealer {
  const key = derive(given, 'seal', KEY_BYTES);
  return {
    seal(text, about) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(about));
      const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, hidden, cipher.getAuthTag()]).toString('base64url');
    },
    open(sealed, about) {
      const bytes = Buffer.from(sealed, 'base64url');
      const hiddenTill = bytes.length - TAG_BYTES;
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(about))
        .setAuthTag(bytes.subarray(hiddenTill));
      const text = decipher.update(bytes.subarray(NONCE_BYTES, hiddenTill));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    },
  };
}

/** One derived key for each use, so that the name reveals nothing about the encrypting key. */
const derive = (key: Buffer, use: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `sealing: ${use}`, bytes));
