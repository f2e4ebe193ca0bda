import { Client } from 'pg';
import { untilPhase } from '../support/api-client';
import {
  type CampaignBench,
  createEmailCampaign,
  createEmailTemplate,
  importContacts,
  untilStill,
  withCampaigns,
} from './campaign-rig';
import { note, numberOption, round2 } from './rig';

/**
 * Rows written for a recipient from the moment the audience is frozen, by PostgreSQL's own counters
 * (`n_tup_ins + n_tup_upd + n_tup_del`, all our tables), until everybody was sent to. Nobody tells what became
 * of the messages then, unless `--receipts` asks for it: so they are counted too, each until its last receipt.
 * `--contacts N` is the size.
 */
const CONTACTS_DEFAULT = 20_000;
const LIMIT_MS = 10 * 60_000;
/** A backend publishes its counters at most once a second, and what it has left when it has been idle for ten. */
const PUBLISHED_MS = 11_000;
const published = () => new Promise((done) => setTimeout(done, PUBLISHED_MS));

export async function writesPart(): Promise<unknown> {
  if (!process.env.DATABASE_URL) return { skipped: 'only PostgreSQL counts rows written' };
  const contacts = numberOption('--contacts') ?? CONTACTS_DEFAULT;
  return withCampaigns(async (bench) => {
    const client = new Client({ connectionString: bench.place.env.DATABASE_URL });
    await client.connect();
    try {
      return await measure(bench, client, contacts);
    } finally {
      await client.end();
    }
  });
}

async function measure(bench: CampaignBench, client: Client, contacts: number): Promise<unknown> {
  const { api, place } = bench;
  const templateId = await createEmailTemplate(api);
  const { listId } = await importContacts(
    bench,
    contacts,
    process.argv.includes('--receipts') ? told : untold,
  );
  note(`a campaign of ${contacts}`);
  await published();
  const before = await counters(client);
  const id = await createEmailCampaign(api, listId, templateId);
  await untilPhase(api, id, ['completed'], LIMIT_MS);
  await untilStill(place, 'email', Math.floor(contacts * 0.9));
  await published();
  const after = await counters(client);
  // Freezing inserts each recipient once, and this is all that it writes for each.
  const recipients = await countOf(client);
  const tables: Record<string, number> = {};
  let sum = 0;
  for (const [table, writes] of after) {
    const frozen = table === 'recipients' ? recipients : 0;
    const rows = writes - (before.get(table) ?? 0) - frozen;
    sum += rows;
    if (rows > 0) tables[table] = round2(rows / recipients);
  }
  return { contacts: recipients, rowsPerRecipient: round2(sum / recipients), tables };
}

/** The simulator takes these and never says more (src/providers/simulator/simulator-outcomes.ts). */
const untold = (i: number) => `p${i},Person ${i},p${i}+silent@example.com,`;
const told = (i: number) => `p${i},Person ${i},p${i}@example.com,`;

async function countOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>('select count(*)::int as count from recipients');
  return rows[0]?.count ?? 0;
}

async function counters(client: Client): Promise<Map<string, number>> {
  const { rows } = await client.query<{ relname: string; writes: string }>(
    'select relname, n_tup_ins + n_tup_upd + n_tup_del as writes from pg_stat_user_tables',
  );
  return new Map(rows.map(({ relname, writes }) => [relname, Number(writes)]));
}
