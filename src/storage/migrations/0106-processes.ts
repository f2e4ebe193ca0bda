/** Which processes share the database, so that an owner sees what runs, since when and in which version. */
export const UP = `
-- A row for each process, written by it every twenty seconds and deleted by it when it ends. The row of one that was
-- killed is deleted by the others an hour later (app/processes.ts).
create table processes (
  id text primary key,
  host text not null,
  pid int not null,
  roles text[] not null,
  version text not null,
  build_id text,
  started_at timestamptz not null,
  seen_at timestamptz not null
) with (fillfactor = 50);
`;
