/** A message that waits for another try at an idempotent provider, which may have taken it (messaging/outbox/cancel.ts). */
export const UP = `
alter table messages add column in_doubt boolean;
`;
