/** A template version that is requested again after a crash is not created again. */
export const UP = `
-- The call that made the version, by the id that its Idempotency-Key stands for. Null for those from before and for
-- first versions: they have the id of their template for it.
alter table template_versions add column made_by text;
create unique index template_versions_by_call on template_versions (template_id, made_by) where made_by is not null;
`;
