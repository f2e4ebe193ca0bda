/** The outbox is read by flow: a class, workspace, campaign and sender each have a turn of their own. */
export const UP = `
-- A hash of what has a turn of its own (outbox/queue/flow.ts). Two flows with one hash only share their reading.
alter table messages add column flow int not null default 0;
update messages set flow = hashtext(concat_ws(E'\\n', channel, class, workspace_id, campaign, from_address))
where due_at is not null;
drop index messages_due;
create index messages_due on messages (lane, flow, due_at, accepted_seq) where due_at is not null;
`;
