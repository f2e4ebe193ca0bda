import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { campaignRunWorkflowId } from '../../src/domain/ids';
import { newId } from '../../src/storage/new-id';

const SHARD = 10_000;
/** States by the last three digits of a recipient's number; the shares are those of an ordinary campaign. */
const STATE_OF = sql`case when i % 1000 < 880 then 'delivered' when i % 1000 < 960 then 'sent'
  when i % 1000 < 990 then 'undelivered' when i % 100000 = 99999 then 'unknown'
  when i % 100000 = 49999 then 'accepted' else 'failed' end`;
const CODE_OF = sql`case when i % 1000 < 960 or i % 100000 = 49999 then null
  when i % 100000 = 99999 then 'answer_lost'
  when i % 1000 < 990 then 'absent_subscriber' else 'spam_refused' end`;

export interface Planted {
  campaignId: string;
  runId: string;
}

/**
 * A running campaign whose recipients, contacts and counters are put straight into the tables: four fifths were sent to,
 * the rest is pending. Recipient `i` is contact `con_m<i>` with the external id `m<i>`.
 */
export async function plantMillion(
  db: Kysely<CampaignTables>,
  { workspaceId, recipients }: { workspaceId: string; recipients: number },
): Promise<Planted> {
  const campaignId = newId('cmp');
  const runId = newId('run');
  const listId = newId('lst');
  const sent = Math.floor((recipients * 0.8) / SHARD) * SHARD;
  await sql`insert into contact_lists (id, workspace_id, name) values (${listId}, ${workspaceId}, 'Everybody')`.execute(
    db,
  );
  await plantCampaign(db, { workspaceId, campaignId, runId, listId });
  await sql`
    insert into contacts (id, workspace_id, identity, external_id, name, email, phone)
    select 'con_m' || i, ${workspaceId}, 'x:m' || i, 'm' || i, 'Person ' || i, 'person' || i || '@example.com',
      '+1' || (3022000000 + i) from generate_series(0, ${recipients - 1}::int) i`.execute(db);
  await sql`
    insert into recipients (run_id, channel, seq, shard, contact_id, address, params, due_at, state, code, attempts)
    select ${runId}, 'sms', i, i / ${SHARD}, 'con_m' || i, '+1' || (3022000000 + i), '{}', now() - interval '30 minutes',
      case when i < ${sent} then ${STATE_OF} else 'pending' end,
      case when i < ${sent} then ${CODE_OF} end, case when i < ${sent} then 1 else 0 end
    from generate_series(0, ${recipients - 1}::int) i`.execute(db);
  await plantCounters(db, { runId, recipients, sent });
  await sql`analyze contacts, recipients, shards, shard_counts, recipient_codes, run_timeline`.execute(db);
  return { campaignId, runId };
}

async function plantCampaign(
  db: Kysely<CampaignTables>,
  planted: { workspaceId: string; campaignId: string; runId: string; listId: string },
): Promise<void> {
  const { workspaceId, campaignId, runId, listId } = planted;
  await sql`
    insert into campaigns (id, workspace_id, name, channels, settings, contact_list_ids, options, stage, current_run)
    values (${campaignId}, ${workspaceId}, 'A million', '{sms}',
      '{"sms": {"shortCode": "12345", "templateId": "tpl_1", "version": 1}}', array[${listId}], '{}', 'started', ${runId})`.execute(
    db,
  );
  await sql`
    insert into runs (id, workspace_id, campaign_id, number, phase, workflow_id, skipped, started_at, codes_counted)
    values (${runId}, ${workspaceId}, ${campaignId}, 1, 'running', ${campaignRunWorkflowId(runId, 1)}, '{}',
      now() - interval '30 minutes', true)`.execute(db);
}

async function plantCounters(
  db: Kysely<CampaignTables>,
  { runId, recipients, sent }: { runId: string; recipients: number; sent: number },
): Promise<void> {
  await sql`
    insert into shards (run_id, channel, shard, from_seq, to_seq, next_seq)
    select ${runId}, 'sms', i, i * ${SHARD}, (i + 1) * ${SHARD},
      case when i * ${SHARD} < ${sent} then (i + 1) * ${SHARD} else i * ${SHARD} end
    from generate_series(0, ${recipients / SHARD - 1}::int) i`.execute(db);
  await sql`
    insert into shard_counts (run_id, channel, shard, state, count)
    select run_id, channel, shard, state, count(*)::int from recipients
    where run_id = ${runId} and state <> 'pending' group by run_id, channel, shard, state`.execute(db);
  await sql`
    insert into recipient_codes (run_id, channel, state, code, slot, count)
    select run_id, channel, state, code, shard % 8, count(*)::int from recipients
    where run_id = ${runId} and code is not null group by run_id, channel, state, code, shard % 8`.execute(
    db,
  );
  // As the ledger writes it: a part of ten seconds, eight slots, each state.
  await sql`
    insert into run_timeline (run_id, channel, state, second, slot, count)
    select ${runId}, 'sms', state, (floor(extract(epoch from now()) / 10) * 10)::int8 - part * 10, slot, 100
    from generate_series(0, 179) part, generate_series(0, 7) slot,
      unnest(array['accepted', 'sent', 'delivered', 'undelivered', 'failed']) state`.execute(db);
}

/** Campaigns that have ended, on all channels, the newest a minute ago and each a minute older. */
export async function plantCampaigns(
  db: Kysely<CampaignTables>,
  { workspaceId, campaigns }: { workspaceId: string; campaigns: number },
): Promise<void> {
  await sql`
    insert into campaigns (id, workspace_id, name, channels, settings, contact_list_ids, options, stage, current_run, tags, created_at)
    select 'cmp_old' || i, ${workspaceId}, 'Campaign ' || i, array[(array['email', 'sms', 'voice'])[1 + i % 3]],
      '{"sms": {"shortCode": "12345", "templateId": "tpl_1", "version": 1}}', '{}', '{}', 'started', 'run_old' || i,
      case when i % 50 = 0 then array['spring'] else '{}' end, now() - i * interval '1 minute'
    from generate_series(1, ${campaigns}::int) i`.execute(db);
  await sql`
    insert into runs (id, workspace_id, campaign_id, number, phase, workflow_id, skipped, started_at, finished_at)
    select 'run_old' || i, ${workspaceId}, 'cmp_old' || i, 1, 'completed', 'old' || i, '{}', now() - i * interval '1 minute',
      now() - i * interval '1 minute' from generate_series(1, ${campaigns}::int) i`.execute(db);
  await sql`analyze campaigns, runs`.execute(db);
}
