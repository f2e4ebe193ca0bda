import { type Kysely, sql } from 'kysely';
import type { Control } from '../../domain/campaign';
import type { Channel } from '../../domain/channel';
import { moveRecipients, moving } from '../ledger/move-recipients';
import { afterAbsence, afterCancel, codeOfDoubt } from '../ledger/unknown-ends';
import { retryTransaction } from '../model/retry-transaction';
import type { CampaignTables } from '../model/tables';
import { listRecipients, type RecipientPosition, type RecipientView } from '../reports/recipients';

/**
 * Takes back what a canceled run has not sent. Recipients that no page has taken need no row, because the run's
 * phase shows them as `canceled`. Open pages are closed, so that an activity which still runs can record
 * nothing more. What it had not offered is canceled; what it had offered counts as `accepted` until the service
 * is asked. Calls that are not in the air are canceled, and their workflows see it when they wake. Who waits for another
 * message because the first is in doubt may have that one, and is `unknown`. Repeated, it changes nothing.
 *
 * The statements read only recipients who may change, not the rest of the run. Each is found by its whole key,
 * for the reason given in ledger/move-recipients.ts.
 */
export async function cancelUnsent(db: Kysely<CampaignTables>, runId: string): Promise<void> {
  await retryTransaction(db, async (tx) => {
    await sql`
      with closed as (
        delete from pages where run_id = ${runId} returning *
      ), open as (
        select c.run_id, c.channel, r.seq, r.seq >= c.from_seq + c.offered as untouched
        from closed c
        join recipients r on r.run_id = c.run_id and r.channel = c.channel
          and r.seq >= c.from_seq + c.resolved and r.seq < c.to_seq
        where c.seqs is null and c.channel <> 'voice'
        union all
        select c.run_id, c.channel, listed.seq, listed.position > c.offered
        from closed c cross join lateral unnest(c.seqs) with ordinality as listed(seq, position)
        where c.channel <> 'voice' and listed.position > c.resolved
      ), wanted as materialized (
        select run_id, channel, seq, bool_and(untouched) as untouched from (
          select run_id, channel, seq, untouched from open
          union all
          select run_id, channel, seq, null from recipients where run_id = ${runId} and state = 'waiting' and waits
          union all
          select r.run_id, r.channel, r.seq, null from shards s
          join recipients r on r.run_id = s.run_id and r.channel = s.channel and r.seq >= s.from_seq and r.seq < s.next_seq
          where s.run_id = ${runId} and s.channel = 'voice' and r.state = 'pending'
        ) everybody group by run_id, channel, seq
      ), ${moving({
        scope: { runId },
        rule: 'cancel',
        rows: sql`
          select w.run_id, w.channel, w.seq,
            case when w.untouched is false then 'accepted' else ${afterCancel} end as state
          from wanted w join recipients r on r.run_id = w.run_id and r.channel = w.channel and r.seq = w.seq`,
        set: { retry_at: sql`null`, code: codeOfDoubt(sql`r.code`) },
      })}
      select from written`.execute(tx);
  });
}

/** Marks recipients as canceled if the service says that it never had their message, nor may have had an earlier one. */
export async function cancelAbsent(
  db: Kysely<CampaignTables>,
  runId: string,
  recipients: readonly { channel: Channel; seq: number }[],
): Promise<void> {
  if (!recipients.length) return;
  await moveRecipients(db, {
    scope: { runId },
    rule: 'absent',
    rows: sql`
      select r.run_id, r.channel, r.seq, ${afterAbsence} as state from unnest(
        ${recipients.map((r) => r.channel)}::text[], ${recipients.map((r) => r.seq)}::int[]) as t(channel, seq)
      join recipients r on r.run_id = ${runId} and r.channel = t.channel and r.seq = t.seq`,
    set: { code: codeOfDoubt(sql`r.code`) },
  });
}

/** Pages of recipients whose message the service has and has not handed over, according to the ledger. */
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

/**
 * Voice recipients whose workflow may sleep. A cancel may have ended these recipients before their workflows
 * hear of it.
 */
export async function openCalls(
  db: Kysely<CampaignTables>,
  runId: string,
  afterSeq: number,
  limit: number,
  control: Control,
): Promise<{ seq: number; from: number }[]> {
  const { rows } = await sql<{ seq: number; from: number }>`
    select r.seq, coalesce(r.call_from, 1) as "from" from recipients r join shards s on s.run_id = r.run_id and s.channel = r.channel and s.shard = r.shard
    where r.run_id = ${runId} and r.channel = 'voice' and r.seq > ${afterSeq} and r.seq < s.next_seq
      and (r.state in ('pending', 'sending') or (r.state = 'waiting' and r.retry_at is not null)
        or (${control} = 'cancel' and r.state = 'canceled'))
    order by r.seq limit ${limit}`.execute(db);
  return rows;
}
