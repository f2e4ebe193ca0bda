/** Webhooks out (api.md 10): endpoints, their deliveries, and the phase changes of campaigns. */
export const UP = `
create table webhooks (
  id text primary key,
  workspace_id text not null,
  url text not null,
  events text[] not null,
  description text,
  -- Newest first: [{ secret, validTill }]. Not hashed, since every delivery is signed with them.
  secrets jsonb not null,
  -- The number of the last event of the feed that was taken for this endpoint. It moves in the statement that
  -- writes the deliveries, and in no other.
  after_seq bigint not null,
  -- Events that were deleted by their age before they could be read.
  missed bigint not null default 0,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('gone', 'failing', 'user')),
  -- The first failure after the last success.
  failing_since timestamptz,
  -- The endpoint asked to be left alone until then.
  paused_until timestamptz,
  last_success_at timestamptz,
  -- Deleted for everybody but the sweep, which takes its deliveries away in steps.
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
) with (fillfactor = 70);

create index webhooks_by_workspace on webhooks (workspace_id, id);

create table webhook_deliveries (
  id text primary key,
  webhook_id text not null,
  type text not null,
  -- Of events of the feed.
  sequence bigint,
  -- The bytes that are signed and sent, the same with every attempt.
  body text not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts smallint not null default 0,
  -- When the next attempt is due; while one is made, when its process is taken for dead. Null at the end.
  due_at timestamptz,
  -- An attempt is being made. Each raises the fence, so that one who was taken for dead records nothing.
  claimed boolean not null default false,
  fence int not null default 0,
  status smallint,
  code text,
  answer text,
  last_attempt_at timestamptz,
  created_at timestamptz not null default now()
) with (fillfactor = 70);

-- What is due of an endpoint, in the order of the feed.
create index webhook_deliveries_due on webhook_deliveries (webhook_id, due_at, sequence) where due_at is not null;
create index webhook_deliveries_by_webhook on webhook_deliveries (webhook_id, id);
-- For the sweep.
create index webhook_deliveries_ended on webhook_deliveries (state, created_at) where due_at is null;

-- Each phase that a campaign has come to, until everybody who wants to know is told. Written by triggers, since
-- the phase follows from two rows that change in a dozen places: none of them can forget it, and it is
-- there exactly if the change is.
create table campaign_phase_changes (
  id bigint generated always as identity primary key,
  workspace_id text not null,
  campaign_id text not null,
  phase text not null,
  at timestamptz not null default clock_timestamp()
);

-- phaseOf of domain/campaign.ts; a test holds the two against each other.
create function campaign_phase(stage text, run_phase text, control text) returns text language sql immutable as $$
  select case
    when stage = 'draft' then 'draft'
    when stage = 'held' then 'paused'
    when stage = 'canceled' then
      case when run_phase in ('planning', 'running', 'finishing') then run_phase else 'canceled' end
    when run_phase is null then 'scheduled'
    when control = 'pause' and run_phase in ('planning', 'running', 'finishing') then 'paused'
    when stage = 'scheduled' then 'scheduled'
    else run_phase end
$$;

create function note_new_campaign() returns trigger language plpgsql as $$
begin
  insert into campaign_phase_changes (workspace_id, campaign_id, phase)
  select new.workspace_id, new.id, campaign_phase(new.stage, r.phase, r.control)
  from (select 1) as one left join runs r on r.id = new.current_run
  ; return null; end
$$;

create trigger campaign_is_new after insert on campaigns for each row execute function note_new_campaign();

create function note_campaign_stage() returns trigger language plpgsql as $$
begin
  insert into campaign_phase_changes (workspace_id, campaign_id, phase)
  select new.workspace_id, new.id, campaign_phase(new.stage, later.phase, later.control)
  from (select 1) as one
  left join runs earlier on earlier.id = old.current_run
  left join runs later on later.id = new.current_run
  where campaign_phase(new.stage, later.phase, later.control)
    is distinct from campaign_phase(old.stage, earlier.phase, earlier.control)
  ; return null; end
$$;

create trigger campaign_stage_changed after update of stage, current_run on campaigns for each row
  when (old.stage is distinct from new.stage or old.current_run is distinct from new.current_run)
  execute function note_campaign_stage();

create function note_run_phase() returns trigger language plpgsql as $$
begin
  insert into campaign_phase_changes (workspace_id, campaign_id, phase)
  select c.workspace_id, c.id, campaign_phase(c.stage, new.phase, new.control)
  from campaigns c
  where c.id = new.campaign_id and c.current_run = new.id
    and campaign_phase(c.stage, new.phase, new.control)
      is distinct from campaign_phase(c.stage, old.phase, old.control)
  ; return null; end
$$;

create trigger run_phase_changed after update of phase, control on runs for each row
  when (old.phase is distinct from new.phase or old.control is distinct from new.control)
  execute function note_run_phase();
`;
