/** Proves the pages about the API, and that they load nothing from other servers. */

import { ERRORS } from '../../src/domain/errors';
import { NO_CALLERS } from '../support/no-callers';
import { listen, type TestServer } from './service';

describe('the pages about the API', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await listen({
      authenticator: NO_CALLERS,
      routes: [],
    });
  });
  afterAll(() => server.app.close());

  const get = (path: string, accept = 'text/html,*/*') => server.call('GET', path, { headers: { accept } });

  /** Whatever a page makes a browser ask for. */
  const loadedBy = (html: string) =>
    [...html.matchAll(/<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="([^"]*)"/g)].map(
      ([, url]) => url ?? '',
    );

  test.each(['/docs', '/docs/', '/docs/errors'])(
    '%s loads nothing but files of this server',
    async (path) => {
      const page = await get(path);
      expect(page.status).toBe(200);
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
      const loaded = loadedBy(page.body).filter((url) => !url.startsWith('data:'));
      expect(loaded.length).toBeGreaterThan(0);
      for (const url of loaded) {
        expect(url).toMatch(/^\/docs\/static\/[a-z-]+\.(?:css|js)$/);
        expect((await get(url)).status).toBe(200);
      }
      expect(page.body).not.toMatch(/https?:|"\/\//);
    },
  );

  test('a browser may load nothing from another host, and runs no inline script', async () => {
    for (const path of ['/docs', '/docs/errors']) {
      const policy = String((await get(path)).headers['content-security-policy']);
      const sources = policy.split(';').flatMap((directive) => directive.trim().split(' ').slice(1));
      expect(policy).toMatch(/^default-src 'none';/);
      expect(new Set(sources)).toEqual(new Set(["'none'", "'self'", "'unsafe-inline'", 'data:']));
      expect(/script-src ([^;]*)/.exec(policy)?.[1]).toBe("'self'");
    }
  });

  test('the reference is of the document here, and asks no validator elsewhere', async () => {
    const { body, headers } = await get('/docs/static/reference.js');
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(body).toContain("url: '/openapi.json'");
    expect(body).toContain('validatorUrl: null');
    expect(body).not.toMatch(/https?:/);
    const style = (await get('/docs/static/swagger-ui.css')).body;
    expect(style).not.toMatch(/@import|url\((?!["']?(?:data:|#))/);
  });

  test.each(['/docs/static/..%2f..%2fpackage.json', '/docs/static/csp.json', '/docs/static/'])(
    '%s is no file of the pages',
    async (path) => expect((await get(path)).status).toBe(404),
  );

  test('where the type of a problem points, its code is explained', async () => {
    const problem = await get('/nothing-here');
    expect(problem.body.type).toBe('/docs/errors#not_found');
    const [path, anchor] = problem.body.type.split('#');
    expect((await get(path)).body).toContain(`id="${anchor}"`);
  });

  test('every code of the catalogue is on the page once, and in its JSON', async () => {
    const page = (await get('/docs/errors')).body;
    const anchors = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(anchors).toEqual(Object.keys(ERRORS));
    const data = await get('/docs/errors', 'application/json');
    expect(data.headers.vary).toBe('accept');
    expect(
      Object.fromEntries(data.body.errors.map(({ code, ...entry }: { code: string }) => [code, entry])),
    ).toEqual(ERRORS);
  });

  test('they are open to every caller, and take no other method', async () => {
    for (const path of ['/docs', '/docs/errors', '/openapi.json']) {
      const refused = await server.call('POST', path, { body: {} });
      expect([path, refused.status, refused.headers.allow]).toEqual([path, 405, 'GET, HEAD']);
    }
  });

  test('the document describes exactly the routes of this server', async () => {
    const { body, headers } = await get('/openapi.json');
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(Object.keys(body.paths)).toEqual([
      '/openapi.json',
      '/docs',
      '/docs/errors',
      '/docs/static/{file}',
    ]);
  });
});
