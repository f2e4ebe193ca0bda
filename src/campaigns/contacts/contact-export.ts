import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';
import { type ContactKey, readContact } from './change-contact';
import type { ContactTimeline, TimelineEntry, TimelinePosition } from './contact-timeline';
import type { ContactView } from './contact-view';

/** All that is known of a person (api.md 16). */
export interface ContactExport {
  contact: ContactView;
  lists: { id: string; name: string; addedAt: Date }[];
  /** Newest first, a page at a time, so that memory stays flat however much there is. */
  pages: AsyncIterable<TimelineEntry[]>;
}

/** Throws `not_found` before anything is given out. */
export async function exportContact(
  deps: { db: Kysely<CampaignTables>; timeline: ContactTimeline },
  key: ContactKey,
): Promise<ContactExport> {
  const { db, timeline } = deps;
  const contact = await readContact(db, key);
  return { contact, lists: await listsOf(db, key), pages: entryPages(timeline, key) };
}

/** A campaign's own audience is a list without a row; the runs among the entries show it. */
async function listsOf(db: Kysely<CampaignTables>, { workspaceId, contactId }: ContactKey) {
  const { rows } = await sql<{ id: string; name: string; addedAt: Date }>`
    select l.id, l.name, m.added_at as "addedAt"
    from contact_list_members m join contact_lists l on l.id = m.list_id
    where m.contact_id = ${contactId} and l.workspace_id = ${workspaceId}
    order by l.id`.execute(db);
  return rows;
}

async function* entryPages(timeline: ContactTimeline, key: ContactKey): AsyncGenerator<TimelineEntry[]> {
  let after: TimelinePosition | undefined;
  do {
    const { entries, next } = await timeline.read(key, { after, limit: LIMITS.timelinePageMax });
    if (entries.length > 0) yield entries;
    after = next;
  } while (after);
}
