#!/bin/sh
# The roles and databases of Fanfare and of Temporal, each with rights on its own alone. Harmless when they are there;
# databases that another role has made, as by an earlier docker-compose.yml, become Temporal's.
set -eu

psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --dbname postgres <<'SQL'
\getenv fanfare FANFARE_PASSWORD
\getenv temporal TEMPORAL_PASSWORD
select format('create role %I login', name) from (values ('fanfare'), ('temporal')) r (name)
  where not exists (select from pg_roles where rolname = name) \gexec
-- Statements with passwords in them are kept out of the server's log, whatever it logs.
set log_statement = 'none';
set log_min_duration_statement = -1;
alter role fanfare password :'fanfare';
alter role temporal password :'temporal';

select format('create database %I owner %I', name, owner)
  from (values ('fanfare', 'fanfare'), ('temporal', 'temporal'), ('temporal_visibility', 'temporal')) d (name, owner)
  where not exists (select from pg_database where datname = name) \gexec
alter database temporal owner to temporal;
alter database temporal_visibility owner to temporal;
revoke all on database fanfare, temporal, temporal_visibility, postgres from public;
SQL

for database in temporal temporal_visibility; do
  psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --dbname "$database" <<'SQL'
select format('alter table %s owner to temporal', c.oid::regclass) from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')
    and c.relowner <> 'temporal'::regrole \gexec
SQL
done
