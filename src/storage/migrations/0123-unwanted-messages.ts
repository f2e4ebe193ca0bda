/**
 * The messages of a group that were canceled while they may have been with the provider (outbox/cancel.ts). If the provider
 * gives them back, they are canceled; a process that takes the group over does not offer them again while their tag is held.
 */
export const UP = `
alter table handover_batches add column unwanted text[];
`;
