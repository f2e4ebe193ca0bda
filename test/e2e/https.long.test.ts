/** Proves the program with a certificate of its own: from outside by https, on its own machine without. */

import { Agent, get } from 'node:https';
import { ApiClient } from '../support/api-client';
import { type Certificate, makeCertificate } from '../support/certificate';
import { runFanfare } from '../support/fanfare-command';
import {
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
} from '../support/fanfare-process';
import { until } from '../support/until';

describe('fanfare up with a certificate', () => {
  let certificate: Certificate;
  let at: Place;
  let fanfare: FanfareProcess;

  beforeAll(async () => {
    certificate = makeCertificate();
    at = await makePlace({ FANFARE_TLS_CERT: certificate.certFile, FANFARE_TLS_KEY: certificate.keyFile });
    fanfare = startFanfare(at, ['up', '--demo']);
    await until('it is ready', () => fanfare.output().includes('Fanfare is ready.'), 60_000);
  }, 150_000);
  afterAll(async () => {
    await fanfare?.stop();
    await at?.remove();
    certificate.remove();
  });

  const outside = `https://127.0.0.1`;
  const readiness = () =>
    new Promise<{ status: number | undefined; hsts: unknown }>((done, fail) => {
      const agent = new Agent({ ca: certificate.cert });
      get(`${outside}:${at.env.FANFARE_HTTP_PORT}/readyz`, { agent }, (answer) => {
        answer.resume();
        done({ status: answer.statusCode, hsts: answer.headers['strict-transport-security'] });
        agent.destroy();
      }).on('error', fail);
    });

  test('is reached by https, and says where', async () => {
    expect(fanfare.output()).toContain(`API             ${outside}:${at.env.FANFARE_HTTP_PORT}`);
    expect(await readiness()).toEqual({ status: 200, hsts: expect.stringContaining('max-age=') });
  });

  test('sends its own campaigns, answers commands and its credentials without being told to trust it', async () => {
    await until('the demo campaign is completed', () => /completed/.test(fanfare.output()), 90_000);
    const credentials = readCredentials(at);
    expect(credentials.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const api = new ApiClient(credentials.baseUrl, credentials);
    const { data } = await api.expect<{ data: unknown[] }>('GET', '/api/contact-list?page=1&limit=10');
    expect(data.length).toBeGreaterThan(0);
    await api.close();
    const { out } = await runFanfare(['doctor', '--json'], at.env).ended;
    const { findings } = JSON.parse(out) as { findings: { check: string; state: string }[] };
    const of = (check: string) => findings.filter((one) => one.check === check).map(({ state }) => state);
    expect([of('https'), of('instance'), of('messaging service')]).toEqual([['ok'], ['ok'], ['ok']]);
  }, 120_000);

  test('commands that do not trust it, or leave the s out, say what to do', async () => {
    const { FANFARE_HTTP_PORT: port } = at.env;
    const { client } = readCredentials(at);
    const list = async (url: string) => {
      const env = { FANFARE_DATA_DIR: '/none', FANFARE_APP_URL: url, FANFARE_CLIENT_ID: client.id };
      return (await runFanfare(['campaign', 'list'], { ...env, FANFARE_CLIENT_SECRET: client.secret }).ended)
        .err;
    };
    expect(await list(`https://127.0.0.1:${port}`)).toMatch(/certificate\nLet NODE_EXTRA_CA_CERTS name/);
    expect(await list(`http://127.0.0.1:${port}`)).toMatch(/\nWrite the address with https:\/\//);
    expect(await list(`https://127.0.0.1:${new URL(readCredentials(at).baseUrl).port}`)).toMatch(
      /\nWrite the address with http:\/\//,
    );
  }, 60_000);

  test('a start says under which address others reach it', async () => {
    const other = await makePlace({ FANFARE_PUBLIC_URL: 'https://fanfare.example' });
    const started = startFanfare(other, ['up']);
    await until('it is ready', () => started.output().includes('Fanfare is ready.'), 60_000);
    expect(started.output()).toContain('Console         https://fanfare.example/console/');
    expect(started.output()).toContain(`On this machine http://127.0.0.1:${other.env.FANFARE_HTTP_PORT}`);
    await started.stop();
    await other.remove();
  }, 90_000);

  test('does not start with a key of another certificate, and says so in two lines', async () => {
    const other = makeCertificate();
    const wrong = startFanfare({ ...at, env: { ...at.env, FANFARE_TLS_KEY: other.keyFile } }, ['serve']);
    expect(await wrong.exited).toBe(1);
    const lines = wrong.output().trim().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('is not the key of the certificate in');
    other.remove();
  }, 60_000);
});
