/** Calls that more than one attempt has asked for. */
export const UP = `
-- How often it was asked for. Whoever asked first and was refused late knows by it that another attempt has asked since,
-- and that its row is not theirs to take back.
alter table calls add column fence int not null default 1;
`;
