import type { Config } from '../config';
import { isVendor, type VendorKind } from '../domain/account';
import { CHANNELS, type Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { type Place, placeOf, reach } from '../providers/reach';
import { VENDORS } from '../providers/vendor/vendors';
import type { Check, CheckResult } from './doctor';

/**
 * Checks whether a server listens where messages are handed over. It sends nothing, because a request might be
 * taken for a message. Whether the account is accepted shows with the first message.
 */
export const lookAtProviders: Check = async ({ config }) =>
  Promise.all(CHANNELS.map((channel) => lookAt(channel, config)));

async function lookAt(channel: Channel, config: Config): Promise<CheckResult> {
  const check = `${channel} provider`;
  const name = config.providers[channel];
  if (isVendor(name)) return lookAtVendor(check, name, config);
  const peers = peersOf(channel, config);
  if (!peers) return { check, state: 'note', found: `${name}: nothing leaves this machine` };
  const problems = await Promise.all(
    peers.places.map(async (place) => {
      const problem = await reach(place, LIMITS.accountCheckMs);
      return problem ? [`${place.host}:${place.port}: ${problem}`] : [];
    }),
  );
  const away = problems.flat();
  const count = peers.places.length;
  const found = `${name}, ${count - away.length} of ${count} peers can be reached`;
  if (away.length === 0) return { check, state: 'ok', found };
  return {
    ...{ check, state: away.length === count ? 'broken' : 'note' },
    ...{ found: `${found} (${away.join('; ')})` },
    wayOut: `Start it, let this machine reach it, or correct ${peers.variable}.`,
  };
}

/** Asks the vendor about the account, which costs nothing, and names what keeps its callbacks from being taken. */
async function lookAtVendor(check: string, kind: VendorKind, config: Config): Promise<CheckResult> {
  const vendor = VENDORS[kind];
  if (!vendor)
    return { check, state: 'broken', found: `${kind} is not built yet`, wayOut: 'Choose another provider.' };
  const { settings = {}, secrets = {} } = config.vendors[kind] ?? {};
  const account = { id: check, settings, secrets };
  const { ok, detail } = await vendor.check(account);
  if (!ok) {
    const wayOut = `Correct FANFARE_${kind.toUpperCase()}_…, or let this machine reach ${kind}.`;
    return { check, state: 'broken', found: `${kind}: ${detail}`, wayOut };
  }
  const missing = [...vendor.warnings(account), ...publicUrlProblem(config.http.publicUrl)];
  if (missing.length === 0) return { check, state: 'ok', found: `${kind}: ${detail}` };
  const wayOut =
    'Set FANFARE_PUBLIC_URL to the https address by which the vendor reaches this installation, and the token.';
  return { check, state: 'note', found: `${kind}: ${detail}; ${missing.join('; ')}`, wayOut };
}

export function publicUrlProblem(publicUrl: string | undefined): string[] {
  if (publicUrl === undefined) return ['FANFARE_PUBLIC_URL is not set, so that no callback can arrive'];
  if (!publicUrl.startsWith('https:')) return ['FANFARE_PUBLIC_URL is not https'];
  const { hostname } = new URL(publicUrl);
  return /_|^localhost$|^127\.|^\[?::1/.test(hostname) ? [`carriers cannot call ${hostname}`] : [];
}

interface Peers {
  places: Place[];
  variable: string;
}

/** Undefined for the simulator. */
function peersOf(channel: Channel, config: Config): Peers | undefined {
  if (channel === 'email' && config.smtp) {
    const places = config.smtp.relays.map(({ host, port }) => ({ host, port, tls: false }));
    return { places, variable: 'FANFARE_SMTP_URL' };
  }
  if (channel === 'sms' && config.smpp) {
    return {
      places: config.smpp.url.split(',').map((url) => placeOf(url.trim())),
      variable: 'FANFARE_SMPP_URL',
    };
  }
  if (channel === 'sms' && config.kannelUrl) {
    return { places: [placeOf(config.kannelUrl)], variable: 'FANFARE_KANNEL_URL' };
  }
  const http = config.httpProviders[channel];
  return http && { places: [placeOf(http.url)], variable: `FANFARE_${channel.toUpperCase()}_HTTP_URL` };
}
