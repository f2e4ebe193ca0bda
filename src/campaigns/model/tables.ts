import type { ColumnType, Generated } from 'kysely';
import type { AbortBaseline } from '../../domain/abort-threshold';
import type { Approval, OwnReason } from '../../domain/approval';
import type { Control, Phase, RunPhase, Stage } from '../../domain/campaign';
import type { Channel } from '../../domain/channel';
import type { SuppressionEvidence } from '../../domain/message-history';
import type { WorkspacePolicy } from '../../domain/policy';
import type { RecipientOutcome, RecipientState, Skipped, SkipReason } from '../../domain/recipient';
import type { Judged } from '../../domain/release';
import type { SendContent } from './send-content';

/** The campaigns' tables, as Kysely sees them (schema: storage/migrations). */
export interface CampaignTables {
  contacts: {
    id: string;
    workspace_id: string;
    identity: string;
    external_id: string | null;
    name: string | null;
    email: string | null;
    phone: string | null;
    timezone: string | null;
    locale: string | null;
    params: Json<Record<string, string | number>>;
    created_at: CreatedAt;
    updated_at: CreatedAt;
  };
  erasures: {
    id: string;
    workspace_id: string;
    contact_id: string;
    addresses: string[] | null;
    words: string[] | null;
    created_at: CreatedAt;
    done_at: Timestamp | null;
  };
  contact_lists: {
    id: string;
    workspace_id: string;
    name: string;
    created_at: CreatedAt;
    updated_at: CreatedAt;
  };
  contact_list_members: {
    list_id: string;
    contact_id: string;
    added_at: CreatedAt;
    /** In a campaign's own audience: values that go before the contact's. */
    params: Json<Record<string, string | number>> | null;
  };
  campaigns: {
    id: string;
    workspace_id: string;
    name: string;
    channels: Channel[];
    settings: Json<Record<string, unknown>>;
    contact_list_ids: string[];
    options: Json<Record<string, unknown>>;
    stage: Stage;
    own_list_id: string | null;
    own_members: Generated<number>;
    current_run: string | null;
    created_by: string | null;
    created_at: CreatedAt;
    updated_at: CreatedAt;
    tags: Generated<string[]>;
    archived_at: Timestamp | null;
    approval: ColumnType<Approval | null, string | null | undefined, string | null>;
  };
  campaign_digests: {
    workspace_id: string;
    campaign_id: string;
    digest: string;
    content: string;
    contacts: number;
    members: string;
    taken_at: CreatedAt;
  };
  runs: {
    id: string;
    workspace_id: string;
    campaign_id: string;
    number: number;
    phase: RunPhase;
    control: Generated<Control>;
    control_changes: Generated<number>;
    control_applied: Generated<number>;
    reason: string | null;
    workflow_id: string;
    launches: Generated<number>;
    skipped: Json<Partial<Record<Channel, Skipped>>>;
    /** When a planned run is to be woken; null once a process has taken that over. */
    launch_at: Timestamp | null;
    started_at: CreatedAt;
    finished_at: Timestamp | null;
    /** When the service's hold on messages of a run that is over was removed. */
    hold_ended_at: Timestamp | null;
    scheduled_for: Timestamp | null;
    local_time: string | null;
    policy_version: number | null;
    own_reason: ColumnType<OwnReason | null, string | null | undefined, string | null>;
    abort_baseline: ColumnType<AbortBaseline | null, string | null | undefined, string | null>;
    recipients_deleted_at: Timestamp | null;
    /** Indexed flag: true while rows of its recipients are to be deleted, null otherwise. */
    recipients_left: true | null;
    /** Its outcomes when its recipients were deleted. */
    outcomes: ColumnType<RecipientOutcome[] | null, string | null | undefined, string | null>;
    /** Whether its recipients' codes are counted in `recipient_codes`; null in runs from before that table. */
    codes_counted: ColumnType<boolean | null, boolean | null | undefined, boolean | null>;
  };
  recipients: {
    run_id: string;
    channel: Channel;
    seq: number;
    shard: number;
    contact_id: string;
    /** Null once the person was erased. */
    address: string | null;
    params: Json<Record<string, string | number>>;
    due_at: Timestamp;
    place: string | null;
    state: Generated<RecipientState>;
    /**
     * Indexed flag: true while the recipient waits, null otherwise, so that the partial index stays small. A
     * column beside `state`, so that the planner has statistics for it.
     */
    waits: ColumnType<true | null, never, never>;
    outcome: string | null;
    code: string | null;
    attempt: Generated<number>;
    attempts: Generated<number>;
    retry_at: Timestamp | null;
    doubts: number[] | null;
    updated_at: CreatedAt;
    call_from: number | null;
    turn: number | null;
    put_back: Date[] | null;
  };
  audience_freezes: {
    run_id: string;
    channel: Channel;
    begun_at: CreatedAt;
    contacts: number;
    exclusions_marked: boolean;
    after_id: Generated<string>;
    walked: Generated<number>;
    next_seq: Generated<number>;
    shard: Generated<number>;
    shard_from: Generated<number>;
    skipped: Json<Partial<Skipped>>;
    policy_version: number | null;
    fence: Generated<number>;
    finished_at: Timestamp | null;
  };
  shards: {
    run_id: string;
    channel: Channel;
    shard: number;
    from_seq: number;
    to_seq: number;
    next_seq: number;
    next_page: Generated<number>;
  };
  shard_counts: { run_id: string; channel: Channel; shard: number; state: RecipientState; count: number };
  /** Recipients of a run by stored state and code, in slots that are summed. */
  recipient_codes: {
    run_id: string;
    channel: Channel;
    state: RecipientState;
    code: string;
    slot: number;
    count: number;
  };
  run_timeline: {
    run_id: string;
    channel: Channel;
    state: RecipientState;
    second: number;
    slot: number;
    count: number;
  };
  pages: {
    run_id: string;
    channel: Channel;
    shard: number;
    page: number;
    lane: number;
    fence: number;
    from_seq: number;
    to_seq: number;
    seqs: number[] | null;
    resolved: Generated<number>;
    offered: Generated<number>;
    opened_at: CreatedAt;
  };
  run_releases: {
    run_id: string;
    workspace_id: string;
    stages: number;
    stage: Generated<number>;
    contacts: number | null;
    released_to: Generated<number>;
    passed_to: Generated<number>;
    closed_at: Timestamp | null;
  };
  run_stages: {
    run_id: string;
    stage: number;
    contacts: number;
    upto: string;
    begun_at: Timestamp | null;
    opened_to: Generated<number>;
    opened_at: Timestamp | null;
    sent_at: Timestamp | null;
    next_at: Timestamp | null;
    judged: ColumnType<Judged[], string | undefined, string>;
  };
  run_paces: { run_id: string; rate: number | null; next_at: CreatedAt };
  shard_seconds: {
    run_id: string;
    channel: Channel;
    shard: number;
    slot: number;
    second: number;
    taken: number;
  };
  calls: {
    run_id: string;
    seq: number;
    attempt: number;
    placed_at: CreatedAt;
    dialled_at: Timestamp | null;
    answered_at: Timestamp | null;
    heard_at: Timestamp | null;
    ended_at: Timestamp | null;
    outcome: string | null;
    code: string | null;
    fault: string | null;
    data: Json<Record<string, unknown>>;
    /** Indexed flag: true while the call is live, null otherwise, like `waits`. */
    live: true | null;
    fence: Generated<number>;
  };
  call_places: { run_id: string; ask_at: CreatedAt };
  durable_sends: {
    id: string;
    workspace_id: string;
    uid: string;
    channel: Channel;
    content: Json<SendContent>;
    state: Generated<RecipientState>;
    outcome: string | null;
    code: string | null;
    control: Generated<'run' | 'cancel'>;
    cancel_late: Generated<boolean>;
    attempt: Generated<number>;
    offered: Generated<boolean>;
    fence: Generated<number>;
    accepted_at: Timestamp | null;
    ended: string | null;
    ended_code: string | null;
    answered_by: string | null;
    told_outcome: string | null;
    attempts: Generated<number>;
    failures: Generated<number>;
    pauses: Generated<number>;
    faults: Generated<number>;
    outcomes: Generated<string[]>;
    policy_version: number | null;
    due_at: Timestamp;
    /** When it is to be woken; null once a process has taken that over, and where it need not be. */
    launch_at: Timestamp | null;
    created_at: CreatedAt;
    started_at: Timestamp | null;
    sent_at: Timestamp | null;
    finished_at: Timestamp | null;
    updated_at: CreatedAt;
  };
  campaign_schedules: {
    campaign_id: string;
    workspace_id: string;
    next_at: Timestamp | null;
    version: Generated<number>;
    kept: Generated<number>;
    looked_at: CreatedAt;
  };
  campaign_phase_changes: {
    id: Generated<number>;
    workspace_id: string;
    campaign_id: string;
    phase: Phase;
    at: CreatedAt;
  };
  policy_versions: {
    workspace_id: string;
    version: number;
    policy: Json<WorkspacePolicy>;
    created_at: CreatedAt;
  };
  workspace_stops: {
    workspace_id: string;
    since: CreatedAt;
    stopped_by: string | null;
    reason: string;
    ended_at: Timestamp | null;
  };
  contact_uses: {
    workspace_id: string;
    address: string;
    uids: string[];
    channels: string[];
    used_at: ColumnType<Date[], string[], string[]>;
    last_at: Timestamp;
  };
  skipped_contacts: {
    run_id: string;
    channel: Channel;
    contact_id: string;
    reason: SkipReason;
    address: string | null;
    evidence: Json<SkipEvidence> | null;
  };
  event_cursors: { workspace_id: string; cursor: string; updated_at: CreatedAt; asked_at: Timestamp | null };
  run_looks: { id: Generated<string>; run_id: string; at: CreatedAt; tries: Generated<number> };
  watches: { name: string; owner: string; held_until: Timestamp };
}

/** Read as Date, written as Date or ISO text. */
type Timestamp = ColumnType<Date, Date | string | null, Date | string | null>;
type CreatedAt = ColumnType<Date, Date | string | undefined, Date | string>;
/** Read parsed, written as JSON text. */
type Json<T> = ColumnType<T, string, string>;

/**
 * Why a contact was left out. It is stored, because the entry or the contact may be changed or deleted by the
 * time a person asks.
 */
export interface SkipEvidence {
  suppression?: SuppressionEvidence;
  /** Names of params. */
  missing?: string[];
}
