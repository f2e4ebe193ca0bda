import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentialsFile, readCredentials, writeCredentials } from '../../src/credentials/credentials';

const CREDENTIALS = {
  baseUrl: 'http://127.0.0.1:8080',
  workspace: { id: 'ws_1', name: 'First' },
  user: { id: 'usr_1', email: 'admin@example.com', password: 'a password' },
  client: { id: 'cli_1', secret: 'a secret' },
  apiKey: 'a key',
  inboundSecret: 'another secret',
  temporal: { address: '127.0.0.1:7233', namespace: 'default' },
};

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'fanfare-credentials-'));
});

afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

test('what was written is read again, by this user alone', async () => {
  await writeCredentials(dataDir, CREDENTIALS);
  expect(await readCredentials(dataDir)).toEqual(CREDENTIALS);
  expect(statSync(credentialsFile(dataDir)).mode & 0o777).toBe(0o600);
  expect(readdirSync(dataDir)).toEqual(['credentials.json']);
});

test('a file that others could read is closed to them when it is written again', async () => {
  writeFileSync(credentialsFile(dataDir), '{}', { mode: 0o644 });
  await writeCredentials(dataDir, CREDENTIALS);
  expect(statSync(credentialsFile(dataDir)).mode & 0o777).toBe(0o600);
});

test('before the first start there are none', async () => {
  expect(await readCredentials(dataDir)).toBeUndefined();
});

test('members that a later version added are kept', async () => {
  const newer = { ...CREDENTIALS, region: 'eu', client: { ...CREDENTIALS.client, rotatesAt: 'later' } };
  await writeCredentials(dataDir, newer);
  expect(await readCredentials(dataDir)).toEqual(newer);
});

test.each([
  ['half a file', '{"baseUrl":"http://127.0', /the whole file/],
  ['one without a client', JSON.stringify({ ...CREDENTIALS, client: undefined }), /damaged: client/],
])('%s is reported without showing what it holds, and left as it is', async (_title, text, why) => {
  writeFileSync(credentialsFile(dataDir), text);
  const reading = readCredentials(dataDir);
  await expect(reading).rejects.toMatchObject({ name: 'StartupError', message: expect.stringMatching(why) });
  await expect(reading).rejects.toMatchObject({ message: expect.not.stringContaining('secret') });
  // A data directory may hold the database too, and moving it away would lose it from sight.
  await expect(reading).rejects.toMatchObject({ wayOut: expect.stringContaining('leave the rest as it is') });
});
