import { join } from 'node:path';
import type { Config } from '../config';
import { CHANNELS, type Channel } from '../domain/channel';
import type { Log } from '../log';
import { openHttpProvider } from '../providers/http-provider';
import { openKannelProvider } from '../providers/kannel-provider';
import type { Provider } from '../providers/provider';
import { openSimulator } from '../providers/simulator';
import type { SmsParts } from '../providers/smpp/parts';
import { openSmppProvider } from '../providers/smpp/smpp-provider';

export interface ProviderSurroundings {
  log: Log;
  /** What is kept of long SMS for the provider of this name. */
  smsParts(provider: string): SmsParts;
  /** Where a carrier reaches `/inbound/{provider}/{secret}`; known once the server listens. */
  inboundUrl(provider: string): string;
}

/** The provider of each channel, as configured. */
export async function openProviders(
  config: Config,
  around: ProviderSurroundings,
): Promise<Record<Channel, Provider>> {
  const providers: Partial<Record<Channel, Provider>> = {};
  for (const channel of CHANNELS) providers[channel] = await openProvider(config, channel, around);
  return providers as Record<Channel, Provider>;
}

async function openProvider(
  config: Config,
  channel: Channel,
  around: ProviderSurroundings,
): Promise<Provider> {
  const { log } = around;
  const http = config.httpProviders[channel];
  if (http) return openHttpProvider({ channel, ...http });
  if (channel === 'sms' && config.smpp) {
    return openSmppProvider({ ...config.smpp, parts: around.smsParts('smpp'), log });
  }
  if (channel === 'sms' && config.kannelUrl) {
    return openKannelProvider({ url: config.kannelUrl, dlrUrl: () => around.inboundUrl('kannel') });
  }
  const directory = join(config.dataDir, 'simulator');
  return openSimulator({ channel, directory, ...config.simulator, log });
}
