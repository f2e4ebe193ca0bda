/** A user sees where they are logged in, and ends a session that is not theirs. */
export const UP = `
-- Few rows, which end after seven days. A process of an earlier version inserts without these columns.
alter table sessions add column id text not null default 'ses_' || replace(gen_random_uuid()::text, '-', '');
alter table sessions add column address text;
alter table sessions add column user_agent text;
-- Logged in by OpenID Connect, whose provider asks for a second factor if it wants one.
alter table sessions add column by_provider boolean not null default false;
create unique index sessions_by_id on sessions (id);
`;
