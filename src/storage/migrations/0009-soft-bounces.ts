/** Soft bounces by message, so that one reported twice, at the hand-over and by mail, counts once. */
export const UP = `
alter table soft_bounces add column message_id text collate "C";
-- Of those noted before it is not known which message it was; each day stands for one.
update soft_bounces set message_id = to_char(day, 'YYYY-MM-DD');
alter table soft_bounces drop constraint soft_bounces_pkey;
alter table soft_bounces add primary key (workspace_id, address, message_id);
-- For processes of the release before, which go on beside new ones while they are replaced.
alter table soft_bounces alter column message_id set default to_char((now() at time zone 'utc')::date, 'YYYY-MM-DD');
`;
