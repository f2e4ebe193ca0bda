import { type Kysely, sql } from 'kysely';
import type { DurableSendBody } from '../../contracts/durable-sends';
import type { Channel } from '../../domain/channel';
import { DomainError } from '../../domain/errors';
import { durableSendWorkflowId, sendMessageUid } from '../../domain/ids';
import { LIMITS } from '../../domain/limits';
import { isAllowedSender } from '../../domain/policy';
import type { RecipientState } from '../../domain/recipient';
import type { Log } from '../../log';
import { atMost } from '../model/at-most';
import type { SenderRule, SendLauncher, TemplateLookup } from '../model/dependencies';
import type { SendContent } from '../model/send-content';
import type { CampaignTables } from '../model/tables';
import { readPolicy } from '../policy/policy';
import { readStop, type Stop } from '../stops/stops';
import { type ImpossibleSend, impossibleSend } from './refuse-impossible';
import type { SendRow } from './send-step';

/**
 * Durable single sends (api.md 8), as callers see them. A send is one row and one workflow. The row is the
 * truth. It has what is wanted (`content`, `control`), how far it is (`state`, `attempt`, `offered`,
 * `accepted_at`, `ended`) and when it is looked at next (`due_at`). The workflow sleeps until then or until it
 * is woken, and takes the next step (claim-sends.ts). A new workflow on the same row continues from there. The
 * row is therefore committed first, and the sweep starts a missing workflow (run-reconciler.ts).
 *
 * An attempt is one message at the service, under a uid of its own. `offered` is written before the service is
 * asked. A process that finds it set without an answer knows that its predecessor died in between.
 */
export interface DurableSends {
  /** For a uid that was used before with the same content, returns that send. */
  create(workspaceId: string, id: string, body: DurableSendBody): Promise<SendView>;
  read(workspaceId: string, id: string): Promise<SendView>;
  /** Asks for the send's cancellation, and returns its present state. */
  cancel(workspaceId: string, id: string): Promise<SendView>;
}

export interface SendView {
  id: string;
  uid: string;
  workflowId: string;
  channel: Channel;
  state: RecipientState;
  outcome: string | null;
  code: string | null;
  /** The latest message at the service, to be followed there. */
  messageUid: string | null;
  attempts: number;
  cancelRequested: boolean;
  /** When it is sent, or tried again. */
  dueAt: Date | null;
  createdAt: Date;
  startedAt: Date | null;
  acceptedAt: Date | null;
  sentAt: Date | null;
  finishedAt: Date | null;
  updatedAt: Date;
  /** The stop of its workspace that it waits for. */
  stopped: Stop | null;
}

export function createDurableSends(deps: {
  db: Kysely<CampaignTables>;
  launcher: SendLauncher;
  /** Without it, no sender belongs to any workspace. */
  senderRule?: SenderRule | undefined;
  /** Without it, the service's carriers can do everything. */
  check?: TemplateLookup['check'];
  log: Log;
}): DurableSends {
  const { db, launcher, senderRule, log } = deps;
  const impossible = impossibleSend(deps.check);

  return {
    async create(workspaceId, id, body) {
      const { uid, channel, sendAt, ...rest } = body;
      const content: SendContent = { ...rest, ...(sendAt === undefined ? {} : { sendAt }) };
      const [stop] = await Promise.all([
        readStop(db, workspaceId),
        refuse(db, workspaceId, body, { senderRule, impossible }),
      ]);
      const found = await insertOrFind(db, { workspaceId, id, uid, channel, content });
      if (!found.same) {
        throw new DomainError(
          'uid_conflict',
          `uid ${uid} was used for a durable send with other content; choose another uid`,
        );
      }
      // Also for a send that existed already, because the attempt that created it may have died before this
      // line.
      if (found.row.started_at === null && found.row.finished_at === null) {
        const launching = launcher
          .launchSend({ workspaceId, sendId: found.row.id, startAt: found.row.due_at })
          .catch((error: unknown) =>
            log.warn(
              { err: error, sendId: found.row.id },
              'a send could not be launched; it will be tried again',
            ),
          );
        await atMost(LIMITS.controlAnswerMs, launching);
      }
      return viewOf(found.row, stop);
    },

    async read(workspaceId, id) {
      const row = await db
        .selectFrom('durable_sends')
        .selectAll()
        .where('id', '=', id)
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirst();
      if (!row) throw noSend(id);
      return viewOf(row, await readStop(db, workspaceId));
    },

    async cancel(workspaceId, id) {
      const row = await wishCanceled(db, workspaceId, id);
      if (row.finished_at !== null && row.state !== 'canceled') {
        throw new DomainError(
          'not_cancelable',
          `Durable send ${id} has ended as ${row.state} and can no longer be canceled; GET /api/send/${id} says what became of it`,
        );
      }
      // If the wake is lost, the workflow reads the row when it wakes by itself.
      const onLost = (error: unknown) => log.warn({ err: error, sendId: id }, 'a send could not be woken');
      await atMost(LIMITS.controlAnswerMs, launcher.wakeSend(id).catch(onLost));
      return viewOf(row, await readStop(db, workspaceId));
    },
  };
}

/** A send that was accepted before its sender was forbidden, or before no account could send it, is answered as before. */
async function refuse(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  body: DurableSendBody,
  { senderRule, impossible }: { senderRule: SenderRule | undefined; impossible: ImpossibleSend },
): Promise<void> {
  const refusal =
    (await forbiddenSender(db, workspaceId, body, senderRule)) ?? (await impossible(workspaceId, body));
  if (!refusal) return;
  const known = await db
    .selectFrom('durable_sends')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('uid', '=', body.uid)
    .executeTakeFirst();
  if (!known) throw refusal;
}

async function forbiddenSender(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  { channel, from }: DurableSendBody,
  rule: SenderRule | undefined,
): Promise<DomainError | undefined> {
  const message = isAllowedSender(await readPolicy(db, workspaceId), channel, from)
    ? rule?.(workspaceId, { channel, from })
    : `The workspace's policy does not allow this sender of ${channel}`;
  if (message === undefined) return undefined;
  return new DomainError('sender_not_allowed', `from: ${message}`, {
    errors: [{ path: 'from', code: 'sender_not_allowed', message }],
  });
}

/** One that expires before its hour is due when it expires, because it ends then. */
async function insertOrFind(
  db: Kysely<CampaignTables>,
  send: { workspaceId: string; id: string; uid: string; channel: Channel; content: SendContent },
): Promise<{ row: SendRow; same: boolean }> {
  const text = JSON.stringify(send.content);
  const inserted = await sql<SendRow>`
    insert into durable_sends (id, workspace_id, uid, channel, content, state, due_at, launch_at)
    select ${send.id}, ${send.workspaceId}, ${send.uid}, ${send.channel}, ${text}::jsonb,
      case when due > now() then 'waiting' else 'pending' end, greatest(due, now()), case when due > now() + make_interval(secs => ${LIMITS.plannedAheadMs / 1_000}) then due end
    from (select least(coalesce(${send.content.sendAt ?? null}::timestamptz, now()), ${send.content.expiresAt ?? null}::timestamptz) as due) asked
    on conflict (workspace_id, uid) do nothing
    returning *`.execute(db);
  const [row] = inserted.rows;
  if (row) return { row, same: true };
  const found = await sql<SendRow & { same: boolean }>`
    select *, channel = ${send.channel} and content = ${text}::jsonb as same from durable_sends
    where workspace_id = ${send.workspaceId} and uid = ${send.uid}`.execute(db);
  const [known] = found.rows;
  if (!known) throw new DomainError('internal', `Durable send with uid ${send.uid} was there and is not`);
  return { row: known, same: known.same };
}

/** Cancels at once what has not been offered to the service; otherwise the workflow asks the service. */
async function wishCanceled(db: Kysely<CampaignTables>, workspaceId: string, id: string): Promise<SendRow> {
  const { rows } = await sql<SendRow>`
    update durable_sends set
      control = case when finished_at is null then 'cancel' else control end,
      state = case when finished_at is null and not offered then 'canceled' else state end,
      finished_at = case when finished_at is null and not offered then now() else finished_at end,
      updated_at = case when finished_at is null then now() else updated_at end
    where id = ${id} and workspace_id = ${workspaceId}
    returning *`.execute(db);
  const [row] = rows;
  if (!row) throw noSend(id);
  return row;
}

function viewOf(row: SendRow, stopped: Stop | null): SendView {
  const isDue = row.finished_at === null && (row.state === 'pending' || row.state === 'waiting');
  return {
    id: row.id,
    uid: row.uid,
    workflowId: durableSendWorkflowId(row.id),
    channel: row.channel,
    state: row.state,
    outcome: row.outcome,
    code: row.code,
    messageUid: row.fence > 0 ? sendMessageUid(row.id, row.attempt) : null,
    attempts: row.attempts,
    cancelRequested: row.control === 'cancel',
    dueAt: isDue ? row.due_at : null,
    createdAt: row.created_at,
    startedAt: row.started_at,
    acceptedAt: row.accepted_at,
    sentAt: row.sent_at,
    finishedAt: row.finished_at,
    updatedAt: row.updated_at,
    stopped,
  };
}

/** Whether a send of the workspace waits for its event feed. */
export async function awaitsOutcome(db: Kysely<CampaignTables>, workspaceId: string): Promise<boolean> {
  const row = await db
    .selectFrom('durable_sends')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('finished_at', 'is', null)
    .where('offered', '=', true)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

const noSend = (id: string) =>
  new DomainError(
    'not_found',
    `No durable send ${id} in this workspace; its POST /api/send, repeated with the same uid, answers with its id`,
  );
