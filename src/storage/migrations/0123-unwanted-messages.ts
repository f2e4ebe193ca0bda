/**
 * The messages of a group that were canceled while they may have been with the provider (outbox/cancel.ts). The process
 * that takes the group over gives them to no provider again.
 */
export const UP = `
alter table handover_batches add column unwanted text[];
`;
