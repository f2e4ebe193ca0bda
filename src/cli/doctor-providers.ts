import { connect } from 'node:net';
import type { Config } from '../config';
import { CHANNELS, type Channel } from '../domain/channel';
import type { Finding, Look } from './doctor';

/**
 * Checks whether a server listens where messages are handed over. It sends nothing, because a request might be
 * taken for a message. Whether the account is accepted shows with the first message.
 */
export const lookAtProviders: Look = async ({ config }) =>
  Promise.all(CHANNELS.map((channel) => lookAt(channel, config)));

async function lookAt(channel: Channel, config: Config): Promise<Finding> {
  const check = `${channel} provider`;
  const name = config.providers[channel];
  const peers = peersOf(channel, config);
  if (!peers) return { check, state: 'note', found: `${name}: nothing leaves this machine` };
  const problems = await Promise.all(
    peers.places.map(async ({ host, port }) => {
      const problem = await reach(host, port);
      return problem ? [`${host}:${port}: ${problem}`] : [];
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

interface Peers {
  places: { host: string; port: number }[];
  variable: string;
}

/** Undefined for the simulator. */
function peersOf(channel: Channel, config: Config): Peers | undefined {
  if (channel === 'email' && config.smtp) return { places: config.smtp.relays, variable: 'FANFARE_SMTP_URL' };
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

const PORTS: Record<string, number> = { 'https:': 443, 'smpp:': 2_775, 'smpps:': 3_550 };

function placeOf(url: string): { host: string; port: number } {
  const { protocol, hostname, port } = new URL(url);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (PORTS[protocol] ?? 80) : Number(port),
  };
}

const REACH_MS = 5_000;

/** Returns why a connection failed, or undefined. */
async function reach(host: string, port: number): Promise<string | undefined> {
  return new Promise((done) => {
    const socket = connect({ host, port, timeout: REACH_MS });
    const end = (problem?: string) => {
      socket.destroy();
      done(problem);
    };
    socket.once('connect', () => end());
    socket.once('timeout', () => end('no answer in time'));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}
