/** A large campaign starts when another person has approved what it sends and to whom. */
export const UP = `
-- Who approved the campaign, when, by which digest, and for how many contacts; null until then, and again once the
-- campaign was changed.
alter table campaigns add column approval jsonb;

-- What a person was shown before they approve. The audience is compared with what it was then: a digest's own
-- hash cannot tell how many members came and went since.
create table campaign_digests (
  workspace_id text not null,
  campaign_id text not null,
  digest text not null,
  -- A hash of all that is sent and how, without the audience.
  content text not null,
  -- Of the audience: its contacts, and a sum over their ids by which the same ones are known again.
  contacts int not null,
  members text not null,
  taken_at timestamptz not null,
  primary key (workspace_id, campaign_id, digest)
);
`;
