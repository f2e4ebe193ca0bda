import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { ContactActivity } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import type { ContactKey } from './change-contact';
import type { ContactTimeline, TimelineEntry, TimelinePosition } from './contact-timeline';
import type { ContactView } from './contact-view';
import { readPerson } from './erase-contact';

/** All that is known of a person (api.md 16). Pages keep memory flat, however much there is. */
export interface ContactExport {
  /** Null when it was deleted with its last list. */
  contact: ContactView | null;
  lists: { id: string; name: string; addedAt: Date }[];
  /** Campaigns that brought the person among their own recipients, with the values that they brought. */
  audiences: { campaignId: string; campaign: string; addedAt: Date; values: unknown }[];
  /** Newest first. */
  entries: AsyncIterable<TimelineEntry[]>;
  /** Of the messaging service to any address that the person has or had, oldest first. */
  messages: AsyncIterable<{ id: string }[]>;
}

interface ExportDeps {
  db: Kysely<CampaignTables>;
  timeline: ContactTimeline;
  activity: ContactActivity;
}

/** Throws `not_found` before anything is given out. */
export async function exportContact(
  { db, timeline, activity }: ExportDeps,
  key: ContactKey,
): Promise<ContactExport> {
  const { contact, addresses } = await readPerson(db, key);
  return {
    contact: contact ?? null,
    lists: await listsOf(db, key),
    audiences: await audiencesOf(db, key),
    entries: entryPages(timeline, key, addresses),
    messages: messagePages(activity, { workspaceId: key.workspaceId, addresses }),
  };
}

async function listsOf(db: Kysely<CampaignTables>, { workspaceId, contactId }: ContactKey) {
  const { rows } = await sql<{ id: string; name: string; addedAt: Date }>`
    select l.id, l.name, m.added_at as "addedAt"
    from contact_list_members m join contact_lists l on l.id = m.list_id
    where m.contact_id = ${contactId} and l.workspace_id = ${workspaceId}
    order by l.id`.execute(db);
  return rows;
}

/** A campaign's own audience is a list without a row. */
async function audiencesOf(db: Kysely<CampaignTables>, { workspaceId, contactId }: ContactKey) {
  const { rows } = await sql<ContactExport['audiences'][number]>`
    select c.id as "campaignId", c.name as campaign, m.added_at as "addedAt", m.params as "values"
    from contact_list_members m join campaigns c on c.own_list_id = m.list_id
    where m.contact_id = ${contactId} and c.workspace_id = ${workspaceId}
    order by c.id`.execute(db);
  return rows;
}

async function* entryPages(
  timeline: ContactTimeline,
  key: ContactKey,
  addresses: readonly string[],
): AsyncGenerator<TimelineEntry[]> {
  let after: TimelinePosition | undefined;
  do {
    const page = { after, limit: LIMITS.timelinePageMax, exported: { addresses } };
    const { entries, next } = await timeline.read(key, page);
    if (entries.length > 0) yield entries;
    after = next;
  } while (after);
}

async function* messagePages(
  activity: ContactActivity,
  person: { workspaceId: string; addresses: readonly string[] },
): AsyncGenerator<{ id: string }[]> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const messages = await activity.messagesTo(person, { after, limit: LIMITS.timelinePageMax });
    if (messages.length > 0) yield messages;
    after = messages.length < LIMITS.timelinePageMax ? undefined : messages.at(-1)?.id;
  }
}
