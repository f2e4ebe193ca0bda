import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TWILIO } from '../../../src/providers/twilio/twilio';
import type { VendorVoice } from '../../../src/providers/vendor/vendor';
import { VONAGE } from '../../../src/providers/vonage/vonage';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

describe.each([
  ['Twilio', TWILIO.voice as VendorVoice, { accountSid: 'AC1' }, { authToken: 'secret' }],
  ['Vonage', VONAGE.voice as VendorVoice, { applicationId: 'a' }, { privateKey: key, signatureSecret: 's' }],
])('a call at %s that is to be steered', (_, voice, settings, secrets) => {
  const steer = async (...statuses: number[]) => {
    let asked = 0;
    const server = createServer((_request, response) => {
      response.statusCode = statuses[asked++] ?? 200;
      response.end('{}');
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const account = { id: 'acc_1', settings: { ...settings, url }, secrets };
    const done = await voice.steer(account, 'call', { hangUp: true }).then(
      () => true,
      () => false,
    );
    server.close();
    return { done, asked };
  };

  test('is steered although the carrier does not do it at once', async () => {
    expect(await steer(503, 429, 200)).toEqual({ done: true, asked: 3 });
  });

  test('is reported when the carrier does not do it', async () => {
    expect(await steer(503, 503, 503)).toEqual({ done: false, asked: 3 });
    expect(await steer(401)).toEqual({ done: false, asked: 1 });
    // It may have been done, and a document is not said twice.
    expect(await steer(500)).toEqual({ done: false, asked: 1 });
  });

  test('is left alone when it is over', async () => {
    expect(await steer(404)).toEqual({ done: true, asked: 1 });
  });
});
