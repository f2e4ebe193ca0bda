/** Campaigns under control: what a run can be asked, and what it keeps beyond its first form. */
export const UP = `
-- 'fail' is a run's own wish: what happened concerns everybody, and a person must look.
alter table runs drop constraint runs_control_check;
alter table runs add constraint runs_control_check check (control in ('run', 'pause', 'cancel', 'fail'));

-- Where a recipient may be, for hours by the recipient's clocks: a time zone, or the beginning of a phone
-- number that stands for its zones. Null when the campaign did not ask.
alter table recipients add column place text;
`;
