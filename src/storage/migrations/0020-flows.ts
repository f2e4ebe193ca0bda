import type { GradualUpdate } from '../gradual-updates';

/** The outbox is read by flow: each class, workspace, campaign and sender has its own turn. */
export const UP = `
-- A hash of what has a turn of its own (outbox/queue/flow.ts). Two numbers for one flow, or two flows with one number,
-- change no order: the number only says what is read together.
alter table messages add column flow int not null default 0;
alter index messages_due rename to messages_due_without_flow;

-- Processes of the version before may run beside this one, and know nothing of flows.
-- One line, because a statement ends with a semicolon at a line's end.
create function number_flow() returns trigger language plpgsql as $$ begin new.flow := hashtext(new.channel || ' ' || new.class || ' ' || new.workspace_id || ' ' || coalesce(new.campaign, '') || ' ' || new.from_address); return new; end $$;
create trigger messages_flow before insert on messages
  for each row when (new.flow = 0) execute function number_flow();
`;

/** Until it is done, the messages from before take their turns as one flow. */
export const UPDATES: GradualUpdate[] = [
  {
    name: 'messages.flow',
    table: 'messages',
    column: 'flow',
    set: "flow = hashtext(channel || ' ' || class || ' ' || workspace_id || ' ' || coalesce(campaign, '') || ' ' || from_address)",
    where: 'due_at is not null and flow = 0',
  },
];
