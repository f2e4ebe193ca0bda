import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentAccounts } from '../src/app/accounts';
import { readConfig, SECRETS } from '../src/config';
import { misspeltVariables } from '../src/config-misspelt';
import { VARIABLES } from '../src/config-variables';
import { refusal } from './support/config-refusal';

describe('a secret in a file', () => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-secrets-'));
  const file = join(directory, 'database_url');
  const url = 'postgres://fanfare:a-password@db:5432/fanfare';
  beforeAll(() => writeFileSync(file, `${url}\n`));
  afterAll(() => rmSync(directory, { recursive: true }));

  test('is read as if the variable were set, without its last line break', () => {
    expect(readConfig({ DATABASE_URL_FILE: file }).databaseUrl).toBe(url);
    writeFileSync(join(directory, 'empty'), '');
    expect(readConfig({ FANFARE_SECRETS_KEY_FILE: join(directory, 'empty') }).secretsKeys).toEqual([]);
  });

  test('is refused beside the variable, and where it cannot be read, and is not repeated', () => {
    expect(refusal({ DATABASE_URL: url, DATABASE_URL_FILE: file })).toBe(
      'Wrong configuration: DATABASE_URL: DATABASE_URL_FILE is set as well; unset one of them',
    );
    expect(refusal({ FANFARE_API_KEY_FILE: join(directory, 'none') })).toMatch(
      /FANFARE_API_KEY_FILE: the file .* cannot be read: ENOENT/,
    );
    const wrong = join(directory, 'wrong');
    writeFileSync(wrong, 'mysql://a-password@db');
    expect(refusal({ DATABASE_URL_FILE: wrong })).not.toContain('a-password');
  });

  test('that is wrong is named together with every other finding', () => {
    const none = join(directory, 'none');
    const said = refusal({
      ...{ DATABASE_URL: url, DATABASE_URL_FILE: file, FANFARE_API_KEY_FILE: none },
      ...{ FANFARE_CLIENT_SECRET_FILE: none, LOG_LEVEL: 'loud' },
    });
    expect([...said.matchAll(/[A-Z_]{5,}(?=: )/g)].map(([name]) => name).sort()).toEqual([
      'DATABASE_URL',
      'FANFARE_API_KEY_FILE',
      'FANFARE_CLIENT_SECRET_FILE',
      'LOG_LEVEL',
    ]);
  });

  test('can hold each secret that there is a variable for', () => {
    expect(Object.keys(VARIABLES.shape)).toEqual(expect.arrayContaining([...SECRETS]));
    const secret = /SECRET$|TOKEN$|API_KEY$|COOKIE$|SECRETS_KEY$|^DATABASE_URL$|_(SMTP|SMPP|KANNEL)_URL$/;
    const named = Object.keys(VARIABLES.shape).filter((name) => secret.test(name));
    expect(named.filter((name) => !(SECRETS as readonly string[]).includes(name))).toEqual([
      // The name of a key, whose secret is another variable.
      'FANFARE_TWILIO_API_KEY',
    ]);
  });
});

test.each(['FANFARE_PUBLIC_URL', 'FANFARE_APP_URL', 'FANFARE_SMS_HTTP_URL'])(
  'an address in %s that begins with no scheme is refused with an example',
  (name) => {
    for (const address of ['fanfare.example.com', 'localhost:8080'])
      expect(refusal({ [name]: address })).toContain(`${name}: this must be an address such as https://`);
  },
);

test('the address of Temporal is refused with a scheme, because no waiting makes it right', () => {
  expect(refusal({ TEMPORAL_ADDRESS: 'http://temporal:7233' })).toContain(
    'TEMPORAL_ADDRESS: this must be host:port',
  );
  expect(readConfig({ TEMPORAL_ADDRESS: '[::1]:7233' }).temporal.address).toBe('[::1]:7233');
});

describe('a misspelt variable', () => {
  test.each([
    ['FANFARE_SMS_PROVDER', 'FANFARE_SMS_PROVIDER'],
    ['FANFARE_RETENTION_DAY', 'FANFARE_RETENTION_DAYS'],
    ['FANFARE_SECRET_KEY', 'FANFARE_SECRETS_KEY'],
    ['FANFARE_SECRET_KEY_FILE', 'FANFARE_SECRETS_KEY_FILE'],
    ['TEMPORAL_ADRESS', 'TEMPORAL_ADDRESS'],
    ['DATABSE_URL', 'DATABASE_URL'],
  ])('%s is found, with the name that is meant', (name, meant) => {
    expect(misspeltVariables({ [name]: 'x' })).toEqual([{ name, meant }]);
  });

  test('is none if it has no value, if what is meant is set too, or if it is another name', () => {
    expect(misspeltVariables({ FANFARE_SMS_PROVDER: '' })).toEqual([]);
    expect(
      misspeltVariables({ FANFARE_SMTP_URL: 'x', FANFARE_SMPP_URL: 'y', DATABASE_URL_FILE: 'z' }),
    ).toEqual([]);
    expect(misspeltVariables({ DATABASE_URI: 'x', DATABASE_URL: 'y' })).toEqual([]);
    // What Compose's own file and Kubernetes set.
    for (const name of [
      'FANFARE_SERVICE_URL',
      'FANFARE_SECRETS_DIR',
      'FANFARE_SERVICE_HOST',
      'FANFARE_PORT_8080_TCP',
    ])
      expect(misspeltVariables({ [name]: 'x' })).toEqual([]);
  });
});

describe('trusted proxies', () => {
  test.each([
    ['1', 1],
    ['10.0.0.0/8, loopback', ['10.0.0.0/8', 'loopback']],
    ['2001:db8::/32', ['2001:db8::/32']],
    ['', undefined],
  ])('%j is understood', (text, meant) => {
    expect(readConfig({ FANFARE_TRUST_PROXY: text }).http.trustProxy).toEqual(meant);
  });

  test.each(['true', '0', '10', '*', 'proxy.example', '10.0.0.0/33', '1.2.3.4/x', '1.2.3.4,'])(
    '%j is refused',
    (text) => {
      expect(refusal({ FANFARE_TRUST_PROXY: text })).toContain('FANFARE_TRUST_PROXY');
    },
  );
});

describe('wrong variables', () => {
  test('are named in one message, with those that others need and that are not there', () => {
    const said = refusal({
      LOG_LEVEL: 'loud',
      FANFARE_SMS_PROVIDER: 'smpp',
      FANFARE_VOICE_PROVIDER: 'http',
      FANFARE_EMAIL_PROVIDER: 'smtp',
      FANFARE_SMTP_LISTEN: '0.0.0.0:2525',
      FANFARE_SMTP_LISTEN_TLS_REQUIRED: 'yes',
    });
    expect([...said.matchAll(/[A-Z_]{5,}(?=: )/g)].map(([name]) => name).sort()).toEqual([
      'FANFARE_SMPP_URL',
      'FANFARE_SMTP_LISTEN_TLS_REQUIRED',
      'FANFARE_SMTP_RETURN_PATH',
      'FANFARE_SMTP_URL',
      'FANFARE_VOICE_HTTP_URL',
      'LOG_LEVEL',
    ]);
  });

  test('are said once each', () => {
    const said = refusal({ FANFARE_SMS_PROVIDER: 'smpp', FANFARE_SMPP_URL: 'https://smsc.example' });
    expect(said.match(/FANFARE_SMPP_URL: /g)).toHaveLength(1);
    expect(said).toMatch(/smpp:\/\/ or smpps:\/\/, .* are written %2F/);
  });
});

describe('the address of PostgreSQL', () => {
  test.each(['localhost/fanfare', 'mysql://u:hidden@h/n', 'postgres://u:hi/dden@h/n'])(
    '%j is refused with what it has to look like, and not repeated',
    (text) => {
      const said = refusal({ DATABASE_URL: text });
      expect(said).toContain('DATABASE_URL: this must be postgres://user:password@host:5432/name');
      expect(said).not.toContain(text);
    },
  );

  test.each([
    ['require', 'verify-full'],
    ['verify-ca', 'verify-full'],
    ['no-verify', 'no-verify'],
  ])('with sslmode=%s is read as the driver reads it, without its warning', (written, read) => {
    const url = (mode: string) => `postgres://u:hidden@h/n?sslmode=${mode}&sslrootcert=/ca.pem`;
    expect(readConfig({ DATABASE_URL: url(written) }).databaseUrl).toBe(url(read));
  });

  test('with an sslmode that does not exist is refused with those that do', () => {
    expect(refusal({ DATABASE_URL: 'postgres://u:hidden@h/n?sslmode=required' })).toContain(
      'DATABASE_URL: its sslmode must be disable, no-verify or verify-full',
    );
  });
});

describe('https', () => {
  const pair = { FANFARE_TLS_CERT: 'cert.pem', FANFARE_TLS_KEY: 'key.pem' };

  test('is spoken with two files, with any port of the loopback interface for what is without', () => {
    expect(readConfig(pair).http.tls).toEqual({ certFile: 'cert.pem', keyFile: 'key.pem', loopbackPort: 0 });
    expect(readConfig({ FANFARE_LOOPBACK_PORT: '8079' }).http.tls).toBeUndefined();
  });

  test.each([
    [{ FANFARE_TLS_CERT: 'cert.pem' }, 'FANFARE_TLS_KEY: needed because FANFARE_TLS_CERT is set'],
    [{ FANFARE_TLS_KEY: 'key.pem' }, 'FANFARE_TLS_CERT: needed because FANFARE_TLS_KEY is set'],
    [{ ...pair, FANFARE_PUBLIC_URL: 'http://a.example' }, 'FANFARE_PUBLIC_URL: this must begin with https:'],
  ])('is refused with %j', (environment, reason) => {
    expect(refusal(environment as Record<string, string>)).toContain(reason);
  });
});

describe('the web UI of Temporal', () => {
  test('has an address of its own, without a slash at its end', () => {
    expect(readConfig({ FANFARE_TEMPORAL_UI: 'https://ui.example/temporal/' }).temporal.uiUrl).toBe(
      'https://ui.example/temporal',
    );
    expect(readConfig({}).temporal.uiUrl).toBeUndefined();
  });

  test.each(['https://me:secret@ui.example', 'https://ui.example?key=secret', 'javascript:alert(1)'])(
    'is refused as %s, because it is shown',
    (address) => {
      const said = refusal({ FANFARE_TEMPORAL_UI: address });
      expect(said).toContain('FANFARE_TEMPORAL_UI');
      expect(said).not.toContain('secret');
    },
  );
});

describe('keys of secrets', () => {
  const key = Buffer.alloc(32, 5);

  test('are 32 bytes in base64 or hexadecimal, one or several', () => {
    const several = [key.toString('base64'), key.toString('hex'), key.toString('base64url')].join(', ');
    expect(readConfig({ FANFARE_SECRETS_KEY: several }).secretsKeys).toEqual([key, key, key]);
    expect(readConfig({}).secretsKeys).toEqual([]);
  });

  test.each([
    'hidden',
    `${key.toString('hex')}0a`,
    key.toString('hex').slice(2),
    `${key.toString('base64')},`,
  ])('%j is refused and not repeated', (text) => {
    const said = refusal({ FANFARE_SECRETS_KEY: text });
    expect(said).toContain('FANFARE_SECRETS_KEY');
    expect(said).not.toContain(text);
  });
});

describe('the providers of SMS', () => {
  const SMPP = { FANFARE_SMS_PROVIDER: 'smpp', FANFARE_SMPP_URL: 'smpp://id:hidden@smsc.example:2775' };

  test('smpp has its centre, and TLVs as JSON', () => {
    const { smpp } = readConfig({ ...SMPP, FANFARE_SMPP_TLVS: '{"0x1400": "110", "5121": "111"}' });
    expect(smpp).toEqual({
      url: SMPP.FANFARE_SMPP_URL,
      binds: 1,
      window: 50,
      messageId: 'auto',
      tlvs: { '0x1400': '110', '5121': '111' },
    });
  });

  test('are not set up unless they are chosen', () => {
    const config = readConfig({ ...SMPP, FANFARE_SMS_PROVIDER: 'simulator' });
    expect([config.smpp, config.kannelUrl]).toEqual([undefined, undefined]);
  });

  test('have codes that mean that a subscriber has opted out', () => {
    const codes = readConfig({ FANFARE_SMS_OPTED_OUT_CODES: '0x455, 0451' }).smsOptedOut;
    expect([codes?.hasStatus(0x455), codes?.hasError('451'), codes?.hasError('455')]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test.each(['455;451', '451,', '0x', '000', '0x0'])('are refused with the codes %j', (codes) => {
    expect(refusal({ FANFARE_SMS_OPTED_OUT_CODES: codes })).toContain('FANFARE_SMS_OPTED_OUT_CODES');
  });

  test('are refused without their URLs', () => {
    expect(refusal({ FANFARE_SMS_PROVIDER: 'smpp' })).toContain('FANFARE_SMPP_URL');
    expect(refusal({ FANFARE_SMS_PROVIDER: 'kannel' })).toContain('FANFARE_KANNEL_URL');
  });

  test.each(['http://id:hidden@smsc.example', 'smpp://id:hidden@smsc.example,smsc2', 'hidden'])(
    'are refused with the URL %j, whose password is not repeated',
    (url) => {
      const message = refusal({ ...SMPP, FANFARE_SMPP_URL: url });
      expect(message).toContain('FANFARE_SMPP_URL');
      expect(message).not.toContain('hidden');
    },
  );

  test.each(['{', '[]', '{"x": "1"}', '{"0x1400": 1}'])('are refused with the TLVs %j', (tlvs) => {
    expect(refusal({ ...SMPP, FANFARE_SMPP_TLVS: tlvs })).toContain('FANFARE_SMPP_TLVS');
  });
});

test('calls at once are bounded for the account at a vendor alone', () => {
  const telnyx = {
    ...{ FANFARE_VOICE_PROVIDER: 'telnyx', FANFARE_TELNYX_API_KEY: 'KEY1', FANFARE_TELNYX_PUBLIC_KEY: 'key' },
    FANFARE_TELNYX_CONNECTION_ID: '1',
  };
  const bound = { FANFARE_VOICE_ACCOUNT_CONCURRENT_CALLS: '2' };
  const [account] = environmentAccounts(readConfig({ ...telnyx, ...bound })).slice(-1);
  expect(account).toMatchObject({ id: 'default-voice', kind: 'telnyx', maxConcurrentCalls: 2 });
  expect(environmentAccounts(readConfig(bound)).some((one) => 'maxConcurrentCalls' in one)).toBe(false);
  expect(refusal({ FANFARE_VOICE_ACCOUNT_CONCURRENT_CALLS: '0' })).toContain('FANFARE_VOICE_ACCOUNT');
});

describe('the provider http', () => {
  test('has its URL and idempotency per channel', () => {
    const config = readConfig({
      FANFARE_SMS_PROVIDER: 'http',
      FANFARE_SMS_HTTP_URL: 'https://carrier.example/v1/out?key=1',
      FANFARE_SMS_HTTP_IDEMPOTENT: 'true',
      FANFARE_VOICE_PROVIDER: 'http',
      FANFARE_VOICE_HTTP_URL: 'http://carrier.example/calls',
      FANFARE_EMAIL_HTTP_URL: 'http://carrier.example/not-used',
    });
    expect(config.providers).toEqual({ email: 'simulator', sms: 'http', voice: 'http' });
    expect(config.httpProviders).toEqual({
      sms: { url: 'https://carrier.example/v1/out?key=1', idempotent: true },
      voice: { url: 'http://carrier.example/calls', idempotent: false },
    });
  });

  test('is refused without its URL, for every channel at once', () => {
    const message = refusal({ FANFARE_SMS_PROVIDER: 'http', FANFARE_EMAIL_PROVIDER: 'http' });
    expect(message).toContain('FANFARE_SMS_HTTP_URL: needed because FANFARE_SMS_PROVIDER is http');
    expect(message).toContain('FANFARE_EMAIL_HTTP_URL: needed');
  });

  test('takes no URL of another scheme', () => {
    const environment = { FANFARE_SMS_PROVIDER: 'http', FANFARE_SMS_HTTP_URL: 'ftp://carrier.example' };
    expect(refusal(environment)).toContain('FANFARE_SMS_HTTP_URL');
  });
});

describe('the provider smtp', () => {
  const environment = { FANFARE_EMAIL_PROVIDER: 'smtp', FANFARE_SMTP_URL: 'smtp://mx.example.org' };

  test('has its relays, and nothing else is needed', () => {
    const { smtp } = readConfig(environment);
    expect(smtp?.relays).toMatchObject([{ host: 'mx.example.org', port: 25 }]);
    expect(smtp).toMatchObject({ connections: 5, dkim: undefined, listen: undefined });
    expect(readConfig({ FANFARE_SMTP_URL: 'smtp://mx.example.org' }).smtp).toBeUndefined();
  });

  test('has its signature, its return path and its listener', () => {
    const { smtp } = readConfig({
      ...environment,
      FANFARE_SMTP_DKIM_DOMAIN: 'example.org',
      FANFARE_SMTP_DKIM_SELECTOR: 's1',
      FANFARE_SMTP_DKIM_KEY_FILE: 'dkim.pem',
      FANFARE_SMTP_RETURN_PATH: 'bounces.example.org',
      FANFARE_SMTP_LISTEN: '[::]:2525',
      FANFARE_SMTP_LISTEN_TLS_CERT_FILE: 'cert.pem',
      FANFARE_SMTP_LISTEN_TLS_KEY_FILE: 'key.pem',
      FANFARE_SMTP_LISTEN_TLS_REQUIRED: 'true',
    });
    expect(smtp).toMatchObject({
      dkim: { domain: 'example.org', selector: 's1', keyFile: 'dkim.pem' },
      returnPath: 'bounces.example.org',
      listen: {
        host: '::',
        port: 2525,
        tls: { certFile: 'cert.pem', keyFile: 'key.pem', required: true },
      },
    });
  });

  test.each([
    [{ FANFARE_SMTP_URL: '' }, 'FANFARE_SMTP_URL: needed'],
    [{ FANFARE_SMTP_URL: 'smtp://ann:secret@mx:x' }, 'FANFARE_SMTP_URL: this is not an address'],
    [{ FANFARE_SMTP_DKIM_DOMAIN: 'example.org' }, 'FANFARE_SMTP_DKIM_KEY_FILE: needed'],
    [{ FANFARE_SMTP_LISTEN: '0.0.0.0:2525' }, 'FANFARE_SMTP_RETURN_PATH: needed'],
    [{ FANFARE_SMTP_LISTEN_TLS_CERT_FILE: 'c.pem' }, 'FANFARE_SMTP_LISTEN_TLS_KEY_FILE: needed'],
    [{ FANFARE_SMTP_LISTEN_TLS_KEY_FILE: 'k.pem' }, 'FANFARE_SMTP_LISTEN_TLS_CERT_FILE: needed'],
    [{ FANFARE_SMTP_LISTEN_TLS_KEY_FILE: 'k.pem' }, 'FANFARE_SMTP_LISTEN: needed'],
    [{ FANFARE_SMTP_LISTEN_TLS_REQUIRED: 'true' }, 'FANFARE_SMTP_LISTEN_TLS_CERT_FILE: needed'],
    [{ FANFARE_SMTP_LISTEN: '2525' }, 'FANFARE_SMTP_LISTEN: this is not a host and a port'],
    [{ FANFARE_SMTP_RETURN_PATH: 'b@example.org' }, 'FANFARE_SMTP_RETURN_PATH: this is not a domain'],
    [{ FANFARE_SMTP_CONNECTIONS: '0' }, 'FANFARE_SMTP_CONNECTIONS'],
  ])('is refused with %j', (more, reason) => {
    const message = refusal({ ...environment, ...(more as Record<string, string>) });
    expect(message).toContain(reason);
    expect(message).not.toContain('secret');
  });

  test('carries email only', () => {
    expect(refusal({ FANFARE_SMS_PROVIDER: 'smtp' })).toContain('FANFARE_SMS_PROVIDER');
  });
});

test('an inbound secret that would not survive in a path is refused without being shown', () => {
  const message = refusal({ FANFARE_INBOUND_SECRET: 'top/secret' });
  expect(message).toContain('FANFARE_INBOUND_SECRET');
  expect(message).not.toContain('top/secret');
  expect(readConfig({ FANFARE_INBOUND_SECRET: 'top.secret' }).inboundSecret).toBe('top.secret');
});
