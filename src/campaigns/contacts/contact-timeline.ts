import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import { messageUid } from '../../domain/ids';
import { LIMITS } from '../../domain/limits';
import type { RecipientState, SkipReason } from '../../domain/recipient';
import { addressKey } from '../../domain/suppression';
import { attemptsMade, derivedState } from '../ledger/derived-state';
import type { ContactActivity, ContactMessage } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { type ContactKey, readContact } from './change-contact';

/**
 * Why one contact was, or was not, written to or called: all known entries, newest first. The ledger gives the
 * contact's part in every run, including runs that left them out. The messaging half gives messages and the
 * suppression list; src/app connects it. `values` are in an export only.
 */
export interface ContactTimeline {
  /**
   * Throws `not_found` for a contact that was deleted, except in an export, which brings all addresses that the person had.
   */
  read(
    contact: ContactKey,
    page: {
      after: TimelinePosition | undefined;
      limit: number;
      exported?: { addresses: readonly string[] };
    },
  ): Promise<{ entries: TimelineEntry[]; next: TimelinePosition | undefined }>;
}

/** Where a page ended: entries are ordered by time, then by key. */
export interface TimelinePosition {
  at: string;
  key: string;
}

export type TimelineEntry = { at: Date; key: string } & (
  | ({
      kind: 'recipient';
      address: string | null;
      state: RecipientState;
      outcome: string | null;
      code: string | null;
      attempts: number;
      dueAt: Date;
      retryAt: Date | null;
      messages: ContactMessage[];
      values?: unknown;
    } & OfRun)
  | ({ kind: 'skipped'; reason: SkipReason } & OfRun)
  | {
      kind: 'send';
      sendId: string;
      channel: Channel;
      state: RecipientState;
      code: string | null;
      uid: string;
      values?: unknown;
    }
  | { kind: 'cap_place'; channel: string; address: string; uid: string }
  | ({ kind: 'suppression' } & Block)
  | ({ kind: 'suppression_lifted'; liftedBy: string } & Block)
);

interface Block {
  channel: string;
  address: string;
  sender: string;
  reason: string;
  source: string;
  since: Date;
}

interface OfRun {
  runId: string;
  campaignId: string;
  campaign: string;
  channel: Channel;
  /** When the audience was frozen, or the run began to freeze it. */
  runStartedAt: Date;
  /** Version of the policy in force at the time of the entry; 0 when there was none. */
  policyVersion: number;
}

export function createContactTimeline(deps: {
  db: Kysely<CampaignTables>;
  activity: ContactActivity;
}): ContactTimeline {
  const { db, activity } = deps;
  return {
    async read({ workspaceId, contactId }, { after, limit, exported }) {
      const known = exported?.addresses ?? (await presentAddresses(db, { workspaceId, contactId }));
      const addresses = [...new Set(known.map(addressKey))];
      const withValues = exported !== undefined;
      const scope: Scope = { workspaceId, contactId, addresses, after, limit: limit + 1, withValues };
      const found: TimelineEntry[] = [
        ...(await recipientEntries(db, scope)),
        ...(await skippedEntries(db, scope)),
        ...(await sendEntries(db, scope)),
        ...(await placeEntries(db, scope)),
        ...(await suppressionEntries(activity, scope)),
      ];
      found.sort((one, other) => (isBefore(positionOf(other), positionOf(one)) ? -1 : 1));
      const entries = found.slice(0, limit);
      await addMessages(activity, workspaceId, entries);
      const last = entries.at(-1);
      return { entries, next: found.length > limit && last ? positionOf(last) : undefined };
    },
  };
}

async function presentAddresses(db: Kysely<CampaignTables>, key: ContactKey): Promise<string[]> {
  const { email, phone } = await readContact(db, key);
  return [email, phone].flatMap((one) => one ?? []);
}

interface Scope {
  workspaceId: string;
  contactId: string;
  addresses: string[];
  after: TimelinePosition | undefined;
  limit: number;
  withValues: boolean;
}

/** SQL: what was filled in for the person, which an export tells and a timeline does not. */
const valuesOf = ({ withValues }: Scope, column: RawBuilder<unknown>): RawBuilder<unknown> =>
  withValues ? sql`, ${column} as "values"` : sql``;

const positionOf = ({ at, key }: TimelineEntry): TimelinePosition => ({ at: at.toISOString(), key });
const isBefore = (one: TimelinePosition, other: TimelinePosition) =>
  one.at === other.at ? one.key < other.key : one.at < other.at;

/**
 * SQL: a page of the rows of `source`, which has the columns `at` and `key`. Times are in the format of the
 * answer.
 */
async function pageOf<Row extends object>(
  db: Kysely<CampaignTables>,
  { after, limit }: Scope,
  source: RawBuilder<unknown>,
): Promise<Row[]> {
  const { rows } = await sql<Row & { happened: Date }>`
    select * from (select *, date_trunc('milliseconds', happened) as at from (${source}) one) dated
    where ${after ? sql`(at, key collate "C") < (${after.at}::timestamptz, ${after.key}::text collate "C")` : sql`true`}
    order by at desc, key collate "C" desc limit ${limit}`.execute(db);
  return rows.map(({ happened: _happened, ...row }) => row as unknown as Row);
}

const ofRun = (at: RawBuilder<unknown>) => sql`
  runs.id as "runId", runs.campaign_id as "campaignId", runs.started_at as "runStartedAt",
  (select name from campaigns where id = runs.campaign_id) as campaign,
  (select coalesce(max(version), 0)::int from policy_versions v
   where v.workspace_id = runs.workspace_id and v.created_at <= ${at}) as "policyVersion"`;

type EntryOf<Kind extends TimelineEntry['kind']> = Extract<TimelineEntry, { kind: Kind }>;

async function recipientEntries(db: Kysely<CampaignTables>, scope: Scope): Promise<EntryOf<'recipient'>[]> {
  const rows = await pageOf<Omit<EntryOf<'recipient'>, 'kind'> & { seq: number; attempt: number }>(
    db,
    scope,
    sql`
      select r.updated_at as happened, 'r.' || r.run_id || '.' || r.channel as key, r.channel, r.seq, r.attempt,
        r.address, r.outcome, r.code, r.due_at as "dueAt", r.retry_at as "retryAt", ${derivedState} as state,
        ${attemptsMade} as attempts${valuesOf(scope, sql`r.params`)},
        ${ofRun(sql`r.updated_at`)}
      from recipients r
      cross join lateral (
        select next_seq from shards where run_id = r.run_id and channel = r.channel and shard = r.shard limit 1
      ) s
      cross join lateral (select * from runs where id = r.run_id and workspace_id = ${scope.workspaceId} limit 1) runs
      where r.contact_id = ${scope.contactId}`,
  );
  return rows.map(({ seq, attempt, ...row }) => ({
    ...row,
    kind: 'recipient',
    messages: attemptsOf(row.channel, attempt).map((number) => ({
      uid: messageUid({ runId: row.runId, channel: row.channel, seq }, number),
      state: null,
      code: null,
      events: [],
    })),
  }));
}

/** The latest attempts. Calls are numbered from 1, messages from 0. */
function attemptsOf(channel: Channel, latest: number): number[] {
  const first = Math.max(channel === 'voice' ? 1 : 0, latest - LIMITS.timelineMessages + 1);
  return Array.from({ length: Math.max(0, latest - first + 1) }, (_, i) => first + i);
}

async function skippedEntries(db: Kysely<CampaignTables>, scope: Scope): Promise<EntryOf<'skipped'>[]> {
  const rows = await pageOf<Omit<EntryOf<'skipped'>, 'kind'>>(
    db,
    scope,
    sql`
      select runs.started_at as happened, 'k.' || k.run_id || '.' || k.channel as key, k.channel, k.reason,
        ${ofRun(sql`runs.started_at`)}
      from skipped_contacts k
      cross join lateral (select * from runs where id = k.run_id and workspace_id = ${scope.workspaceId} limit 1) runs
      where k.contact_id = ${scope.contactId}`,
  );
  return rows.map((row) => ({ ...row, kind: 'skipped' }));
}

async function sendEntries(db: Kysely<CampaignTables>, scope: Scope): Promise<EntryOf<'send'>[]> {
  const rows = await pageOf<Omit<EntryOf<'send'>, 'kind'>>(
    db,
    scope,
    sql`
      select updated_at as happened, 's.' || id as key, id as "sendId", uid, channel, state, code${valuesOf(scope, sql`content`)}
      from durable_sends where workspace_id = ${scope.workspaceId} and id = any(array(${idsOfSendsTo(scope)}))`,
  );
  return rows.map((row) => ({ ...row, kind: 'send' }));
}

/**
 * SQL: ids of durable sends to a person, however an email address was written. The two parts have an index each: the
 * second holds only addresses that are not in lower case, which are few.
 */
export const idsOfSendsTo = (
  { workspaceId, addresses }: { workspaceId: string; addresses: readonly string[] },
  also: RawBuilder<unknown> = sql`true`,
): RawBuilder<unknown> => sql`
  select id from durable_sends
  where workspace_id = ${workspaceId} and (content ->> 'to') = any(${[...addresses]}::text[]) and ${also}
  union
  select id from durable_sends
  where (content ->> 'to') <> lower((content ->> 'to') collate "C")
    and lower((content ->> 'to') collate "C") = any(${[...addresses]}::text[])
    and workspace_id = ${workspaceId} and ${also}`;

async function placeEntries(db: Kysely<CampaignTables>, scope: Scope): Promise<EntryOf<'cap_place'>[]> {
  const rows = await pageOf<Omit<EntryOf<'cap_place'>, 'kind'>>(
    db,
    scope,
    sql`
      select e.at as happened, 'c.' || e.uid as key, e.channel, u.address, e.uid
      from contact_uses u, unnest(u.uids, u.channels, u.used_at) as e(uid, channel, at)
      where u.workspace_id = ${scope.workspaceId} and u.address = any(${scope.addresses}::text[])`,
  );
  return rows.map((row) => ({ ...row, kind: 'cap_place' }));
}

async function suppressionEntries(activity: ContactActivity, scope: Scope): Promise<TimelineEntry[]> {
  const blocks = await activity.suppressionsOf(scope.workspaceId, scope.addresses);
  const entries = blocks.map(({ id, changedAt, ...block }) => ({
    kind: 'suppression' as const,
    at: changedAt,
    key: `b.${id}`,
    ...block,
  }));
  const lifted = (await activity.liftedOf(scope.workspaceId, scope.addresses)).map(
    ({ id, liftedAt, ...block }) => ({
      kind: 'suppression_lifted' as const,
      at: liftedAt,
      key: `l.${id}`,
      ...block,
    }),
  );
  const { after } = scope;
  return [...entries, ...lifted].filter((entry) => !after || isBefore(positionOf(entry), after));
}

async function addMessages(
  activity: ContactActivity,
  workspaceId: string,
  entries: readonly TimelineEntry[],
): Promise<void> {
  const recipients = entries.filter((entry): entry is EntryOf<'recipient'> => entry.kind === 'recipient');
  const uids = recipients.flatMap(({ messages }) => messages.map(({ uid }) => uid));
  if (uids.length === 0) return;
  const known = new Map((await activity.messagesOf(workspaceId, uids)).map((one) => [one.uid, one]));
  for (const recipient of recipients) {
    recipient.messages = recipient.messages.flatMap(({ uid }) => known.get(uid) ?? []);
  }
}
