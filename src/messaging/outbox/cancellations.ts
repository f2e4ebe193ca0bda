import { type Kysely, sql } from 'kysely';
import type { Erased } from '../../domain/erasure';
import { DomainError, isDomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { idsOfMessagesTo } from '../events/messages-to-person';
import { isDataError } from '../model/database-error';
import { createGroupCommit, type GroupCommit } from '../model/group-commit';
import type { Outcome } from '../model/outgoing';
import type { MessagingTables } from '../model/tables';
import { type Canceled, cancelMessages, noteUnwanted } from './cancel';
import type { Withdrawals } from './withdrawals';

/** Cancels messages, by their callers or with their recipients, and lets the queue and the counts of this process know. */
export interface Cancellations {
  /**
   * Fails with `not_cancelable` once a provider has the message or may have it. If the provider gives it back, it is canceled
   * then. Repeating it is harmless.
   */
  cancel(workspaceId: string, uid: string): Promise<void>;
  /** Cancels some of the messages to a person who is erased, and answers how many. */
  cancelWaiting(person: Erased): Promise<number>;
}

/** A message that was put back while it was being canceled is canceled by the second try, unless it has left again. */
const CANCEL_TRIES = 3;

type CancelOutcome = Outcome<Canceled | 'already_canceled'>;

export function createCancellations(deps: {
  db: Kysely<MessagingTables>;
  withdrawals: Withdrawals;
  onCanceled(workspaceId: string, canceled: Canceled): void;
}): Cancellations {
  const { db, withdrawals, onCanceled } = deps;
  const together: GroupCommit<string, Canceled | 'already_canceled'> = createGroupCommit({
    commit: (workspaceId, uids) => cancelMessages(db, workspaceId, uids),
    isPoison: isDataError,
    sizeOf: () => 0,
    countMax: LIMITS.groupCommitMessages,
    bytesMax: LIMITS.groupCommitBytes,
    lingerMs: LIMITS.groupCommitLingerMs,
  });

  async function tryToCancel(workspaceId: string, uid: string): Promise<CancelOutcome | undefined> {
    for (let tries = 1; ; tries++) {
      const [outcome] = await together.add(workspaceId, [uid]);
      if (!isTooLate(outcome)) return outcome;
      const isOver = await noteUnwanted(db, workspaceId, uid);
      if (isOver || tries === CANCEL_TRIES) return outcome;
    }
  }

  return {
    async cancel(workspaceId, uid) {
      const outcome = await tryToCancel(workspaceId, uid);
      // The message has left. A call that still rings is taken back all the same, and its receipt says so.
      if (isTooLate(outcome)) await withdrawals.ofMessage(workspaceId, uid);
      if (!outcome?.ok) throw outcome?.error;
      if (outcome.answer === 'already_canceled') return;
      onCanceled(workspaceId, outcome.answer);
      if (outcome.answer.inDoubt) {
        const what = `Message '${uid}' is unknown and can no longer be canceled`;
        throw new DomainError(
          'not_cancelable',
          `${what}: its carrier may have taken it, and is not given it again`,
        );
      }
    },
    async cancelWaiting(person) {
      const canceled = await cancelWaiting(db, person);
      for (const one of canceled) onCanceled(person.workspaceId, one);
      return canceled.length;
    },
  };
}

/**
 * Cancels messages to a person who is erased. One that a provider has at the moment is left for the next look, and noted as unwanted,
 * because it may be in a group that a killed process left and that a hold keeps from its provider for as long as it lasts.
 */
export async function cancelWaiting(db: Kysely<MessagingTables>, person: Erased): Promise<Canceled[]> {
  const { rows } = await sql<{ uid: string }>`
    select uid from messages where id = any(array(
      ${idsOfMessagesTo(person, sql`due_at is not null`)} limit ${LIMITS.erasedMessages}))`.execute(db);
  if (rows.length === 0) return [];
  const uids = rows.map(({ uid }) => uid);
  const outcomes = await cancelMessages(db, person.workspaceId, uids);
  for (const [i, uid] of uids.entries())
    if (!outcomes[i]?.ok) await noteUnwanted(db, person.workspaceId, uid);
  return outcomes.flatMap((outcome) =>
    outcome.ok && outcome.answer !== 'already_canceled' ? outcome.answer : [],
  );
}

const isTooLate = (outcome: Outcome<unknown> | undefined): boolean =>
  outcome?.ok === false && isDomainError(outcome.error) && outcome.error.code === 'not_cancelable';
