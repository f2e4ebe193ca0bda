import type { Kysely } from 'kysely';
import { loadRun } from '../src/campaigns/runs/runs';
import type { CampaignTables } from '../src/campaigns/tables';
import type { Channel } from '../src/domain/channel';
import { openHours } from '../src/domain/time-zones/recipient-hours';

/** Hours change on the minute. A policy that was changed since counts from the next one on. */
const LOOK_MS = 60_000;

/** On which of a run's channels nobody at all may be reached at this hour, for whoever asks all the time. */
export class ClosedChannels {
  private channels: Channel[] = [];
  private minute = Number.NaN;

  constructor(
    private readonly db: Kysely<CampaignTables>,
    private readonly runId: string,
  ) {}

  async now(): Promise<Channel[]> {
    const now = Date.now();
    const minute = Math.floor(now / LOOK_MS);
    if (minute !== this.minute) {
      const { channels, options } = await loadRun(this.db, this.runId);
      this.channels = channels.filter((channel) => openHours(options, channel).nextForAll(now) > now);
      this.minute = minute;
    }
    return this.channels;
  }
}
