import { CompiledQuery, type Transaction } from 'kysely';
import { newId } from '../storage/new-id';
import type { Statement } from '../storage/with-first-change';
import { type AuditEvent, piecesAroundAtAndPrev } from './entry';

/**
 * The statement that appends an entry to its workspace's chain, in the transaction of the change that it
 * records. It locks the chain's row until that transaction ends, so that entries of several processes follow
 * each other. It comes last, because whatever the transaction does afterwards keeps the workspace's other
 * changes waiting. The database hashes for the same reason: read and hashed here, the lock was held for three
 * answers of a busy process, and while fourteen campaigns were canceled at once five of the six connections
 * for requests waited for it.
 */
export function appending(event: AuditEvent, nowMs: number = Date.now()): Statement {
  const { workspaceId, actor, address, requestId, action, object, result, detail } = event;
  const id = newId('aud', nowMs);
  const pieces = piecesAroundAtAndPrev({ id, actor, address, requestId, action, object, result, detail });
  const values = [
    ...[workspaceId, new Date(nowMs).toISOString(), ...pieces],
    ...[id, actor.kind, actor.id, address, requestId, action],
    ...[object.kind, object.id, result, JSON.stringify(detail)],
  ];
  return { text: APPEND, values };
}

/** For callers that have a transaction of their own at hand. */
export async function appendIn<Tables>(
  tx: Transaction<Tables>,
  event: AuditEvent,
  nowMs?: number,
): Promise<void> {
  const { text, values } = appending(event, nowMs);
  await tx.executeQuery(CompiledQuery.raw(text, [...values]));
}

/** SHA-256, in hexadecimal digits, of the entry's canonical JSON with its time and the hash before it. */
const hashed = (at: string, prev: string) =>
  `encode(sha256(convert_to($3::text || to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    || $4::text || coalesce('"' || ${prev} || '"', 'null') || $5::text, 'UTF8')), 'hex')`;

/** Clocks of two processes differ; within a chain, time does not run backwards. */
const APPEND = `with chain as (
  insert into audit_chains as c (workspace_id, last_seq, last_at, last_hash, prev_hash)
  values ($1, 1, $2::timestamptz, ${hashed('$2::timestamptz', 'null::text')}, null)
  on conflict (workspace_id) do update set last_seq = c.last_seq + 1,
    last_at = greatest(c.last_at, excluded.last_at),
    last_hash = ${hashed('greatest(c.last_at, excluded.last_at)', 'c.last_hash')},
    prev_hash = c.last_hash
  returning last_seq, last_at, last_hash, prev_hash
)
insert into audit_entries (workspace_id, seq, id, at, actor_kind, actor_id, address, request_id, action,
  object_kind, object_id, result, detail, prev, hash)
select $1, last_seq, $6, last_at, $7, $8, $9, $10, $11, $12, $13, $14, $15::jsonb, prev_hash, last_hash from chain`;
