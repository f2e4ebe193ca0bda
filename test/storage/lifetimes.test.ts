/** Proves that no table grows without end unnoticed: each has a rule that deletes its rows, or a reason why it needs none. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { ROOT } from '../support/root';
import { describeWithDatabase } from '../support/storage';

/** The file that deletes rows of a table by their age, or when they have served. */
const RULES: Record<string, string> = {
  access_tokens: 'src/messaging/retention.ts',
  account_pauses: 'src/messaging/carriers/account-pauses.ts',
  audit_entries: 'src/audit/retention.ts',
  calls: 'src/campaigns/retention.ts',
  campaign_phase_changes: 'src/campaigns/reports/phase-changes.ts',
  contact_uses: 'src/campaigns/policy/contact-caps.ts',
  carrier_ids: 'src/storage/migrations/0119-due-groups.ts',
  dispatch_lanes: 'src/messaging/outbox/queue/partitions.ts',
  due_groups: 'src/messaging/model/due-groups.ts',
  durable_sends: 'src/campaigns/retention.ts',
  event_log: 'src/messaging/retention.ts',
  event_tokens: 'src/messaging/receipts/event-tokens.ts',
  failed_attempts: 'src/messaging/retention.ts',
  handover_batches: 'src/messaging/outbox/deliver/groups.ts',
  holds: 'src/messaging/outbox/queue/holds.ts',
  idempotency_keys: 'src/messaging/retention.ts',
  inbound_messages: 'src/messaging/retention.ts',
  inbound_parts: 'src/messaging/inbound/inbound-parts.ts',
  lifted_suppressions: 'src/messaging/retention.ts',
  message_minutes: 'src/messaging/retention.ts',
  messages: 'src/messaging/retention.ts',
  orphan_receipts: 'src/messaging/receipts/receipt-rows.ts',
  pages: 'src/campaigns/runs/ledger.ts',
  processes: 'src/app/processes.ts',
  recipients: 'src/campaigns/retention.ts',
  run_looks: 'src/campaigns/watch/run-facts.ts',
  sender_buckets: 'src/messaging/retention.ts',
  sessions: 'src/messaging/retention.ts',
  skipped_contacts: 'src/campaigns/retention.ts',
  sms_parts: 'src/messaging/receipts/sms-parts.ts',
  soft_bounces: 'src/messaging/retention.ts',
  vendor_calls: 'src/messaging/retention.ts',
  vendor_doubts: 'src/messaging/retention.ts',
  webhook_deliveries: 'src/messaging/webhooks/deliveries.ts',
  webhooks: 'src/messaging/webhooks/deliveries.ts',
  workspace_stops: 'src/campaigns/stops/follow-stops.ts',
};

const BY_PEOPLE = 'made one by one by people, who may delete or disable it';
const BY_RUN = 'a bounded number of rows for each run, which stays with its counts';
const BY_WORKSPACE = 'a row for each workspace or installation';
const BY_PERSON = 'a row for each person, who is kept until erased';
const REASONS: Record<string, string> = {
  account_senders:
    'a row for each account and sender that it has refused, the same one when it refuses again',
  accounts: BY_PEOPLE,
  api_client_secrets: BY_PEOPLE,
  api_clients: BY_PEOPLE,
  api_keys: BY_PEOPLE,
  audience_freezes: BY_RUN,
  audit_chains: BY_WORKSPACE,
  call_places: BY_RUN,
  campaign_digests: 'a row for each draft that a person looked at, deleted when the campaign changes',
  campaign_schedules: 'deleted when its campaign recurs no more',
  campaigns: BY_PEOPLE,
  carrier_settings: BY_WORKSPACE,
  contact_list_members: BY_PERSON,
  contact_lists: BY_PEOPLE,
  contacts: BY_PERSON,
  erasures: 'the proof that a person was erased, without what named the person',
  event_cursors: BY_WORKSPACE,
  event_heads: BY_WORKSPACE,
  gradual_updates: 'a row for each update that some release made',
  hold_changes: 'one row',
  installation_secrets: BY_WORKSPACE,
  opt_out_notices: 'a row for each number and sender, because a person is told once how to opt out',
  policy_versions: 'evidence of what was in force; a row for each change by a person',
  registered_senders: BY_PEOPLE,
  run_paces: BY_RUN,
  run_releases: BY_RUN,
  run_stages: BY_RUN,
  run_timeline: BY_RUN,
  runs: 'the record of what was sent, without persons',
  sender_limits: BY_PEOPLE,
  recipient_codes: BY_RUN,
  shard_counts: BY_RUN,
  shard_seconds: BY_RUN,
  shards: BY_RUN,
  sms_senders: 'a row for each sender and workspace, because a STOP may come years later',
  suppressions: 'a person who opted out is never written to again',
  template_counts: BY_WORKSPACE,
  template_versions: BY_PEOPLE,
  templates: BY_PEOPLE,
  totp_recovery_codes: 'ten rows for each user',
  totp_secrets: 'a row for each user',
  users: BY_PEOPLE,
  watches: BY_WORKSPACE,
  workspaces: BY_PEOPLE,
};

describeWithDatabase('each table', (database) => {
  test('has a rule that deletes its rows, or a reason why it does not grow without end', async () => {
    const { rows } = await sql<{ name: string }>`
      select tablename as name from pg_tables where schemaname = 'public' and tablename not like 'kysely_%'`.execute(
      (await database.open()).tables<unknown>(),
    );
    const tables = rows.map(({ name }) => name).sort();
    expect([...Object.keys(RULES), ...Object.keys(REASONS)].sort()).toEqual(tables);
  });

  test.each(Object.entries(RULES))('%s is deleted from in %s', (table, file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    expect(text).toMatch(/delete from|deleteFrom/);
    expect(text).toContain(table);
  });
});
