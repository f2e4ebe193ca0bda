import type { ColumnType, Generated } from 'kysely';
import type { Role, Scope } from '../../domain/access';
import type { AccountKind, VendorKind } from '../../domain/account';
import type { Channel } from '../../domain/channel';
import type { MessageState } from '../../domain/message';
import type { KeywordAction } from '../../domain/opt-out-keywords';
import type { Route } from '../../domain/route';
import type { SuppressionLifter, SuppressionSource } from '../../domain/suppression';
import type { CallOptions } from '../../domain/voice/call-options';
import type { CallFact } from '../../domain/voice/call-script';
import type { DisabledReason, WebhookDeliveryState } from '../../domain/webhook';
import type { StoredEvent } from './stored-event';

/** The messaging service's tables, as Kysely sees them (schema: storage/migrations). */
export interface MessagingTables {
  workspaces: { id: string; name: string; created_at: CreatedAt };
  users: {
    id: string;
    workspace_id: string;
    email: string;
    /** `member` in installations of earlier versions (domain/access.ts). */
    role: Role | 'member';
    password_hash: string;
    created_at: CreatedAt;
    disabled_at: Timestamp | null;
  };
  sessions: {
    token_hash: string;
    user_id: string;
    workspace_id: string;
    created_at: CreatedAt;
    last_seen_at: CreatedAt;
    id: Generated<string>;
    address: ColumnType<string | null, string | null | undefined>;
    user_agent: ColumnType<string | null, string | null | undefined>;
    by_provider: Generated<boolean>;
  };
  totp_secrets: {
    user_id: string;
    workspace_id: string;
    secret: string;
    key_id: string;
    created_at: Timestamp;
    confirmed_at: Timestamp | null;
    last_step: Generated<number>;
  };
  totp_recovery_codes: { user_id: string; code_hash: string };
  api_clients: {
    id: string;
    workspace_id: string;
    name: string;
    /** Null means all of them, also those of later versions. */
    scopes: ColumnType<Scope[] | null, Scope[] | null | undefined>;
    created_at: CreatedAt;
    disabled_at: Timestamp | null;
  };
  api_client_secrets: {
    client_id: string;
    secret_hash: string;
    created_at: CreatedAt;
    valid_till: Timestamp | null;
  };
  access_tokens: {
    token_hash: string;
    client_id: string;
    workspace_id: string;
    created_at: CreatedAt;
    valid_till: Timestamp;
    revoked_at: Timestamp | null;
  };
  api_keys: {
    id: string;
    workspace_id: string;
    name: string;
    key_hash: string;
    prefix: string;
    scopes: ColumnType<Scope[] | null, Scope[] | null | undefined>;
    created_at: CreatedAt;
    revoked_at: Timestamp | null;
  };
  failed_attempts: { subject_hash: string; count: number; since: Timestamp; blocked_until: Timestamp | null };
  idempotency_keys: {
    workspace_id: string;
    key_hash: string;
    payload_hash: string;
    seed: string;
    runs: Generated<number>;
    lease_until: Timestamp;
    answer: string | null;
    created_at: Timestamp;
  };
  templates: {
    id: string;
    workspace_id: string;
    channel: Channel;
    name: string;
    current_version: number;
    search_text: Generated<string>;
    created_at: CreatedAt;
    updated_at: CreatedAt;
    archived_at: Timestamp | null;
  };
  template_counts: {
    workspace_id: string;
    channel: Channel;
    live: number;
  };
  template_versions: {
    template_id: string;
    version: number;
    subject: string | null;
    body: string;
    text_body: string | null;
    email_provider_id: Generated<string>;
    design: ColumnType<Record<string, unknown> | null, string | null, string | null>;
    created_at: CreatedAt;
    made_by: ColumnType<string | null, string | null | undefined, never>;
    created_by: ColumnType<string | null, string | null | undefined, never>;
    note: ColumnType<string | null, string | null | undefined, never>;
  };
  messages: {
    id: string;
    workspace_id: string;
    uid: string;
    channel: Channel;
    /** Null once the person was erased, which happens to messages that have ended. */
    to_address: string | null;
    from_address: string;
    template_id: string | null;
    template_version: number | null;
    subject: string | null;
    body: string | null;
    params: Json<Record<string, string | number>>;
    campaign: string | null;
    class: 'marketing' | 'transactional';
    reply_to: string | null;
    voice: Json<CallOptions> | null;
    segments: number | null;
    encoding: string | null;
    payload_hash: string;
    state: MessageState;
    /** The state if it is a bad end; a generated column. */
    ended: ColumnType<MessageState | null, never, never>;
    code: string | null;
    provider: string | null;
    provider_id: string | null;
    attempt: Generated<number>;
    /** It waits, and a provider may have taken it. */
    in_doubt: true | null;
    send_at: Timestamp | null;
    due_at: Timestamp | null;
    expires_at: Timestamp | null;
    lane: string;
    flow: Generated<number>;
    accepted_seq: number;
    history: ColumnType<StoredEvent[], string | undefined, string>;
    suffix: string | null;
    created_at: CreatedAt;
    updated_at: CreatedAt;
  };
  dispatch_lanes: {
    id: string;
    owner: string;
    fence: number;
    lease_until: Timestamp;
    cancels: Generated<number>;
  };
  handover_batches: {
    id: string;
    lane: string;
    fence: number;
    provider: string;
    message_ids: string[];
    unwanted: string[] | null;
    opened_at: CreatedAt;
  };
  holds: { workspace_id: string; campaign: string; aside: Generated<boolean>; created_at: CreatedAt };
  /** One row. A trigger counts. */
  hold_changes: { changes: string };
  suppressions: {
    id: string;
    workspace_id: string;
    address: string;
    channel: Channel | 'all';
    sender: Generated<string>;
    reason: string;
    source: SuppressionSource;
    created_at: CreatedAt;
    updated_at: CreatedAt;
  };
  lifted_suppressions: {
    id: string;
    workspace_id: string;
    address: string;
    channel: Channel | 'all';
    sender: string;
    reason: string;
    source: SuppressionSource;
    blocked_at: Timestamp;
    lifted_at: CreatedAt;
    lifted_by: SuppressionLifter;
  };
  inbound_messages: {
    id: string;
    provider: string;
    fingerprint: string;
    action: KeywordAction | 'none';
    received_at: CreatedAt;
    reply: KeywordAction | null;
    reply_id: string | null;
    reply_workspace: string | null;
    reply_from: string | null;
    reply_to: string | null;
    reply_language: string | null;
    replied_at: Timestamp | null;
  };
  sms_senders: { sender: string; workspace_id: string };
  soft_bounces: { workspace_id: string; address: string; message_id: string; day: string };
  installation_secrets: { name: string; secret: string; key_id: string | null; created_at: CreatedAt };
  opt_out_notices: { workspace_id: string; sender: string; address: string; message_id: string };
  sender_limits: {
    workspace_id: string;
    channel: Channel;
    sender: string;
    rate: number | null;
    burst: number | null;
    concurrent_calls: number | null;
    updated_at: CreatedAt;
  };
  sender_buckets: {
    workspace_id: string;
    channel: Channel;
    sender: string;
    tokens: number;
    filled_at: Timestamp;
    granted: number;
    paused_until: Timestamp | null;
    calls: Json<Record<string, number>>;
  };
  orphan_receipts: {
    id: string;
    message_id: string | null;
    provider: string | null;
    provider_id: string | null;
    receipt: Json<Record<string, unknown>>;
    received_at: CreatedAt;
    to_address: string | null;
    from_address: string | null;
    reference: number | null;
    look_at: Date | null;
    ambiguous: Generated<boolean>;
  };
  sms_parts: {
    provider: string;
    part_id: string;
    message_id: string;
    parts: number;
    type: string | null;
    code: string | null;
    data: Json<Record<string, unknown>> | null;
    created_at: CreatedAt;
  };
  event_heads: { workspace_id: string; next_seq: number; kept_from: Generated<number> };
  message_minutes: {
    workspace_id: string;
    minute: Timestamp;
    channel: Channel;
    sent: Generated<number>;
    delivered: Generated<number>;
    failed: Generated<number>;
  };
  event_log: {
    workspace_id: string;
    first_seq: number;
    count: number;
    at: CreatedAt;
    events: Json<Record<string, unknown>[]>;
  };
  accounts: {
    id: string;
    name: string;
    kind: AccountKind;
    channels: Channel[];
    settings: Json<Record<string, unknown>>;
    secrets: string;
    key_id: string;
    secret_names: string[];
    previous_secrets: string | null;
    previous_key_id: string | null;
    previous_until: Timestamp | null;
    workspaces: string[];
    rate_per_second: number | null;
    max_concurrent_calls: number | null;
    disabled: Generated<boolean>;
    created_at: CreatedAt;
    updated_at: CreatedAt;
    deleted_at: Timestamp | null;
  };
  registered_senders: {
    id: string;
    workspace_id: string;
    channel: Channel;
    sender: string;
    name: string;
    dkim_selector: string | null;
    dkim_key: string | null;
    key_id: string | null;
    created_at: CreatedAt;
  };
  account_senders: {
    account_id: string;
    channel: Channel;
    sender: string;
    code: string;
    message: string;
    closed_at: CreatedAt;
    reopened_at: Timestamp | null;
  };
  account_pauses: {
    account_id: string;
    channel: Channel;
    owner: string;
    kind: string;
    state: 'paused' | 'throttled';
    reason: string | null;
    since: Timestamp;
    next_try_at: Timestamp | null;
    probe_asked_at: Timestamp | null;
    lease_until: Timestamp;
  };
  event_tokens: { account: string; token: Buffer; body: Buffer; at: CreatedAt };
  vendor_calls: {
    message_id: string;
    token: string;
    kind: VendorKind;
    account_id: string;
    provider: string;
    document: string;
    options: Json<CallOptions>;
    facts: ColumnType<CallFact[], string | undefined, string>;
    created_at: CreatedAt;
    ended_at: Timestamp | null;
    withdrawn: 'cancel' | 'hold' | null;
  };
  vendor_doubts: {
    message_id: string;
    provider: string;
    channel: Channel;
    since: Timestamp;
    until: Timestamp;
    looks: Generated<number>;
    look_at: Timestamp;
  };
  carrier_settings: { singleton: Generated<boolean>; revision: number; routes: Json<Route[]> };
  webhooks: {
    id: string;
    workspace_id: string;
    url: string;
    events: string[];
    description: string | null;
    signing_secrets: Json<{ sealed: string; validTill: string | null }[]>;
    key_id: string | null;
    after_seq: number;
    missed: Generated<number>;
    disabled_at: Timestamp | null;
    disabled_reason: DisabledReason | null;
    failing_since: Timestamp | null;
    paused_until: Timestamp | null;
    last_success_at: Timestamp | null;
    deleted_at: Timestamp | null;
    created_at: CreatedAt;
    updated_at: CreatedAt;
  };
  webhook_deliveries: {
    id: string;
    webhook_id: string;
    type: string;
    sequence: number | null;
    body: string;
    state: Generated<WebhookDeliveryState>;
    attempts: Generated<number>;
    due_at: Timestamp | null;
    claimed: Generated<boolean>;
    fence: Generated<number>;
    status: number | null;
    code: string | null;
    answer: string | null;
    last_attempt_at: Timestamp | null;
    created_at: CreatedAt;
  };
}

/** Read as Date, written as Date or ISO text. */
type Timestamp = ColumnType<Date, Date | string, Date | string>;
type CreatedAt = ColumnType<Date, Date | string | undefined, Date | string>;
/** Read parsed, written as JSON text. */
type Json<T> = ColumnType<T, string, string>;
