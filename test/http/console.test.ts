import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { consoleRoutes } from '../../src/http/console';
import { NO_CALLERS } from '../support/no-callers';
import { listen, type TestServer } from './service';

const SCRIPT = 'console.log("a script long enough to be compressed, compressed, compressed")';

describe('the console, as it is served', () => {
  let directory: string;
  let server: TestServer;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'fanfare-console-'));
    const assets = join(directory, 'assets');
    mkdirSync(assets);
    writeFileSync(join(directory, 'index.html'), '<html data-session="unknown"></html>');
    writeFileSync(join(assets, 'index-1a2b.js'), SCRIPT);
    writeFileSync(join(assets, 'index-1a2b.js.gz'), gzipSync(SCRIPT));
    writeFileSync(join(assets, 'index-1a2b.js.br'), brotliCompressSync(SCRIPT));
    server = await listen({
      authenticator: NO_CALLERS as never,
      routes: [consoleRoutes(directory, { oidc: false })],
    });
  });
  afterAll(async () => {
    await server?.app.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const policyOf = async (path: string) =>
    String((await server.call('GET', path)).headers['content-security-policy']);

  test.each(['/', '/console'])('%s leads to /console/', async (path) => {
    const { status, headers } = await server.call('GET', path);
    expect([status, headers.location]).toEqual([302, '/console/']);
  });

  test.each(['/console/', '/console/campaigns/cmp_01?tab=people', '/console/campaigns/'])(
    '%s is the page, never kept, under a policy without exceptions',
    async (path) => {
      const { status, headers, body } = await server.call('GET', path);
      expect(status).toBe(200);
      expect(body).toBe('<html data-session="none"></html>');
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      });
      const policy = await policyOf(path);
      expect(policy).toContain("default-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe-');
    },
  );

  test('the page says that the browser has a cookie of a session, without looking whose', async () => {
    const { body } = await server.call('GET', '/console/', { headers: { cookie: 'session_token=x' } });
    expect(body).toBe('<html data-session="some"></html>');
  });

  test.each([
    ['br', 'gzip, br'],
    ['gzip', 'gzip'],
    [undefined, 'identity'],
  ])('a file comes compressed by %s to a browser that takes %s, for a year', async (encoding, accepted) => {
    const { status, headers } = await server.call('GET', '/console/assets/index-1a2b.js', {
      headers: { 'accept-encoding': accepted },
    });
    expect([status, headers['content-encoding']]).toEqual([200, encoding]);
    expect(headers).toMatchObject({
      'content-type': 'application/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    });
  });

  test.each([
    '/console/assets/gone-3c4d.js',
    '/console/assets/index-1a2b.js.br',
    '/console/assets/..%2findex.html',
    '/console/old.js',
    '/consoles',
  ])('%s is not there', async (path) => {
    const { status, body } = await server.call('GET', path);
    expect([status, body.code]).toEqual([404, 'not_found']);
  });

  test('the frame for previews runs no script, loads nothing, and only the console may show it', async () => {
    const { status, headers } = await server.call('GET', '/console/preview.html');
    expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
    const policy = await policyOf('/console/preview.html');
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining([
        ...["default-src 'none'", 'img-src data:', "frame-ancestors 'self'", 'sandbox allow-same-origin'],
      ]),
    );
    expect(policy).not.toContain('script');
  });
});
