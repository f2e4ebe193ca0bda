import { join } from 'node:path';
import type { Config } from '../config';
import { CHANNELS, type Channel } from '../domain/channel';
import type { Log } from '../log';
import { openHttpProvider } from '../providers/http-provider';
import type { Provider } from '../providers/provider';
import { openSimulator } from '../providers/simulator';
import { type Synthesizer, TELEPHONE_HZ } from '../speech/synthesizer';

/** The provider of each channel, as configured. */
export async function openProviders(
  config: Config,
  log: Log,
  synthesizer: Synthesizer | undefined,
): Promise<Record<Channel, Provider>> {
  const speechMs =
    synthesizer &&
    (async (...spoken: Parameters<Synthesizer['synthesize']>) =>
      (1_000 * (await synthesizer.synthesize(...spoken)).length) / TELEPHONE_HZ);
  const providers: Partial<Record<Channel, Provider>> = {};
  for (const channel of CHANNELS) {
    const http = config.httpProviders[channel];
    providers[channel] = http
      ? openHttpProvider({ channel, ...http })
      : await openSimulator({
          channel,
          directory: join(config.dataDir, 'simulator'),
          ...config.simulator,
          speechMs,
          log,
        });
  }
  return providers as Record<Channel, Provider>;
}
