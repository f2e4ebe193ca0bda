/** What the operator wants of a run is applied even if the process that was to do it is killed. */
export const UP = `
-- How often \`control\` has changed, and which of these changes the run's messages follow: the hold is written or
-- released, and sleeping calls are woken. A pause and a resume in a row are two changes, because the first may have
-- left a hold behind that only the second one's work takes away.
alter table runs add column control_changes integer not null default 0,
  add column control_applied integer not null default 0;

-- A trigger, because several statements change \`control\`, and one that forgot to count would lose its change.
create function count_control_changes() returns trigger language plpgsql as $$
begin
  new.control_changes := old.control_changes + 1
  ; return new; end
$$;
create trigger run_control_counted before update of control on runs for each row
  when (old.control is distinct from new.control) execute function count_control_changes();
`;
