import { sql } from 'kysely';
import type { RecipientState } from '../../domain/recipient';

/**
 * SQL over `recipients r` and its shard `s`. A recipient that a page took has had an attempt before its row says so. One
 * that waits has a row of its own, which counts: recipients of later stages and channels lie before the page's place
 * although no page ever took them. So has one that ended without being sent to, and a call, which is an attempt once it
 * is placed.
 */
export const attemptsMade = sql<number>`greatest(r.attempts,
  case when r.channel <> 'voice' and r.seq < s.next_seq
    and r.state not in ('waiting', 'expired', 'suppressed', 'canceled') then 1 else 0 end)`;

/** The derived state of ledger.ts as SQL over `recipients r`, its shard `s` and `runs`. */
export const derivedState = sql<RecipientState>`case
  when r.state = 'waiting' and exists (
    select 1 from pages p where p.run_id = r.run_id and p.channel = r.channel and p.shard = r.shard
      and r.seq = any(p.seqs)) then 'sending'
  when r.state <> 'pending' then r.state
  when r.seq >= s.next_seq then case when runs.phase = 'canceled' or runs.control = 'cancel' then 'canceled' else 'pending' end
  when r.channel = 'voice' then 'sending'
  when exists (
    select 1 from pages p where p.run_id = r.run_id and p.channel = r.channel and p.shard = r.shard
      and p.seqs is null and r.seq >= p.from_seq + p.resolved and r.seq < p.to_seq) then 'sending'
  else 'accepted' end`;

/** What the row of a recipient in a derived state can say. */
export function storedAs(state: RecipientState): RecipientState[] {
  if (state === 'sending') return ['sending', 'pending', 'waiting'];
  return state === 'accepted' || state === 'canceled' ? [state, 'pending'] : [state];
}
