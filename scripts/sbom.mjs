import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT, shippedPackages } from './shipped-packages.mjs';

/**
 * Writes the software bill of materials, CycloneDX 1.6, to dist/sbom.cdx.json or to the file that is named: Fanfare
 * and the packages that go out with it. The same lock file gives the same bill, because it holds no time and its number is a
 * hash of its content.
 */
const file = process.argv[2] ?? join(ROOT, 'dist', 'sbom.cdx.json');
const { name, version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const product = { ...component({ name, version, licence: license }), type: 'application' };
const components = shippedPackages().map(component);
const content = {
  metadata: { component: product },
  components,
  dependencies: [
    { ref: product['bom-ref'], dependsOn: components.map((one) => one['bom-ref']) },
    ...components.map((one) => ({ ref: one['bom-ref'] })),
  ],
};
const bill = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
  version: 1,
  ...content,
};
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);

function component({ name, version, licence, integrity }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const slash = name.startsWith('@') ? name.indexOf('/') : -1;
  return {
    type: 'library',
    'bom-ref': purl,
    ...(slash < 0 ? { name } : { group: name.slice(0, slash), name: name.slice(slash + 1) }),
    version,
    licenses: [/ (OR|AND) /.test(licence) ? { expression: licence } : { license: { id: licence } }],
    purl,
    ...(integrity === undefined ? {} : { hashes: integrity.split(' ').map(hashOf) }),
  };
}

/** npm writes `sha512-` and base64; CycloneDX wants hexadecimal digits. */
function hashOf(integrity) {
  const [algorithm, base64] = integrity.split(/-(.*)/);
  const alg = algorithm.toUpperCase().replace('SHA', 'SHA-');
  return { alg, content: Buffer.from(base64, 'base64').toString('hex') };
}

/** Version 8 of RFC 9562: made of a hash. */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  const variant = ((Number.parseInt(hex[16], 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}
