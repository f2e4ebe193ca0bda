import { type Kysely, type Selectable, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import type { MessageEvent, MessageState } from '../../domain/message';
import { notInWorkspace } from '../../domain/not-in-workspace';
import type { CallOptions } from '../../domain/voice/call-options';
import type { StoredEvent } from '../model/stored-event';
import type { MessagingTables } from '../model/tables';
import { currentState } from './current-state';
import { eventsOf } from './history';

/** A message as its sender sees it (api.md 4, Tracking). */
export interface MessageRecord {
  id: string;
  uid: string;
  channel: Channel;
  /** Null once the person was erased. */
  to: string | null;
  from: string;
  'template-id'?: string | undefined;
  version?: number | undefined;
  subject?: string | undefined;
  params: Record<string, string | number>;
  campaign?: string | undefined;
  class: string;
  replyTo?: string | undefined;
  voice?: CallOptions | undefined;
  segments?: number | undefined;
  encoding?: string | undefined;
  state: MessageState;
  code?: string | undefined;
  provider?: string | undefined;
  providerId?: string | undefined;
  attempt: number;
  sendAt?: string | undefined;
  expiresAt?: string | undefined;
  createdAt: string;
  updatedAt: string;
}

export type TrackedMessage = MessageRecord & { events: MessageEvent[] };

export const RECORD_COLUMNS = [
  'id',
  'uid',
  'channel',
  'to_address',
  'from_address',
  'template_id',
  'template_version',
  'subject',
  'params',
  'campaign',
  'class',
  'reply_to',
  'voice',
  'segments',
  'encoding',
  'code',
  'provider',
  'provider_id',
  'attempt',
  'send_at',
  'expires_at',
  'created_at',
  'updated_at',
] as const;
export type RecordRow = Pick<Selectable<MessagingTables['messages']>, (typeof RECORD_COLUMNS)[number]> & {
  present: MessageState;
};

export async function trackMessage(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  uid: string,
): Promise<TrackedMessage> {
  const [found] = await trackMessages(db, workspaceId, [uid]);
  if (!found) throw notInWorkspace(`message ${uid}`, '/messages');
  return found;
}

/** Reads the given messages as far as they exist, in no order. */
export async function trackMessages(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  uids: readonly string[],
): Promise<TrackedMessage[]> {
  const rows = await db
    .selectFrom('messages as m')
    .select(RECORD_COLUMNS)
    .select(['accepted_seq', 'history', currentState('m').as('present')])
    .where('workspace_id', '=', workspaceId)
    .where('uid', '=', sql<string>`any(${uids}::text[])`)
    .execute();
  return rows.map(tracked);
}

export function tracked(row: RecordRow & { accepted_seq: number; history: StoredEvent[] }): TrackedMessage {
  const common = { uid: row.uid, id: row.id, channel: row.channel, campaign: row.campaign ?? undefined };
  const state = firstState(row);
  const first = { seq: row.accepted_seq, at: row.created_at.toISOString(), type: state, state } as const;
  const events = [first, ...eventsOf(row)].map((event): MessageEvent => ({ ...common, ...event }));
  return { ...recordOf(row), events };
}

/** A message that was suppressed on arrival has only that event, which its history leaves out. */
function firstState(row: {
  present: MessageState;
  history: unknown[];
  send_at: Date | null;
  created_at: Date;
}): MessageState {
  if (row.present === 'suppressed' && row.history.length === 0) return 'suppressed';
  return row.send_at && row.send_at > row.created_at ? 'scheduled' : 'accepted';
}

export function recordOf(row: RecordRow): MessageRecord {
  return {
    id: row.id,
    uid: row.uid,
    channel: row.channel,
    to: row.to_address,
    from: row.from_address,
    'template-id': row.template_id ?? undefined,
    version: row.template_version ?? undefined,
    subject: row.subject ?? undefined,
    params: row.params,
    campaign: row.campaign ?? undefined,
    class: row.class,
    replyTo: row.reply_to ?? undefined,
    voice: row.voice ?? undefined,
    segments: row.segments ?? undefined,
    encoding: row.encoding ?? undefined,
    state: row.present,
    code: row.code ?? undefined,
    provider: row.provider ?? undefined,
    providerId: row.provider_id ?? undefined,
    attempt: row.attempt,
    sendAt: row.send_at?.toISOString(),
    expiresAt: row.expires_at?.toISOString(),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
