/**
 * Recipients are listed and counted by what their carrier answered. Few have a code, and a code rarely changes, so that
 * the index costs nothing for those who are sent to without one. Recipients of stages to come, who all have the same
 * one, are not in it.
 */
export const UP = '';

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
create index recipients_by_code on recipients (run_id, channel, code, seq)
  where code is not null and code <> 'later_stage';
`;
