import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT, shippedPackages } from './shipped-packages.mjs';

/**
 * `node scripts/sbom.mjs [file]`: the bill of materials in CycloneDX 1.6, by default dist/sbom.cdx.json. It lists the
 * packages that go out with the product, those that the console's files are made of included; `npm sbom` would leave
 * these out, because npm counts them as needed for building only. The same lock file gives the same bytes.
 */
const file = process.argv[2] ?? join(ROOT, 'dist', 'sbom.cdx.json');
const { name, version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const own = { type: 'application', 'bom-ref': purlOf(name, version), name, version };
const components = shippedPackages().map(componentOf);
const content = {
  metadata: {
    lifecycles: [{ phase: 'build' }],
    component: { ...own, purl: own['bom-ref'], licenses: [{ license: { id: license } }] },
  },
  components,
};
const bom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
  version: 1,
  ...content,
};
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`);

function componentOf({ name, version, licence, integrity, optional }) {
  const purl = purlOf(name, version);
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    scope: optional ? 'optional' : 'required',
    hashes: hashesOf(integrity),
    licenses: [{ expression: licence }],
    purl,
  };
}

function purlOf(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** Subresource integrity, as the lock file has it, in hexadecimal digits. */
function hashesOf(integrity = '') {
  return integrity
    .split(' ')
    .filter((one) => one.startsWith('sha512-'))
    .map((one) => ({
      alg: 'SHA-512',
      content: Buffer.from(one.slice('sha512-'.length), 'base64').toString('hex'),
    }));
}

/** A UUID of version 8: its digits are of our own making (RFC 9562). */
function uuidOf(text) {
  const digits = createHash('sha256').update(text).digest('hex');
  const parts = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `8${digits.slice(17, 20)}`,
  ];
  return [...parts, digits.slice(20, 32)].join('-');
}
