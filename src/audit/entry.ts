import { createHash } from 'node:crypto';
import type { AuditAction } from './actions';
import { canonicalJson, type Json } from './canonical-json';

/** What happened, by whom and to what. It holds ids only: never the address of a recipient, and no secret. */
export interface AuditEvent {
  workspaceId: string;
  actor: Actor;
  /** The network address of the caller; null for what Fanfare does by itself. */
  address: string | null;
  requestId: string | null;
  action: AuditAction;
  object: { kind: string; id: string | null };
  result: 'ok' | 'refused' | 'failed';
  detail: { readonly [name: string]: Json };
}

export interface Actor {
  kind: 'user' | 'client' | 'key' | 'system';
  id: string | null;
}

/** An entry as it is answered, exported and hashed (api.md 17). */
export interface AuditEntry {
  id: string;
  at: string;
  actor: Actor;
  address: string | null;
  requestId: string | null;
  action: string;
  object: { kind: string; id: string | null };
  result: string;
  detail: { readonly [name: string]: Json };
  /** The hash of the entry before this one; null at the first of a workspace. */
  prev: string | null;
  hash: string;
}

/** SHA-256 over the canonical JSON of all that an entry says, its predecessor's hash included. */
export function hashOf({
  hash: _,
  ...said
}: AuditEntry | (Omit<AuditEntry, 'hash'> & { hash?: string })): string {
  return createHash('sha256')
    .update(canonicalJson(said as unknown as Json))
    .digest('hex');
}

/**
 * The canonical JSON of an entry whose time and predecessor only the database knows, in three pieces: up to the
 * text of `at`, from behind it up to the value of `prev`, and the rest.
 */
export function piecesAroundAtAndPrev(
  entry: Omit<AuditEntry, 'at' | 'prev' | 'hash'>,
): [string, string, string] {
  const member = (name: string, value: Json) => `${JSON.stringify(name)}:${canonicalJson(value)}`;
  const members = Object.entries(entry as unknown as Record<string, Json>)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => ({ name, text: member(name, value) }));
  const between = (after: string, before: string) =>
    members
      .filter(({ name }) => name > after && name < before)
      .map(({ text }) => `${text},`)
      .join('');
  const rest = members.filter(({ name }) => name > 'prev').map(({ text }) => `,${text}`);
  return [`{${between('', 'at')}"at":"`, `",${between('at', 'prev')}"prev":`, `${rest.join('')}}`];
}
