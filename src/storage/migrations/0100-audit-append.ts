/**
 * An entry is chained by one statement, which needs the hash that the chain ended with before it: `returning` gives
 * only what a row has become.
 */
export const UP = 'alter table audit_chains add column prev_hash text;';
