import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openProviders } from '../../src/app/providers';
import { readConfig } from '../../src/config';
import { createLog } from '../../src/log';

test('a certificate for inbound mail that cannot be used keeps the program from starting, with a way out', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-test-providers-'));
  const config = readConfig({
    FANFARE_DATA_DIR: directory,
    FANFARE_EMAIL_PROVIDER: 'smtp',
    FANFARE_SMTP_URL: 'smtp://127.0.0.1:1',
    FANFARE_SMTP_RETURN_PATH: 'bounces.example.org',
    FANFARE_SMTP_LISTEN: '127.0.0.1:0',
    FANFARE_SMTP_LISTEN_TLS_CERT_FILE: join(directory, 'cert.pem'),
    FANFARE_SMTP_LISTEN_TLS_KEY_FILE: join(directory, 'key.pem'),
  });
  const providers = await openProviders(config, {
    returnPathSecret: 'secret',
    unsubscribe: async () => undefined,
    smsParts: () => {
      throw new Error('No SMS here');
    },
    inboundParts: () => {
      throw new Error('No SMS here');
    },
    publicUrl: () => '',
    inboundUrl: () => '',
    synthesizer: undefined,
    log: createLog('silent'),
  });
  try {
    await expect(providers.email.start(async () => undefined)).rejects.toMatchObject({
      name: 'StartupError',
      message: expect.stringContaining('cert.pem cannot be read: ENOENT'),
      wayOut: expect.stringContaining('FANFARE_SMTP_LISTEN_TLS_CERT_FILE'),
    });
  } finally {
    for (const provider of Object.values(providers)) await provider.close();
    rmSync(directory, { recursive: true, force: true });
  }
});
