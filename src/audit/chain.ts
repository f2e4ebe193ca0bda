import { CompiledQuery, type Transaction } from 'kysely';
import { newId } from '../storage/new-id';
import type { Execute } from '../storage/with-first-change';
import { type AuditEntry, type AuditEvent, hashOf } from './entry';

/**
 * Appends an entry to its workspace's chain, in the transaction of what it tells. The chain's row is locked until
 * that transaction ends, so that entries of several processes follow each other. Call it last: whatever the
 * transaction does afterwards keeps the workspace's other changes waiting.
 */
export async function append(execute: Execute, event: AuditEvent, nowMs: number = Date.now()): Promise<void> {
  const { workspaceId, ...said } = event;
  const last = await lockChain(execute, workspaceId);
  // Clocks of two processes differ; within a chain, time does not run backwards.
  const atMs = Math.max(nowMs, last.last_at?.getTime() ?? 0);
  const at = new Date(atMs).toISOString();
  const unhashed = { id: newId('aud', atMs), at, ...said, prev: last.last_hash };
  await insert(execute, workspaceId, last.last_seq + 1, { ...unhashed, hash: hashOf(unhashed) });
}

/** For callers that have a transaction of their own at hand. */
export function appendIn<Tables>(tx: Transaction<Tables>, event: AuditEvent, nowMs?: number): Promise<void> {
  return append((text, values) => tx.executeQuery(CompiledQuery.raw(text, values)), event, nowMs);
}

interface ChainEnd {
  last_seq: number;
  last_hash: string | null;
  last_at: Date | null;
}

async function lockChain(execute: Execute, workspaceId: string): Promise<ChainEnd> {
  const read = () =>
    execute('select last_seq, last_hash, last_at from audit_chains where workspace_id = $1 for update', [
      workspaceId,
    ]);
  let { rows } = await read();
  if (rows.length === 0) {
    await execute('insert into audit_chains (workspace_id) values ($1) on conflict do nothing', [
      workspaceId,
    ]);
    ({ rows } = await read());
  }
  return rows[0] as ChainEnd;
}

async function insert(execute: Execute, workspaceId: string, seq: number, entry: AuditEntry): Promise<void> {
  const { id, at, actor, address, requestId, action, object, result, detail, prev, hash } = entry;
  await execute(
    `with chain as (
      update audit_chains set last_seq = $2, last_hash = $15, last_at = $4 where workspace_id = $1
    )
    insert into audit_entries (workspace_id, seq, id, at, actor_kind, actor_id, address, request_id, action,
      object_kind, object_id, result, detail, prev, hash)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    [
      ...[workspaceId, seq, id, at, actor.kind, actor.id, address, requestId, action],
      ...[object.kind, object.id, result, JSON.stringify(detail), prev, hash],
    ],
  );
}
