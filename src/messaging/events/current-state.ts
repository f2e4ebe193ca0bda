import { type RawBuilder, sql } from 'kysely';
import type { MessageState } from '../../domain/message';

/**
 * SQL for a message's state as readers see it. Two states are not stored. A message is `sending` while an open
 * batch names it, and a scheduled message whose time has come is `accepted`. Few batches are open at a time, so
 * that searching them is cheap.
 */
export function currentState(alias: string): RawBuilder<MessageState> {
  const m = (column: string) => sql.ref(`${alias}.${column}`);
  return sql<MessageState>`case
    when ${m('state')} not in ('scheduled', 'accepted') then ${m('state')}
    when exists (
      select 1 from handover_batches b where b.lane = ${m('lane')} and ${m('id')} = any(b.message_ids)
    ) then 'sending'
    when ${m('state')} = 'scheduled' and ${m('due_at')} <= now() then 'accepted'
    else ${m('state')} end`;
}
