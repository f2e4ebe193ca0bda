import { createPrivateKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/**
 * Makes certificates by RFC 5280. They are written here byte by byte, because Node reads certificates but makes
 * none, and a machine that runs the tests need not have openssl.
 */
export interface Issued {
  key: Buffer;
  cert: Buffer;
  /** The subject as the certificate spells it; those it signs name it so. */
  name: Buffer;
}

export interface CertificateRequest {
  /** For example `IP:127.0.0.1` or `DNS:hooks.example`. */
  altName?: string;
  /** It may sign others. */
  authority?: boolean;
  from: Date;
  until: Date;
  /** Without one the certificate is signed by its own key. */
  issuer?: Issued;
}

const OID = {
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
  commonName: [0x55, 0x04, 0x03],
  subjectAltName: [0x55, 0x1d, 0x11],
  basicConstraints: [0x55, 0x1d, 0x13],
};

export function issueCertificate({
  altName,
  authority = false,
  from,
  until,
  issuer,
}: CertificateRequest): Issued {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // A verifier looks for an issuer by name, so two authorities must not share one.
  const name = nameOf(`Test ${randomBytes(8).toString('hex')}`);
  const extensions = [
    extension(OID.basicConstraints, authority ? der(0x01, Buffer.of(0xff)) : Buffer.alloc(0)),
  ];
  if (altName) extensions.push(extension(OID.subjectAltName, generalName(altName)));
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1), randomBytes(15)),
    algorithm,
    issuer?.name ?? name,
    sequence(time(from), time(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign('sha256', body, issuer ? createPrivateKey(issuer.key) : privateKey);
  return {
    key: Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    cert: pem(sequence(body, algorithm, der(0x03, Buffer.of(0), signature))),
    name,
  };
}

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid(OID.commonName), der(0x0c, Buffer.from(commonName)))));
}

/** Critical: a verifier that does not know it must refuse the certificate. */
function extension(id: number[], value: Buffer): Buffer {
  return sequence(oid(id), der(0x01, Buffer.of(0xff)), der(0x04, sequence(value)));
}

function generalName(altName: string): Buffer {
  const [kind, value = ''] = altName.split(/:(.*)/s);
  if (kind === 'IP') return der(0x87, Buffer.from(value.split('.').map(Number)));
  return der(0x82, Buffer.from(value));
}

/** UTCTime, which has two digits for the year: good until 2049. */
function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/\.\d+|[-:T]/g, '');
  return der(0x17, Buffer.from(digits.slice(2)));
}

const oid = (bytes: number[]) => der(0x06, Buffer.from(bytes));
const sequence = (...content: Buffer[]) => der(0x30, ...content);

function der(tag: number, ...content: Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  const { length } = bytes;
  const [high, low] = [length >> 8, length & 0xff];
  const written = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, high, low];
  return Buffer.concat([Buffer.of(tag, ...written), bytes]);
}

function pem(bytes: Buffer): Buffer {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return Buffer.from(`-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`);
}
