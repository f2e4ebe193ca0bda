/** A campaign is `canceled` as soon as its operator cancels it. */
export const UP = `
-- phaseOf of domain/campaign.ts; a test holds the two against each other.
create or replace function campaign_phase(stage text, run_phase text, control text) returns text language sql immutable as $$
  select case
    when stage = 'draft' then 'draft'
    when stage = 'held' then 'paused'
    when stage = 'canceled' then
      case when run_phase in ('planning', 'running', 'finishing') and control <> 'cancel' then run_phase else 'canceled' end
    when run_phase is null then 'scheduled'
    when control = 'pause' and run_phase in ('planning', 'running', 'finishing') then 'paused'
    when stage = 'scheduled' then 'scheduled'
    when control = 'cancel' and run_phase in ('planning', 'running', 'finishing') then 'canceled'
    else run_phase end
$$;
`;
