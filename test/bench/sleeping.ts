import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { campaignDetail } from '../support/api-client';
import { startCallCarrier } from '../support/call-carrier';
import { until } from '../support/until';
import { createVoiceCampaign } from '../support/voice-campaign';
import { historyCost, withFanfare, withPlace } from './campaign-rig';
import { residentMb } from './memory';
import { note, numberOption, round2 } from './rig';

/**
 * What calls cost that sleep between two attempts: `--sleeping N` (500) recipients whose line was busy and who are called
 * again in an hour, and `--live N` (50) whose calls go on. Memory of both processes and the size of
 * Temporal's files, before and after.
 */
const LIMIT_MS = 30 * 60_000;
const SECRET = 'bench-carrier';
const LIVE = '+1203';

export async function sleepingPart(): Promise<unknown> {
  const sleeping = numberOption('--sleeping') ?? 500;
  const live = numberOption('--live') ?? 50;
  return withPlace(async (place) => {
    const carrier = await startCallCarrier({
      inboundUrl: `http://127.0.0.1:${place.env.FANFARE_HTTP_PORT}/inbound/http/${SECRET}`,
      script: (to) => (to.startsWith(LIVE) ? { lastsMs: 0 } : { end: { type: 'busy' }, lastsMs: 20 }),
    });
    Object.assign(place.env, {
      FANFARE_INBOUND_SECRET: SECRET,
      FANFARE_VOICE_PROVIDER: 'http',
      FANFARE_VOICE_HTTP_URL: carrier.url,
    });
    try {
      return await withFanfare(place, async ({ api, pid, credentials }) => {
        const measure = () => ({
          fanfareMb: residentMb(pid),
          temporalMb: residentMb(
            Number(readFileSync(join(place.dataDir, 'temporal.pid'), 'utf8').split(/\s/)[0]),
          ),
          temporalFilesKiB: Math.round(sizeOf(join(place.dataDir, 'temporal.db')) / 1024),
        });
        // What the first call costs is not a call's cost.
        await asleep(5, '+1205', 0);
        const before = measure();
        await asleep(sleeping, '+1202', live);
        const after = measure();
        const perCallKiB = (after.temporalFilesKiB - before.temporalFilesKiB) / (sleeping + live);
        const { workflows, events, bytes, transitions } = await historyCost(credentials, (id) =>
          id.startsWith('call:'),
        );
        const perCall = {
          kiBOfFiles: round2(perCallKiB),
          events: round2(events / workflows),
          bytes: Math.round(bytes / workflows),
          transitions: round2(transitions / workflows),
        };
        return { sleeping, live, before, after, perCall };

        async function asleep(count: number, prefix: string, calling: number): Promise<void> {
          const numbers = (start: string, many: number) =>
            Array.from({ length: many }, (_, i) => ({ phone: `${start}${2_000_000 + i}` }));
          const contacts = [...numbers(prefix, count), ...numbers(LIVE, calling)];
          const id = await createVoiceCampaign(api, contacts, {
            voice: { retry: { busy: { maxAttempts: 2, delaysSeconds: [3_600] } } },
            delivery: { maxConcurrentCalls: calling + 50 },
          });
          const states = async () => (await campaignDetail(api, id)).counts.voice ?? {};
          note(`${count} calls fall asleep`);
          await until('sleep', async () => (await states()).waiting === count, LIMIT_MS, 500);
        }
      });
    } finally {
      await carrier.close();
    }
  });
}

/** With what has not been written into it yet. */
function sizeOf(file: string): number {
  let bytes = 0;
  for (const suffix of ['', '-wal']) {
    try {
      bytes += statSync(file + suffix).size;
    } catch {
      // There is none at the moment.
    }
  }
  return bytes;
}
