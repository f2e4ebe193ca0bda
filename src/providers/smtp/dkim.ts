import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { BoundedCache } from '../../domain/bounded-cache';
import { LIMITS } from '../../domain/limits';

/**
 * Signs mail (RFC 6376, and RFC 8463 for Ed25519), relaxed for headers and body, since relays fold lines and
 * trim spaces. The signature itself is made in the runtime's thread pool: with RSA it takes longer than all
 * other work on a message, and would block the event loop.
 */
export interface DkimSigner {
  /** The value of DKIM-Signature. */
  sign(headers: readonly [string, string][], body: string): Promise<string>;
}

export interface DkimOptions {
  domain: string;
  selector: string;
  /** PEM. */
  privateKey: string | Buffer;
}

/** Answers from memory. */
export type DkimKeys = (domain: string) => DkimOptions | undefined;

/** The signer of a domain: with its own key, or else the one that is for every mail. */
export function createDkimSigners(
  common: DkimOptions | undefined,
  keyOf: DkimKeys = () => undefined,
): (domain: string) => DkimSigner | undefined {
  const fallback = common && createDkimSigner(common);
  const signers = new BoundedCache<{ options: DkimOptions; signer: DkimSigner }>(LIMITS.registeredSenders);
  return (domain) => {
    const options = keyOf(domain);
    if (!options) return fallback;
    const known = signers.get(domain);
    if (known?.options === options) return known.signer;
    // Keys were checked when they were set; to read one takes longer than to look it up.
    const signer = createDkimSigner(options);
    signers.set(domain, { options, signer });
    return signer;
  };
}

/**
 * Headers by which receivers decide, and those that RFC 8058 demands for one-click unsubscribing. Named
 * whether or not the message has it if a second one added on the way would be shown instead of ours.
 */
const ALWAYS_SIGNED = ['From', 'To', 'Subject', 'Date', 'Message-ID', 'Reply-To'];
const SIGNED_IF_THERE = [
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'List-Id',
  'Feedback-ID',
];

const signAsync = promisify(sign);

/** Throws if the key cannot be used. */
export function createDkimSigner({ domain, selector, privateKey }: DkimOptions): DkimSigner {
  const key = createPrivateKey(privateKey);
  const algorithm = algorithmOf(key);
  return {
    async sign(headers, body) {
      const given = new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
      const names = [
        ...ALWAYS_SIGNED,
        ...SIGNED_IF_THERE.filter((name) => given.has(name.toLowerCase())),
        // Listed once more than the mail has it, so that another From added on the way breaks the signature.
        'From',
        'Subject',
      ];
      const bodyHash = createHash('sha256').update(relaxBody(body), 'latin1').digest('base64');
      const unsigned =
        `v=1; a=${algorithm}-sha256; c=relaxed/relaxed; d=${domain}; s=${selector};\r\n` +
        ` h=${names.join(':\r\n ')};\r\n bh=${bodyHash};\r\n b=`;
      let data = '';
      const taken = new Set<string>();
      for (const name of names) {
        const lower = name.toLowerCase();
        const value = taken.has(lower) ? undefined : given.get(lower);
        taken.add(lower);
        if (value !== undefined) data += `${relaxHeader(lower, value)}\r\n`;
      }
      data += relaxHeader('dkim-signature', unsigned);
      const signature = await signAsync(...inputOf(algorithm, data), key);
      return unsigned + signature.toString('base64').replace(/.{72}(?!$)/g, '$&\r\n ');
    },
  };
}

function algorithmOf(key: KeyObject): 'rsa' | 'ed25519' {
  const { asymmetricKeyType: type } = key;
  if (type !== 'rsa' && type !== 'ed25519') throw new Error(`a key of type ${type} signs no mail`);
  return type;
}

/** Ed25519 signs the hash of the data, where RSA hashes it by itself. */
function inputOf(algorithm: 'rsa' | 'ed25519', data: string): [string | null, Buffer] {
  const bytes = Buffer.from(data, 'latin1');
  return algorithm === 'rsa' ? ['sha256', bytes] : [null, createHash('sha256').update(bytes).digest()];
}

function relaxHeader(lowerName: string, value: string): string {
  return `${lowerName}:${value
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim()}`;
}

function relaxBody(body: string): string {
  // A run is looked at from its beginning only, or long ones would take the square of their length.
  const relaxed = body.replace(/(?<![ \t])[ \t]+(?=\r\n|$)/g, '').replace(/[ \t]{2,}|\t/g, ' ');
  let end = relaxed.length;
  while (relaxed.endsWith('\r\n', end)) end -= 2;
  return end === 0 ? '' : `${relaxed.slice(0, end)}\r\n`;
}
