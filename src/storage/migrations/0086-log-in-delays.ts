/** A user, client or address that failed too often waits, and each further failure doubles the wait. */
export const UP = `
alter table failed_attempts add column blocked_until timestamptz;
`;
