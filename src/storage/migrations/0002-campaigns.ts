/** Campaigns under control: what a run can be asked, and what it keeps beyond its first form. */
export const UP = `
-- 'fail' is a run's own wish: what happened concerns everybody, and a person must look.
alter table runs drop constraint runs_control_check;
alter table runs add constraint runs_control_check check (control in ('run', 'pause', 'cancel', 'fail'));

-- Numbers of attempts that ended in doubt and were sent anew: only of these is "sent" still news.
alter table recipients add column doubts smallint[];
-- What had ended when the run stopped itself: after a resume its threshold counts from here.
alter table runs add column abort_baseline jsonb;
`;
