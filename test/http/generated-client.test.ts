import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { OpenApiDocument } from '../../src/http/openapi/types';
import { ROOT } from '../support/root';
import { describeWithDatabase } from '../support/storage';
import { operationsOf } from './openapi-driver';
import { bearerFor, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

/**
 * What other people's generators make of the document: a client is generated, compiled strictly, and called against a
 * real server. Names and types come from the document alone.
 */
const run = promisify(execFile);
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const GENERATOR = join(ROOT, 'node_modules/@hey-api/openapi-ts/bin/run.js');

/** A backend's program on the generated client. */
const PROGRAM = `
import { client } from './generated/client.gen';
import { createContactList, importContacts, listContacts, readContactList } from './generated/sdk.gen';

async function main(): Promise<void> {
  const [baseUrl = '', token = ''] = process.argv.slice(2);
  client.setConfig({ baseUrl, auth: token });
  const made = await createContactList({ body: { name: 'Generated' }, throwOnError: true });
  const { id } = made.data.data;
  const report = await importContacts({
    path: { id },
    body: { contacts: [{ email: 'ada@example.com' }] },
    throwOnError: true,
  });
  const page = await listContacts({ path: { id }, query: { limit: 10 }, throwOnError: true });
  const none = await readContactList({ path: { id: 'none' } });
  console.log(JSON.stringify({
    name: made.data.data.name,
    created: report.data.data.created,
    emails: page.data.data.map(({ email }) => email),
    code: none.error?.code,
  }));
}
// @ts-expect-error A list has a name.
export const wrong = () => createContactList({ body: {} });
void main();
`;

const OPTIONS = {
  module: 'commonjs',
  moduleResolution: 'bundler',
  target: 'es2023',
  lib: ['es2023', 'dom', 'dom.iterable'],
  strict: true,
  skipLibCheck: true,
  types: ['node'],
  typeRoots: [join(ROOT, 'node_modules/@types')],
  outDir: 'built',
};

describeWithDatabase('a client generated from the OpenAPI document', (database) => {
  let api: WholeApi;
  let directory: string;
  let document: OpenApiDocument;

  beforeAll(async () => {
    api = await startWholeApi(await database.open());
    directory = mkdtempSync(join(tmpdir(), 'fanfare-generated-'));
    document = (await api.call('GET', '/openapi.json')).body;
    writeFileSync(join(directory, 'openapi.json'), JSON.stringify(document));
    // Without a package.json of its own, the generator would read the one of a folder above.
    writeFileSync(join(directory, 'package.json'), '{}');
    await run(process.execPath, [GENERATOR, '-i', 'openapi.json', '-o', 'generated', '--no-log-file'], {
      cwd: directory,
    });
  }, 180_000);
  afterAll(async () => {
    await api?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  test('it has a function for every operation, by the name of the document', () => {
    const functions = readFileSync(join(directory, 'generated/sdk.gen.ts'), 'utf8');
    const names = [...functions.matchAll(/^export const (\w+) = </gm)].map(([, name]) => name);
    expect(names.sort()).toEqual(
      operationsOf(document)
        .map(({ operationId }) => operationId)
        .sort(),
    );
  });

  test('it compiles under strict rules, and works against the server', async () => {
    writeFileSync(join(directory, 'program.ts'), PROGRAM);
    writeFileSync(
      join(directory, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: OPTIONS, files: ['program.ts'] }),
    );
    const compiled = await run(process.execPath, [TSC, '-p', directory]).catch((error) => error);
    expect(compiled.stdout).toBe('');

    const token = (await bearerFor(api.identity, await newWorkspace(api.identity))).replace('Bearer ', '');
    const built = join(directory, 'built/program.js');
    const { stdout } = await run(process.execPath, [built, api.url, token]);
    expect(JSON.parse(stdout)).toEqual({
      name: 'Generated',
      created: 1,
      emails: ['ada@example.com'],
      code: 'not_found',
    });
  }, 180_000);
});
