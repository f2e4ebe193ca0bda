import type { Kysely } from 'kysely';
import type { ContactActivity } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { type ContactChange, type ContactKey, changeContact, readContact } from './change-contact';
import { exportContact } from './contact-export';
import type { ContactTimeline } from './contact-timeline';
import { eraseContact, type SuppressErased } from './erase-contact';
import { type ContactPage, findContacts } from './find-contacts';

export type Contacts = ReturnType<typeof createContacts>;

/** The contacts of a workspace, whatever lists they are in (api.md 16). */
export function createContacts(deps: {
  db: Kysely<CampaignTables>;
  timeline: ContactTimeline;
  activity: ContactActivity;
  suppressErased: SuppressErased;
  /** An erasure has begun (app/erasures.ts), so that it need not wait for the next look. */
  onErased?: (() => void) | undefined;
}) {
  const { db, timeline, activity, suppressErased, onErased } = deps;
  return {
    find: (workspaceId: string, page: ContactPage) => findContacts(db, workspaceId, page),
    read: (key: ContactKey) => readContact(db, key),
    change: (key: ContactKey, change: ContactChange) => changeContact(db, key, change),
    async erase(key: ContactKey) {
      const erasure = await eraseContact(db, key, suppressErased);
      onErased?.();
      return erasure;
    },
    export: (key: ContactKey) => exportContact({ db, timeline, activity }, key),
  };
}
