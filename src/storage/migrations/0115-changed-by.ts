/** Who last changed a campaign, and so must not approve it. */
export const UP = `
-- Null when no user has changed the campaign since it was created or approved.
alter table campaigns add column changed_by text;
`;
