/** A campaign can bring its own recipients, who are in no contact list. */
export const UP = `
-- The campaign's own audience: a list id that has members and no row in contact_lists, so that nothing which reads
-- contact lists can see it, name it or delete it. own_members counts it, because the detail shows the number whatever
-- the audience's size.
alter table campaigns add column own_list_id text, add column own_members integer not null default 0;

-- Values of this campaign's recipient alone, which go before the contact's own. Null in contact lists.
alter table contact_list_members add column params jsonb;
`;
