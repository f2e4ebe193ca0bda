import { type Kysely, sql } from 'kysely';
import type { Channel } from '../domain/channel';
import { addToCounts } from './ledger';
import { listRecipients, type RecipientPosition, type RecipientView } from './recipients';
import type { CampaignTables } from './tables';

/**
 * Takes back what a canceled run has not sent yet. Whoever was never taken on needs no row: the run's
 * phase says `canceled` for them. Open pages are closed over their owners' heads, so that an activity
 * which still runs can record nothing more: what it had not offered is canceled, what it had is
 * `accepted` until the service is asked. Calls that are not in the air are canceled; their workflows find
 * out when they wake. Repeated, it changes nothing.
 */
export async function cancelUnsent(db: Kysely<CampaignTables>, runId: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`
      with closed as (
        delete from pages where run_id = ${runId} returning *
      ), open as (
        select c.channel, r.seq, case
            when c.seqs is null then r.seq >= c.from_seq + c.offered
            else array_position(c.seqs, r.seq) > c.offered end as untouched
        from closed c
        join recipients r on r.run_id = c.run_id and r.channel = c.channel and case
          when c.seqs is null then r.seq >= c.from_seq + c.resolved and r.seq < c.to_seq
          else array_position(c.seqs, r.seq) > c.resolved end
        where c.channel <> 'voice'
      ), old as (
        select r.channel, r.seq, r.state, open.untouched
        from recipients r
        join shards s on s.run_id = r.run_id and s.channel = r.channel and s.shard = r.shard
        left join open on open.channel = r.channel and open.seq = r.seq
        where r.run_id = ${runId} and r.state in ('pending', 'waiting')
          and (open.seq is not null or r.state = 'waiting' or (r.channel = 'voice' and r.seq < s.next_seq))
        for update of r
      ), written as (
        update recipients r
        set state = case when old.untouched is false then 'accepted' else 'canceled' end, retry_at = null, updated_at = now()
        from old where r.run_id = ${runId} and r.channel = old.channel and r.seq = old.seq
        returning r.run_id, r.channel, r.shard, old.state as old_state, r.state as new_state
      )
      ${addToCounts}`.execute(tx);
  });
}

/** Marks recipients canceled whose message the service says it never had. */
export async function cancelAbsent(
  db: Kysely<CampaignTables>,
  runId: string,
  recipients: readonly { channel: Channel; seq: number }[],
): Promise<void> {
  if (!recipients.length) return;
  await sql`
    with absent as (
      select * from unnest(${recipients.map((r) => r.channel)}::text[], ${recipients.map((r) => r.seq)}::int[]) as t(channel, seq)
    ), old as (
      select r.channel, r.seq, r.state from recipients r join absent using (channel, seq)
      where r.run_id = ${runId} and r.state in ('pending', 'accepted') for update of r
    ), written as (
      update recipients r set state = 'canceled', updated_at = now()
      from old where r.run_id = ${runId} and r.channel = old.channel and r.seq = old.seq
      returning r.run_id, r.channel, r.shard, old.state as old_state, r.state as new_state
    )
    ${addToCounts}`.execute(db);
}

/** Recipients the service has and has not handed over yet, as far as the ledger knows; in pages. */
export async function* cancelableRecipients(
  db: Kysely<CampaignTables>,
  runId: string,
  pageSize: number,
): AsyncGenerator<RecipientView[]> {
  for (const wanted of [{ state: 'accepted' }, { state: 'sending', channel: 'voice' }] as const) {
    let after: RecipientPosition | undefined;
    do {
      const page = await listRecipients(db, runId, { ...wanted, after, limit: pageSize });
      if (page.recipients.length) yield page.recipients;
      after = page.next;
    } while (after);
  }
}

/** Voice recipients whose workflow may sleep. */
export async function openCalls(
  db: Kysely<CampaignTables>,
  runId: string,
  afterSeq: number,
  limit: number,
): Promise<{ seq: number; from: number }[]> {
  const { rows } = await sql<{ seq: number; from: number }>`
    select r.seq, coalesce(r.call_from, 1) as "from" from recipients r join shards s on s.run_id = r.run_id and s.channel = r.channel and s.shard = r.shard
    where r.run_id = ${runId} and r.channel = 'voice' and r.seq > ${afterSeq} and r.seq < s.next_seq
      and (r.state in ('pending', 'sending') or (r.state = 'waiting' and r.retry_at is not null))
    order by r.seq limit ${limit}`.execute(db);
  return rows;
}
