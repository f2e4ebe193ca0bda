import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/root';

interface Component {
  'bom-ref': string;
  purl: string;
  version: string;
  licenses: unknown[];
  hashes?: { alg: string; content: string }[];
}

describe('the software bill of materials', () => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-sbom-'));
  afterAll(() => rmSync(directory, { recursive: true }));
  const write = async (name: string): Promise<string> => {
    const file = join(directory, name);
    await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/sbom.mjs'), file]);
    return readFileSync(file, 'utf8');
  };

  test('names every package of THIRD-PARTY.md and no other, each with its version, licence and hash', async () => {
    const bill = JSON.parse(await write('one.json'));
    expect([bill.bomFormat, bill.specVersion]).toEqual(['CycloneDX', '1.6']);
    expect(bill.metadata.component.name).toBe('fanfare');
    expect(bill.serialNumber).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );

    const rows = [
      ...readFileSync(join(ROOT, 'THIRD-PARTY.md'), 'utf8').matchAll(/^\| (\S+) \| (\d\S*) \| /gm),
    ];
    const components: Component[] = bill.components;
    expect(rows.length).toBeGreaterThan(300);
    expect(components.map(({ purl }) => decodeURIComponent(purl))).toEqual(
      rows.map(([, name, version]) => `pkg:npm/${name}@${version}`),
    );
    expect(components.filter(({ licenses }) => licenses.length !== 1)).toEqual([]);
    const hashless = components.filter(({ hashes }) => !/^[0-9a-f]{128}$/.test(hashes?.[0]?.content ?? ''));
    // The lock file has no hash of these, which npm takes as the ones of other machines.
    expect(hashless.filter(({ purl }) => !purl.startsWith('pkg:npm/%40swc/core-'))).toEqual([]);
    expect(bill.dependencies[0].dependsOn).toEqual(components.map((one) => one['bom-ref']));
  });

  test('what the console bundles is in it, with what that needs in its turn', async () => {
    const names = (JSON.parse(await write('two.json')).components as Component[]).map(({ purl }) => purl);
    for (const name of [
      '%40codemirror/view',
      '%40lezer/common',
      '%40xyflow/system',
      'd3-zoom',
      'uplot',
      'zustand',
    ])
      expect(names).toContainEqual(expect.stringContaining(`pkg:npm/${name}@`));
    // Needed for building and testing alone.
    expect(names).not.toContainEqual(expect.stringMatching(/pkg:npm\/(jest|vite|typescript)@/));
  });

  test('the same lock file gives the same bill', async () => {
    expect(await write('three.json')).toBe(await write('four.json'));
  });
});
