import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What the provider says of whoever logs in, and how it signs it. */
export interface Person {
  email?: string;
  email_verified?: unknown;
}

/** An OpenID provider of the tests' own, whose users agree to everything at once. */
export interface OidcIssuer {
  url: string;
  clientId: string;
  clientSecret: string;
  person: Person;
  algorithm: 'RS256' | 'ES256' | 'HS256';
  /** Changes what is signed, as a provider that is wrong or is not the one. */
  spoil: {
    claims?: Record<string, unknown>;
    foreignKey?: boolean;
    refuse?: boolean;
    broken?: 503 | 'html';
    /** Names a key that the provider does not have. */
    keyId?: string;
  };
  /** Signs with new keys from now on, under new ids. */
  rotate(): Promise<void>;
  /** How often its keys were read. */
  keysRead: number;
  close(): Promise<void>;
}

export async function startOidcIssuer(): Promise<OidcIssuer> {
  const { exportJWK, generateKeyPair, SignJWT } = await import('jose');
  const newKeys = async () => ({
    RS256: await generateKeyPair('RS256'),
    ES256: await generateKeyPair('ES256'),
  });
  let keys = await newKeys();
  let generation = 1;
  const foreign = await generateKeyPair('RS256');
  const codes = new Map<string, URLSearchParams>();
  const server = createServer((request, reply) => {
    answer(request, reply).catch((error: unknown) => reply.writeHead(500).end(String(error)));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: OidcIssuer = {
    ...{ url, clientId: 'fanfare', clientSecret: 'a secret: of 20 chars', algorithm: 'RS256' },
    ...{ person: {}, spoil: {}, keysRead: 0 },
    async rotate() {
      keys = await newKeys();
      generation += 1;
    },
    close: () => new Promise<void>((done) => server.close(() => done())),
  };

  async function answer(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    const send = (body: unknown, status = 200) =>
      reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (pathname === '/.well-known/openid-configuration') {
      return void send({
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256', 'ES256', 'HS256'],
      });
    }
    if (pathname === '/jwks') {
      issuer.keysRead += 1;
      const jwks = Object.entries(keys).map(async ([alg, { publicKey }]) => ({
        ...(await exportJWK(publicKey)),
        ...{ alg, kid: `${alg}-${generation}`, use: 'sig' },
      }));
      return void send({ keys: await Promise.all(jwks) });
    }
    if (pathname === '/authorize') {
      const back = new URL(String(searchParams.get('redirect_uri')));
      back.searchParams.set('state', String(searchParams.get('state')));
      const code = randomUUID();
      if (issuer.spoil.refuse) back.searchParams.set('error', 'access_denied');
      else back.searchParams.set('code', code);
      codes.set(code, searchParams);
      return void reply.writeHead(302, { location: back.href }).end();
    }
    if (issuer.spoil.broken === 503) return void send({ error: 'temporarily_unavailable' }, 503);
    if (issuer.spoil.broken)
      return void reply.writeHead(502, { 'content-type': 'text/html' }).end('<p>No</p>');
    const grant = new URLSearchParams(await text(request));
    const asked = codes.get(String(grant.get('code')));
    codes.delete(String(grant.get('code')));
    const challenge = createHash('sha256')
      .update(String(grant.get('code_verifier')))
      .digest('base64url');
    const { clientId, clientSecret } = issuer;
    const basic = [clientId, clientSecret].map((each) =>
      new URLSearchParams({ v: each }).toString().slice(2),
    );
    const isClient =
      request.headers.authorization === `Basic ${Buffer.from(basic.join(':')).toString('base64')}`;
    if (!asked || !isClient || challenge !== asked.get('code_challenge')) {
      return void send({ error: 'invalid_grant' }, 400);
    }
    send({ access_token: randomUUID(), token_type: 'Bearer', id_token: await idToken(asked) });
  }

  function idToken(asked: URLSearchParams): Promise<string> {
    const { algorithm: alg, person, spoil, clientId, clientSecret } = issuer;
    const signing = new SignJWT({ nonce: asked.get('nonce'), ...person, ...spoil.claims })
      .setProtectedHeader({ alg, kid: spoil.keyId ?? `${alg}-${generation}` })
      .setSubject('person-1')
      .setIssuedAt();
    if (spoil.claims?.iss === undefined) signing.setIssuer(url);
    if (spoil.claims?.aud === undefined) signing.setAudience(clientId);
    if (spoil.claims?.exp === undefined) signing.setExpirationTime('5m');
    if (alg === 'HS256') return signing.sign(new TextEncoder().encode(clientSecret));
    return signing.sign((spoil.foreignKey ? foreign : keys[alg]).privateKey);
  }
  return issuer;
}
