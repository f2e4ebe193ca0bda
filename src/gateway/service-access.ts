import type { Config } from '../config';
import { StartupError } from '../startup-error';
import type { GatewayOptions } from './http-gateway';

/** Credentials of our own messaging service, as the first start wrote them to credentials.json. */
export interface OwnAccess {
  baseUrl: string;
  client: { id: string; secret: string };
  apiKey: string;
}

/**
 * The messaging service that campaigns use, and its credentials: from the variables first, and from our own
 * service for what they leave out.
 */
export function serviceAccess(service: Config['service'], own: OwnAccess | undefined): GatewayOptions {
  const missing: string[] = [];
  const need = (name: string, set: string | undefined, fallback: string | undefined): string => {
    const value = set ?? fallback;
    if (value === undefined) missing.push(name);
    return value ?? '';
  };
  const options: GatewayOptions = {
    authUrl: need('FANFARE_AUTH_URL', service.authUrl, own?.baseUrl),
    sendUrl: need('FANFARE_SEND_URL', service.sendUrl, own?.baseUrl),
    appUrl: need('FANFARE_APP_URL', service.appUrl, own?.baseUrl),
    clientId: need('FANFARE_CLIENT_ID', service.clientId, own?.client.id),
    clientSecret: need('FANFARE_CLIENT_SECRET', service.clientSecret, own?.client.secret),
    apiKey: need('FANFARE_API_KEY', service.apiKey, own?.apiKey),
    sessionCookie: service.sessionCookie,
  };
  if (missing.length) {
    throw new StartupError(
      `The workers do not know how to reach the messaging service: ${missing.join(', ')} not set`,
      'Set these variables, or let FANFARE_DATA_DIR name the directory in which `fanfare serve` writes credentials.json.',
      // A process that starts beside this one may be about to write it.
      { mayPass: own === undefined },
    );
  }
  return options;
}
