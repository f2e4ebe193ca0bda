/** Loaded when a log-in needs it, because it is a module of the new kind, which `require` warns of on Node 20. */
const load = () => import('openid-client');
type Configuration = InstanceType<Awaited<ReturnType<typeof load>>['Configuration']>;

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

/** Keys and addresses change; the library itself looks for keys that it does not know. */
const KNOWN_FOR_MS = 3_600_000;
const SCOPE = 'openid email';
/** Others are refused even where the provider lists them, such as `none` and those with a shared secret. */
const ALGORITHMS = ['RS256', 'ES256'];

export function createOidcProvider(settings: OidcSettings, now: () => number = Date.now): OidcProvider {
  let known: { configuration: Promise<Configuration>; readAt: number } | undefined;

  /** One that could not be read is read again by the next log-in. */
  function configuration(): Promise<Configuration> {
    if (known && now() - known.readAt < KNOWN_FOR_MS) return known.configuration;
    const reading = readConfiguration(settings);
    known = { configuration: reading, readAt: now() };
    reading.catch(() => {
      if (known?.configuration === reading) known = undefined;
    });
    return reading;
  }

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
      const oidc = await load();
      const at = await configuration().catch(away);
      const tokens = await oidc
        .authorizationCodeGrant(at, new URL(callbackUrl), {
          pkceCodeVerifier: checks.codeVerifier,
          expectedState: checks.state,
          expectedNonce: checks.nonce,
          idTokenExpected: true,
        })
        .catch(sortAway);
      refuseOtherAlgorithms(tokens.id_token ?? '');
      const claims = tokens.claims();
      if (!claims) throw new Error('The provider sent no ID token');
      refuseWeaker(claims.acr, settings.acrValues);
      if (claims.email !== undefined || !at.serverMetadata().userinfo_endpoint) return verifiedEmail(claims);
      return verifiedEmail(await oidc.fetchUserInfo(at, tokens.access_token, claims.sub).catch(sortAway));
    },
  };
}

async function readConfiguration({ issuer, clientId, clientSecret }: OidcSettings): Promise<Configuration> {
  const oidc = await load();
  const server = new URL(issuer);
  // The configuration takes such an issuer on this machine only.
  const isInsecure = server.protocol === 'http:';
  const found = await oidc.discovery(server, clientId, clientSecret, undefined, {
    timeout: 10,
    ...(isInsecure ? { execute: [oidc.allowInsecureRequests] } : {}),
  });
  const metadata = found.serverMetadata();
  // A provider that lists no methods supports `client_secret_basic` (OpenID Connect Discovery 1.0).
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const prove = methods.includes('client_secret_basic') ? oidc.ClientSecretBasic : oidc.ClientSecretPost;
  const configuration = new oidc.Configuration(metadata, clientId, clientSecret, prove(clientSecret));
  configuration.timeout = 10;
  if (isInsecure) oidc.allowInsecureRequests(configuration);
  // The library trusts a token that came over TLS; its signature is checked as well.
  oidc.enableNonRepudiationChecks(configuration);
  return configuration;
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
