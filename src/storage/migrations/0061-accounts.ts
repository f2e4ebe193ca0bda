/** Accounts at carriers that are made by the API, beside those of the environment, and routes that choose among them. */
export const UP = `
-- Both belong to the installation: \`workspaces\` says who may send by an account. What is deleted stays for a week, because
-- a carrier may report later than that an account is gone.
create table accounts (
  id text primary key,
  name text not null,
  kind text not null,
  channels text[] not null,
  settings jsonb not null,
  -- One sealed JSON object with every secret, and the key that opens it.
  secrets text not null,
  key_id text not null,
  secret_names text[] not null,
  workspaces text[] not null,
  rate_per_second double precision,
  disabled boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);

-- One row. Each change of an account or of the routes raises the number, so that a process learns of any change by reading
-- one row, and changes are made one after the other.
create table carrier_settings (
  singleton boolean primary key default true check (singleton),
  revision bigint not null default 0,
  routes jsonb not null default '[]'
);
insert into carrier_settings default values;
`;
