/** Options that the sender of a call gives besides its text. */
export const UP = `
-- How a call is to be made (machine, ringTimeoutSeconds, maxSeconds), as the sender wrote it; null for
-- what is no call and for a call without wishes.
alter table messages add column voice jsonb;
`;
