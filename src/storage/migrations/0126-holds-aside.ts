/** What a paused campaign leaves in the outbox takes no room from others (messaging/outbox/queue/outbox-count.ts). */
export const UP = `
alter table holds add column aside boolean not null default false;
-- Campaigns that are paused by now.
update holds set aside = true where starts_with(campaign, 'cmp_');
`;
