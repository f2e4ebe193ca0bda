/** Roles and scopes: who of a workspace may do what, and what its clients and keys may (docs/access.md). */
export const UP = `
-- \`member\` stays allowed, because a process of an earlier version may still create one; it reads as \`sender\`.
alter table users drop constraint users_role_check;
alter table users add constraint users_role_check
  check (role in ('owner', 'admin', 'sender', 'editor', 'viewer', 'member'));

-- Null means all, so that clients and keys of earlier versions keep what they may.
alter table api_clients add column scopes text[];
alter table api_keys add column scopes text[];
`;
