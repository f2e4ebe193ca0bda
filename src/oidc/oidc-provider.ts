/** Loaded when a log-in needs it, because it is a module of the new kind, which `require` warns of on Node 20. */
const load = () => import('openid-client');
type Library = Awaited<ReturnType<typeof load>>;
type Configuration = InstanceType<Library['Configuration']>;
type Server = ReturnType<Configuration['serverMetadata']>;
type Keys = ReturnType<Library['getJwksCache']>;
type Fetch = NonNullable<Configuration[Library['customFetch']]>;

export interface OidcSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Classes of log-in (`acr`), one of which the provider has to say that it was. Empty: any. */
  acrValues: readonly string[];
}

/** What the browser keeps between the two halves of a log-in, so that the second one belongs to the first. */
export interface LoginChecks {
  state: string;
  nonce: string;
  codeVerifier: string;
}

/**
 * Log-ins at an OpenID provider: authorization code with PKCE, state and nonce. Its keys and addresses are read
 * when they are first needed, so that a provider that is away keeps nothing from starting.
 */
export interface OidcProvider {
  begin(redirectUri: string): Promise<{ url: string; checks: LoginChecks }>;
  /** The email address that the provider vouches for; undefined if it does not say that it is verified. */
  finish(callbackUrl: string, checks: LoginChecks): Promise<string | undefined>;
  /** Whether `finish` failed because the provider did not answer, so that nothing is known of the person. */
  isAway(error: unknown): boolean;
}

class ProviderAway extends Error {
  override name = 'ProviderAway';
}

/** Addresses change. */
const KNOWN_FOR_MS = 3_600_000;

/**
 * The library reads keys again for a key id that it does not know only a minute after it last did, and a provider may
 * begin to sign with a new key in between. We read them at once; this many times, and then once in so many milliseconds,
 * because tokens with made-up key ids would otherwise have us ask the provider for each of them.
 */
const READ_AGAIN = { atOnce: 5, everyMs: 20_000 };

const SCOPE = 'openid email';
/** Others are refused even where the provider lists them, such as `none` and those with a shared secret. */
const ALGORITHMS = ['RS256', 'ES256'];

export function createOidcProvider(settings: OidcSettings, now: () => number = Date.now): OidcProvider {
  let known: { server: Promise<Server>; readAt: number } | undefined;

  /** One that could not be read is read again by the next log-in. */
  function server(): Promise<Server> {
    if (known && now() - known.readAt < KNOWN_FOR_MS) return known.server;
    const reading = readServer(settings);
    known = { server: reading, readAt: now() };
    reading.catch(() => {
      if (known?.server === reading) known = undefined;
    });
    return reading;
  }
  const { configuration, redeem } = createRedeeming(settings, server, now);

  return {
    isAway: (error) => error instanceof ProviderAway,
    async begin(redirectUri) {
      const oidc = await load();
      const checks = {
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        codeVerifier: oidc.randomPKCECodeVerifier(),
      };
      const url = oidc.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: SCOPE,
        ...(settings.acrValues.length > 0 ? { acr_values: settings.acrValues.join(' ') } : {}),
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(checks.codeVerifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, checks };
    },

    async finish(callbackUrl, checks) {
      const tokens = await redeem(callbackUrl, checks).catch(sortAway);
      refuseOtherAlgorithms(tokens.id_token ?? '');
      const claims = tokens.claims();
      if (!claims) throw new Error('The provider sent no ID token');
      refuseWeaker(claims.acr, settings.acrValues);
      const { userinfo_endpoint: more } = await server().catch(away);
      if (claims.email !== undefined || !more) return verifiedEmail(claims);
      const [oidc, at] = [await load(), await configuration()];
      return verifiedEmail(await oidc.fetchUserInfo(at, tokens.access_token, claims.sub).catch(sortAway));
    },
  };
}

/** Makes tokens of codes, and keeps the provider's keys, with which tokens are signed. */
function createRedeeming(settings: OidcSettings, server: () => Promise<Server>, now: () => number) {
  let keys: Keys;
  const mayReadAgain = atMost(READ_AGAIN, now);

  /** One of its own for each check of a token, because the library never lets go of the keys that one has. */
  async function withKeys(known: Keys, fetch?: Fetch): Promise<Configuration> {
    const oidc = await load();
    const made = configurationOf(oidc, await server().catch(away), settings);
    if (known) oidc.setJwksCache(made, known);
    if (fetch) made[oidc.customFetch] = fetch;
    return made;
  }

  async function redeem(callbackUrl: string, checks: LoginChecks) {
    const oidc = await load();
    const { token_endpoint: endpoint } = await server().catch(away);
    let answer: Promise<Response> | undefined;
    // A code counts once, so that the second check has the answer that the first one got.
    const fetchOnce: Fetch = async (url, init) => {
      if (url !== endpoint) return fetch(url, init as RequestInit);
      answer ??= fetch(url, init as RequestInit);
      return (await answer).clone();
    };
    const check = async (known: Keys) => {
      const at = await withKeys(known, fetchOnce);
      try {
        return await oidc.authorizationCodeGrant(at, new URL(callbackUrl), {
          pkceCodeVerifier: checks.codeVerifier,
          expectedState: checks.state,
          expectedNonce: checks.nonce,
          idTokenExpected: true,
        });
      } finally {
        // Also after a refusal, because keys that are a minute old would otherwise be read again for each of them.
        keys = oidc.getJwksCache(at) ?? keys;
      }
    };
    try {
      return await check(keys);
    } catch (error) {
      if ((error as { code?: unknown }).code !== UNKNOWN_KEY || !mayReadAgain()) throw error;
      return await check(undefined);
    }
  }

  return { configuration: () => withKeys(keys), redeem };
}

const isInsecure = (issuer: string) => issuer.startsWith('http:');

async function readServer({ issuer, clientId, clientSecret }: OidcSettings): Promise<Server> {
  const oidc = await load();
  const found = await oidc.discovery(new URL(issuer), clientId, clientSecret, undefined, {
    timeout: 10,
    // The configuration takes such an issuer on this machine only.
    ...(isInsecure(issuer) ? { execute: [oidc.allowInsecureRequests] } : {}),
  });
  return found.serverMetadata();
}

function configurationOf(oidc: Library, server: Server, settings: OidcSettings): Configuration {
  const { issuer, clientId, clientSecret } = settings;
  // A provider that lists no methods supports `client_secret_basic` (OpenID Connect Discovery 1.0).
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const prove = methods.includes('client_secret_basic') ? oidc.ClientSecretBasic : oidc.ClientSecretPost;
  const configuration = new oidc.Configuration(server, clientId, clientSecret, prove(clientSecret));
  configuration.timeout = 10;
  if (isInsecure(issuer)) oidc.allowInsecureRequests(configuration);
  // The library trusts a token that came over TLS; its signature is checked as well.
  oidc.enableNonRepudiationChecks(configuration);
  return configuration;
}

/** Of the library: no key of the provider has the id, or the kind, that the token names. */
const UNKNOWN_KEY = 'OAUTH_KEY_SELECTION_FAILED';

/** Says yes so many times at once, and then once in `everyMs`. */
function atMost({ atOnce, everyMs }: typeof READ_AGAIN, now: () => number): () => boolean {
  let left = atOnce;
  let at = now();
  return () => {
    left = Math.min(atOnce, left + (now() - at) / everyMs);
    at = now();
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}

function away(cause: unknown): never {
  throw new ProviderAway('The OpenID provider does not answer', { cause });
}

/** Errors of the network come from the library as they are (a TypeError of `fetch`, a timeout) or as the cause of its own. */
function sortAway(error: unknown): never {
  const { cause, status } = error as Error & { status?: number };
  const answered = cause instanceof Response ? cause.status : status;
  const isNetwork = [error, cause].some((each) => NETWORK.includes((each as Error | undefined)?.name ?? ''));
  if (isNetwork || (answered !== undefined && answered >= 500)) away(error);
  throw error;
}

const NETWORK = ['TypeError', 'TimeoutError'];

function refuseOtherAlgorithms(idToken: string): void {
  const header: unknown = JSON.parse(Buffer.from(idToken.split('.')[0] ?? '', 'base64url').toString('utf8'));
  const { alg } = header as { alg?: unknown };
  if (!ALGORITHMS.includes(String(alg))) throw new Error(`The ID token is signed with ${String(alg)}`);
}

/** A provider may take `acr_values` as a wish, so that only its answer counts. */
function refuseWeaker(acr: unknown, wanted: readonly string[]): void {
  if (wanted.length === 0 || (typeof acr === 'string' && wanted.includes(acr))) return;
  throw new Error('The log-in at the provider was of no class in FANFARE_OIDC_ACR_VALUES');
}

function verifiedEmail({ email, email_verified: verified }: Record<string, unknown>): string | undefined {
  return typeof email === 'string' && verified === true ? email : undefined;
}
