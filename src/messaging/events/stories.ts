import { type Kysely, sql } from 'kysely';
import { type AccountState, accountIdOf } from '../../domain/account';
import { LIMITS } from '../../domain/limits';
import type { MessageState } from '../../domain/message';
import type { MessageStory, SuppressionEvidence } from '../../domain/message-history';
import type { Routed } from '../../domain/route';
import type { MessagingTables } from '../model/tables';
import { type SuppressedMessage, suppressionsAt } from '../suppression/suppression-evidence';
import { currentState } from './current-state';
import { RECORD_COLUMNS, type TrackedMessage, tracked } from './tracking';

/**
 * What a caller needs to explain a message to a person: its record and events, what it waits for, and the
 * suppression entry that kept it back. It reads only what is stored for other reasons, so that sending writes
 * nothing for it. Only the process that hands over knows about the pause of an account; it supplies that.
 */
export async function messageStories(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  uids: readonly string[],
  accountFor: AccountFor,
): Promise<MessageStory[]> {
  const rows = await db
    .selectFrom('messages as m')
    .select(RECORD_COLUMNS)
    .select(['accepted_seq', 'history', 'due_at', currentState('m').as('present')])
    .select(
      sql<boolean>`exists (
        select from holds h where h.workspace_id = m.workspace_id and h.campaign = m.campaign)`.as('held'),
    )
    .where('workspace_id', '=', workspaceId)
    .where('uid', '=', sql<string>`any(${uids}::text[])`)
    .execute();
  const messages = rows.map((row) => ({ ...tracked(row), dueAt: row.due_at, held: row.held }));
  const blocks = await suppressionsAt(db, workspaceId, messages.flatMap(suppressed));
  return messages.map((message) => storyOf({ ...message, workspaceId }, accountFor, blocks.get(message.uid)));
}

function suppressed({ uid, channel, to, from, events }: TrackedMessage): SuppressedMessage[] {
  const event = events.find(({ state }) => state === 'suppressed');
  return event && to !== null ? [{ uid, channel, to, from, at: event.at }] : [];
}

/** How the account stands by which a message is to leave; `undefined` where there is none. */
export type AccountFor = (message: Routed) => AccountState | undefined;

type Waiting = TrackedMessage & { dueAt: Date | null; held: boolean; workspaceId: string };

function storyOf(
  message: Waiting,
  accountFor: AccountFor,
  suppression: SuppressionEvidence | undefined,
): MessageStory {
  const { uid, channel, state, code, provider, providerId, segments, encoding, attempt, updatedAt } = message;
  return {
    ...{ uid, channel, state, code, providerId },
    account: provider === undefined ? undefined : accountIdOf(provider, channel),
    ...{ templateId: message['template-id'], version: message.version, segments, encoding },
    ...{ attempt, attemptsMax: LIMITS.handoverAttempts, updatedAt },
    events: message.events.map((event) => ({
      ...{ at: event.at, type: event.type, state: event.state, code: event.code },
      ...{ attempt: event.attempt, data: event.data },
    })),
    waits: waitOf(message, accountFor),
    suppression,
  };
}

const WAITING: readonly MessageState[] = ['scheduled', 'accepted', 'sending'];

/** The reasons in order: the first that applies keeps the message back, whatever the later ones say. */
function waitOf(message: Waiting, accountFor: AccountFor): MessageStory['waits'] {
  const { state, code, attempt, dueAt, held } = message;
  if (!WAITING.includes(state)) return null;
  if (held) return { why: 'hold' };
  const dueMs = dueAt?.getTime() ?? 0;
  const isLater = dueMs > Date.now();
  if (state === 'scheduled') return { why: 'schedule', at: dueAt?.toISOString() };
  const account = accountFor({ ...message, to: message.to ?? '', class: classOf(message) });
  if (account?.state === 'paused' && state !== 'sending') {
    // A sender that is closed at its account is tried when an owner has reopened it.
    const at = Math.max(dueMs, Date.parse(account.nextTryAt ?? ''));
    return { why: 'account', at: isoOf(at), code: account.reason };
  }
  // Its route leads to no account that may be used now, or the account has no calls.
  if (!account && !isLater && state !== 'sending') return { why: 'account' };
  if (!isLater) return { why: 'outbox' };
  const why = code === 'provider_account' ? 'account' : attempt > 0 || code ? 'retry' : 'outbox';
  return { why, at: isoOf(dueMs), code };
}

const classOf = (message: Waiting) => (message.class === 'transactional' ? 'transactional' : 'marketing');

const isoOf = (ms: number) => (Number.isFinite(ms) ? new Date(ms).toISOString() : undefined);
