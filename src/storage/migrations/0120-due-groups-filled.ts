/**
 * Puts what waits from before into groups, apart from 0119-due-groups, whose lock on `messages` would keep writers out
 * meanwhile. What came since is in its group by the triggers.
 */
export const UP = `
insert into due_groups (lane, flow, due_at, first_seq, expires_at, message_ids)
  select m.lane, m.flow, m.due_at, min(m.accepted_seq), min(m.expires_at), array_agg(m.id order by m.accepted_seq)
  from messages m
  where m.due_at is not null and not exists (
    select from due_groups g where g.lane = m.lane and g.flow = m.flow and g.due_at = m.due_at and m.id = any(g.message_ids))
  group by m.lane, m.flow, m.due_at, m.accepted_seq / 500;
`;
