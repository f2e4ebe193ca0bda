import { type Kysely, sql } from 'kysely';
import type { Storage } from '../../src/storage/storage';
import { withStorage } from './bench-database';
import { withPlace } from './campaign-rig';
import { freezeOnce } from './freeze';
import { cpuOfInstallation, postmasterOf } from './process-cpu';
import { median, note, numberOption, round2 } from './rig';

/**
 * What explanations cost the recipients that are not asked about. Nothing is written for them as messages are sent. What
 * is stored for them belongs to contacts that the freeze leaves out: the evidence, and the entries of two indexes. So
 * audiences are frozen with these and without them, by turns: CPU of PostgreSQL and bytes of its log for each contact of
 * the lists. `--contacts N`, `--blocked N` entries of a suppression list of which every other is a
 * contact, `--rounds N`.
 */
export async function explainedPart(): Promise<unknown> {
  const contacts = numberOption('--contacts') ?? 100_000;
  const blocked = numberOption('--blocked') ?? 20_000;
  const rounds = numberOption('--rounds') ?? 5;
  return withPlace((place) =>
    withStorage(place, async (storage) => {
      const url = place.env.DATABASE_URL;
      const postmaster = url ? await postmasterOf(url) : undefined;
      const db = storage.tables<object>();
      const found: Record<'with' | 'without', Cost[]> = { with: [], without: [] };
      if (!url) await quieten(db);
      // The first freeze of a process warms it up.
      await costOf(storage, postmaster, { contacts, blocked, isEvidenced: true });
      for (let round = 0; round < rounds; round++) {
        const order = ['with', 'without'] as const;
        for (const how of round % 2 === 0 ? order : [...order].reverse()) {
          note(`round ${round + 1} of ${rounds}: freezing ${contacts} ${how} evidence and indexes`);
          const isEvidenced = how === 'with';
          await (isEvidenced ? createIndexes(db) : dropIndexes(db));
          found[how].push(await costOf(storage, postmaster, { contacts, blocked, isEvidenced }));
        }
      }
      const { rows } = await sql<{ bytes: number }>`
        select avg(pg_column_size(address) + pg_column_size(evidence))::float8 as bytes
        from skipped_contacts where evidence is not null`.execute(db);
      return {
        ...{ contacts, leftOut: blocked / 2, bytesForEachLeftOut: round2(rows[0]?.bytes ?? 0) },
        perContact: { with: mediansOf(found.with), without: mediansOf(found.without) },
        rounds: found,
      };
    }),
  );
}

/** For each contact of the lists. */
interface Cost {
  cpuMicros: number;
  walBytes: number;
}

const mediansOf = (costs: Cost[]): Cost => ({
  cpuMicros: median(costs.map(({ cpuMicros }) => cpuMicros)),
  walBytes: median(costs.map(({ walBytes }) => walBytes)),
});

async function costOf(
  storage: Storage,
  postmaster: number | undefined,
  { contacts, blocked, isEvidenced }: { contacts: number; blocked: number; isEvidenced: boolean },
): Promise<Cost> {
  const db = storage.tables<object>();
  const cpuMs = () => cpuOfInstallation([], postmaster).postgres ?? 0;
  const walBytes = async () => {
    const { rows } = await sql<{ bytes: string }>`
      select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as bytes`.execute(db);
    return Number(rows[0]?.bytes);
  };
  let before = { cpu: 0, wal: 0 };
  const onPlanted = async () => {
    before = { cpu: cpuMs(), wal: await walBytes() };
  };
  await freezeOnce(storage, contacts, blocked, { isEvidenced, onPlanted });
  return {
    cpuMicros: round2(((cpuMs() - before.cpu) * 1_000) / contacts),
    walBytes: round2(((await walBytes()) - before.wal) / contacts),
  };
}

/** Whole pages are logged after a checkpoint, which is more than what is compared. */
async function quieten(db: Kysely<object>): Promise<void> {
  for (const setting of ['full_page_writes']) {
    await sql.raw(`alter system set ${setting} = off`).execute(db);
  }
  await sql`select pg_reload_conf()`.execute(db);
}

const INDEXES = {
  skipped_contacts_listed: '(run_id, channel, reason, contact_id)',
  skipped_contacts_by_mailbox: `(hashtextextended(run_id || '.' || channel || '.' || lower(address collate "C"), 0))
    where address is not null`,
};

async function createIndexes(db: Kysely<object>): Promise<void> {
  for (const [name, columns] of Object.entries(INDEXES)) {
    await sql.raw(`create index if not exists ${name} on skipped_contacts ${columns}`).execute(db);
  }
}

async function dropIndexes(db: Kysely<object>): Promise<void> {
  for (const name of Object.keys(INDEXES)) await sql.raw(`drop index if exists ${name}`).execute(db);
}
