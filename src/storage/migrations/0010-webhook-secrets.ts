/** Secrets that must be read again are encrypted (decision 19). */
export const UP = `
-- Which key the secret is sealed with; null while it stands as it is, because no key was configured.
alter table installation_secrets add column key_id text;

-- Another name, so that a process of the version before, which still runs, fails to read them and does not sign
-- with what it takes for secrets. Now [{ sealed, validTill }], newest first.
alter table webhooks rename column secrets to signing_secrets;
-- Which key all of them are sealed with; null for those from before, { secret, validTill }, which the next start
-- seals. Until then nothing is delivered to that endpoint.
alter table webhooks add column key_id text;
`;
