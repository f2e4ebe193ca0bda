import type { ColumnType } from 'kysely';
import type { Json } from './canonical-json';

type Timestamp = ColumnType<Date, Date | string, Date | string>;

export interface AuditTables {
  audit_chains: {
    workspace_id: string;
    last_seq: number;
    last_hash: string | null;
    last_at: Timestamp | null;
    prev_hash: string | null;
    sealed_start: string | null;
    key_id: string | null;
  };
  audit_entries: {
    workspace_id: string;
    seq: number;
    id: string;
    at: Timestamp;
    actor_kind: string;
    actor_id: string | null;
    address: string | null;
    request_id: string | null;
    action: string;
    object_kind: string;
    object_id: string | null;
    result: string;
    detail: { readonly [name: string]: Json };
    prev: string | null;
    hash: string;
  };
}
