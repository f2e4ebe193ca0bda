import { type Calls, type RequestOptions, route } from './calls';
import type { Channel, ContactList, Params, RecipientState, SkipReason } from './types';

/** Contact lists and the contacts in them, beyond creating and importing. */
export class Contacts {
  constructor(private readonly calls: Calls) {}

  /** All lists, page by page. */
  lists(
    options: RequestOptions & { search?: string; pageSize?: number } = {},
  ): AsyncGenerator<ContactList, void, undefined> {
    const { search, pageSize = 100 } = options;
    return this.calls.byPage('/api/contact-list', { limit: pageSize, search }, options);
  }

  renameList(id: string, name: string, options: RequestOptions = {}): Promise<ContactList> {
    return this.calls.patch(route`/api/contact-list/${id}`, { name }, options);
  }

  /** Fails with `list_in_use` while a campaign that has not ended uses it. */
  deleteList(id: string, options: RequestOptions = {}): Promise<{ id: string }> {
    return this.calls.delete(route`/api/contact-list/${id}`, options);
  }

  /** All contacts of a list, page by page. */
  inList(
    listId: string,
    options: RequestOptions & { search?: string; pageSize?: number } = {},
  ): AsyncGenerator<Contact, void, undefined> {
    const { search, pageSize = 1_000 } = options;
    return this.calls.byCursor(
      route`/api/contact-list/${listId}/contacts`,
      { limit: pageSize, search },
      options,
    );
  }

  /** From the list alone; the contact stays in the workspace. */
  removeFromList(listId: string, contactId: string, options: RequestOptions = {}): Promise<{ id: string }> {
    return this.calls.delete(route`/api/contact-list/${listId}/contacts/${contactId}`, options);
  }

  /** Contacts of the workspace, oldest first; `search` is how an external id, an email address or a number begins. */
  find(
    options: RequestOptions & { search?: string; pageSize?: number } = {},
  ): AsyncGenerator<Contact, void, undefined> {
    const { search, pageSize = 1_000 } = options;
    return this.calls.byCursor('/api/contact', { limit: pageSize, search }, options);
  }

  read(id: string, options: RequestOptions = {}): Promise<Contact> {
    return this.calls.get(route`/api/contact/${id}`, options);
  }

  /** Null clears a field, one that is left out stays; `params` replaces all of them. */
  change(id: string, change: ContactChange, options: RequestOptions = {}): Promise<Contact> {
    return this.calls.patch(route`/api/contact/${id}`, change, options);
  }

  /** Erases the person from everywhere within a minute, for good, and suppresses their addresses by a hash. */
  erase(id: string, options: RequestOptions = {}): Promise<{ id: string }> {
    return this.calls.delete(route`/api/contact/${id}?erase=true`, options);
  }

  /** All that is known of a contact, as a JSON document of any size. */
  export(id: string, options: RequestOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    return this.calls.bytes(route`/api/contact/${id}/export`, options);
  }

  /** Why a contact was, or was not, written to or called; newest first. */
  timeline(
    id: string,
    options: RequestOptions & { pageSize?: number } = {},
  ): AsyncGenerator<TimelineEntry, void, undefined> {
    const { pageSize = 100 } = options;
    return this.calls.byCursor(route`/api/contact/${id}/timeline`, { limit: pageSize }, options);
  }
}

export type ContactChange = {
  [Field in 'externalId' | 'name' | 'email' | 'phone' | 'timezone' | 'locale']?: string | null;
} & { params?: Params };

export interface Contact {
  id: string;
  externalId: string | null;
  name: string | null;
  email: string | null;
  phone: string | null;
  timezone: string | null;
  locale: string | null;
  params: Params;
  createdAt: string;
  updatedAt: string;
}

interface OfRun {
  at: string;
  runId: string;
  campaignId: string;
  campaign: string;
  channel: Channel;
  runStartedAt: string;
  policyVersion: number;
}

interface Block {
  at: string;
  channel: string;
  address: string;
  /** Empty for every sender. */
  sender: string;
  reason: string;
  source: string;
  since: string;
}

export type TimelineEntry =
  | (OfRun & {
      kind: 'recipient';
      address: string | null;
      state: RecipientState;
      outcome: string | null;
      code: string | null;
      attempts: number;
      dueAt: string;
      retryAt: string | null;
      messages: {
        uid: string;
        state: string;
        code: string | null;
        events: { at: string; type: string; state: string; code?: string }[];
      }[];
      /** In an export only: what was filled in for the person. */
      values?: Record<string, unknown>;
    })
  | (OfRun & { kind: 'skipped'; reason: SkipReason })
  | {
      kind: 'send';
      at: string;
      sendId: string;
      uid: string;
      channel: Channel;
      state: RecipientState;
      code: string | null;
      /** In an export only: what was to be sent. */
      values?: Record<string, unknown>;
    }
  | { kind: 'cap_place'; at: string; channel: Channel; address: string; uid: string }
  | (Block & { kind: 'suppression' })
  | (Block & { kind: 'suppression_lifted'; liftedBy: 'api' | 'keyword' | 'page' });
