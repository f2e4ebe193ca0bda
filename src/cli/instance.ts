import { readConfig } from '../config';
import { type Credentials, credentialsFile, readCredentials } from '../credentials/credentials';
import { StartupError } from '../startup-error';
import { type ApiClient, createApiClient } from './api-client';

/**
 * The running instance as its administrator: by the environment and, for what that leaves out, by
 * credentials.json of the data directory (api.md 13).
 */
export async function openInstance(): Promise<ApiClient> {
  const { dataDir, service } = readConfig(process.env);
  const own = await readCredentials(dataDir);
  const baseUrl = service.appUrl ?? own?.baseUrl;
  if (!baseUrl) throw unknown('where the instance is', dataDir, 'FANFARE_APP_URL');
  if (service.sessionCookie) return createApiClient({ baseUrl, sessionCookie: service.sessionCookie });
  if (!own) throw unknown('who may administer it', dataDir, 'FANFARE_SESSION_COOKIE');
  return createApiClient({ baseUrl, user: own.user });
}

/**
 * The running instance as a backend of the workspace: by the client or the session of the environment,
 * otherwise by the client of credentials.json.
 */
export async function openBackend(signal?: AbortSignal): Promise<ApiClient> {
  const { dataDir, service } = readConfig(process.env);
  const own = await readCredentials(dataDir);
  const baseUrl = service.appUrl ?? own?.baseUrl;
  if (!baseUrl) throw unknown('where the instance is', dataDir, 'FANFARE_APP_URL');
  const { authUrl, sendUrl, clientId, clientSecret, sessionCookie } = service;
  const where = { baseUrl, authUrl, sendUrl, signal };
  if (clientId !== undefined && clientSecret !== undefined) {
    const client = { id: clientId, secret: clientSecret };
    return createApiClient({ ...where, client, apiKey: service.apiKey });
  }
  // A new secret of the same client, which credentials.json does not have (docs/operating.md, rotating a secret).
  if (clientSecret !== undefined && own) {
    const client = { id: own.client.id, secret: clientSecret };
    return createApiClient({ ...where, client, apiKey: service.apiKey ?? own.apiKey });
  }
  if (sessionCookie) return createApiClient({ baseUrl, signal, sessionCookie });
  if (!own) throw unknown('who asks', dataDir, 'FANFARE_CLIENT_ID');
  return createApiClient({ ...where, client: own.client, apiKey: service.apiKey ?? own.apiKey });
}

/** What to do after a change of what credentials.json holds, if it is this one's. */
export async function afterChangeOf(what: string, isIt: (own: Credentials) => boolean): Promise<string[]> {
  const { dataDir } = readConfig(process.env);
  const own = await readCredentials(dataDir);
  if (!own || !isIt(own)) return [];
  return [
    `The instance sends its own campaigns with this ${what}, by ${credentialsFile(dataDir)}: write the new one there, and restart it.`,
  ];
}

function unknown(what: string, dataDir: string, variable: string): StartupError {
  return new StartupError(
    `Nothing says ${what}: there is no ${credentialsFile(dataDir)}, and ${variable} is not set`,
    `Start an instance with \`fanfare up\`, let FANFARE_DATA_DIR name its directory, or set ${variable}.`,
  );
}
