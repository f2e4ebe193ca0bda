import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkAccount, environmentAccounts, environmentSecrets, openAccount } from '../../src/app/accounts';
import type { ProviderParts } from '../../src/app/providers';
import { readConfig } from '../../src/config';
import { accountBody } from '../../src/contracts/accounts';
import type { Account } from '../../src/domain/account';
import { createLog } from '../../src/log';

const PARTS = {
  returnPathSecret: 'the installation knows',
  unsubscribe: async () => undefined,
  smsParts: () => ({}),
  inboundParts: () => ({}),
  inboundUrl: () => 'http://127.0.0.1/inbound',
  synthesizer: undefined,
  log: createLog('silent'),
} as unknown as ProviderParts;

test.each([
  ['http', ['sms', 'voice'], { url: 'https://carrier.example/send' }, { headers: { 'x-key': 'k' } }],
  ['smtp', ['email'], {}, { url: 'smtps://user:secret@relay.example:465' }],
  ['smpp', ['sms'], { tlvs: '{"0x1400":"1"}' }, { url: 'smpp://id:secret@127.0.0.1:1' }],
  ['kannel', ['sms'], {}, { url: 'http://kannel.example/cgi-bin/sendsms?username=a&password=b' }],
  ['simulator', ['email', 'sms'], { seed: 5, latencyMs: 0 }, {}],
])(
  'an account of kind %s is opened on each of its channels, under its own name',
  async (kind, channels, settings, secrets) => {
    const directory = mkdtempSync(join(tmpdir(), 'fanfare-accounts-'));
    const config = readConfig({ FANFARE_DATA_DIR: directory });
    const body = accountBody.parse({ name: 'A', kind, channels, settings, secrets });
    const account: Account = {
      ...{ id: 'acc_1', name: 'A', kind: body.kind, channels: body.channels, settings: body.settings },
      ...{ secretNames: [], workspaces: ['*'], ratePerSecond: undefined, disabled: false, source: 'api' },
    };
    const opened = await openAccount(config, PARTS, account, body.secrets);
    expect(opened.map(({ name, channel }) => [name, channel])).toEqual(
      channels.map((channel) => [`${kind}:acc_1`, channel]),
    );
    for (const provider of opened) await provider.close();
    rmSync(directory, { recursive: true });
  },
);

test('a check connects and says what it found', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address() as AddressInfo;
  const url = `smpp://id:secret@127.0.0.1:${port}`;
  expect(await checkAccount({ id: 'acc_1', kind: 'smpp', settings: {} }, { url })).toEqual({
    ok: true,
    detail: `127.0.0.1:${port}: connected`,
  });
  await new Promise((done) => server.close(done));
  expect(await checkAccount({ id: 'acc_1', kind: 'smpp', settings: {} }, { url })).toEqual({
    ok: false,
    detail: `127.0.0.1:${port}: ECONNREFUSED`,
  });
});

test('the environment’s accounts show no password', () => {
  const config = readConfig({
    FANFARE_SMS_PROVIDER: 'http',
    FANFARE_SMS_HTTP_URL: 'https://user:s3cr3t@carrier.example/send?x=1',
    FANFARE_EMAIL_PROVIDER: 'smtp',
    FANFARE_SMTP_URL: 'smtp://user:s3cr3t@relay.example:587',
  });
  const accounts = environmentAccounts(config);
  expect(accounts.map(({ id, kind }) => [id, kind])).toEqual([
    ['default-email', 'smtp'],
    ['default-sms', 'http'],
    ['default-voice', 'simulator'],
  ]);
  expect(JSON.stringify(accounts)).not.toContain('s3cr3t');
  expect(accounts[0] && environmentSecrets(config, accounts[0])).toEqual({ url: 'smtp://relay.example:587' });
});
