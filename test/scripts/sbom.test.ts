import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/root';

interface Component {
  name: string;
  version: string;
  purl: string;
  licenses: { expression: string }[];
  hashes: { alg: string; content: string }[];
}

describe('the bill of materials', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'fanfare-sbom-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  async function written(name: string): Promise<string> {
    const file = join(directory, name);
    await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/sbom.mjs'), file]);
    return readFileSync(file, 'utf8');
  }

  test('is CycloneDX and lists what THIRD-PARTY.md lists, each with its licence', async () => {
    const bom = JSON.parse(await written('one.json'));
    expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 });
    expect(bom.serialNumber).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(bom.metadata.component).toMatchObject({ type: 'application', name: 'fanfare' });
    const rows = [
      ...readFileSync(join(ROOT, 'THIRD-PARTY.md'), 'utf8').matchAll(/^\| (\S+) \| (\d\S*) \| (.+) \|$/gm),
    ];
    expect(rows.length).toBeGreaterThan(80);
    const components: Component[] = bom.components;
    expect(components.map(({ name, version, licenses }) => [name, version, licenses[0]?.expression])).toEqual(
      rows.map(([, name, version, licence]) => [name, version, licence]),
    );
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['fastify', 'react', 'pg']));
  });

  test('names each package by a purl of its own and the hash of what npm installs', async () => {
    const components: Component[] = JSON.parse(await written('one.json')).components;
    expect(new Set(components.map(({ purl }) => purl)).size).toBe(components.length);
    for (const { name, version, purl } of components) {
      expect(decodeURIComponent(purl)).toBe(`pkg:npm/${name}@${version}`);
    }
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const fastify = components.find(({ name }) => name === 'fastify');
    expect(fastify?.hashes).toEqual([{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }]);
    const hash = Buffer.from(fastify?.hashes[0]?.content ?? '', 'hex').toString('base64');
    expect(packages['node_modules/fastify'].integrity).toBe(`sha512-${hash}`);
  });

  test('has the same bytes each time it is made', async () => {
    expect(await written('one.json')).toBe(await written('two.json'));
  });
});
