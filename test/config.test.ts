import { readConfig } from '../src/config';
import type { StartupError } from '../src/startup-error';

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

test('an inbound secret that would not survive in a path is refused without being shown', () => {
  const message = refusal({ FANFARE_INBOUND_SECRET: 'top/secret' });
  expect(message).toContain('FANFARE_INBOUND_SECRET');
  expect(message).not.toContain('top/secret');
  expect(readConfig({ FANFARE_INBOUND_SECRET: 'top.secret' }).inboundSecret).toBe('top.secret');
});

function refusal(environment: Record<string, string>): string {
  try {
    readConfig(environment);
  } catch (error) {
    return (error as StartupError).message;
  }
  throw new Error('the configuration was not refused');
}
