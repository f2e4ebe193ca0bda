import { sql } from 'kysely';
import { suppression, suppressionEntry } from '../../src/app/between-halves';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import { audienceOf } from '../../src/campaigns/audience/audience-sql';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import type { Storage } from '../../src/storage/storage';
import { plantRun } from '../support/audience';
import { withStorage } from './bench-database';
import { withPlace } from './campaign-rig';
import { median, note, numberOption, round2 } from './rig';

/**
 * Freezing an audience, by itself: `--contacts N` of one list, beside `--blocked N` entries of the
 * suppression list of which every other is one of them, `--rounds N`.
 */
export async function freezePart(): Promise<unknown> {
  const contacts = numberOption('--contacts') ?? 50_000;
  const blocked = numberOption('--blocked') ?? 10_000;
  const rounds = numberOption('--rounds') ?? 3;
  return withPlace((place) =>
    withStorage(place, async (storage) => {
      const seconds = [];
      for (let round = 0; round < rounds; round++) {
        note(`round ${round + 1} of ${rounds}: freezing ${contacts}`);
        seconds.push(await freezeOnce(storage, contacts, blocked));
      }
      return { contacts, blocked, seconds: median(seconds), rounds: seconds };
    }),
  );
}

/** Seconds of one freeze. */
export async function freezeOnce(
  storage: Storage,
  contacts: number,
  blocked: number,
  { isEvidenced = true, onPlanted }: { isEvidenced?: boolean; onPlanted?: () => Promise<void> } = {},
): Promise<number> {
  const db = storage.tables<CampaignTables>();
  const run = await plantRun(db, { contacts, channel: 'email' });
  await sql`
    insert into suppressions (id, workspace_id, address, channel, reason, source)
    select 'sup_' || ${run.runId} || i, ${run.workspaceId},
      case when i % 2 = 0 then 'person' || i || '@example.com' else 'stranger' || i || '@example.com' end,
      'email', 'complaint', 'api'
    from generate_series(1, ${blocked}::int) i`.execute(db);
  const audience = audienceOf(
    {
      workspaceId: run.workspaceId,
      settings: { email: { from: 'news@example.com', templateId: 'tpl_1', version: 1 } },
      contactListIds: [run.listId],
      options: {},
    },
    'email',
    ['NAME'],
    suppression,
    isEvidenced ? suppressionEntry : undefined,
  );
  await onPlanted?.();
  const begun = performance.now();
  await freezeAudience(db, { ...audience, runId: run.runId });
  return round2((performance.now() - begun) / 1_000);
}
