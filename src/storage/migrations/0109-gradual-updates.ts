/** Which updates of whole tables are done (gradual-updates.ts). */
export const UP = `
create table gradual_updates (
  name text primary key,
  done_at timestamptz not null default now()
);
`;
