import { type Kysely, sql } from 'kysely';
import type { Message } from '../../../contracts/send';
import { DomainError, isDomainError } from '../../../domain/errors';
import { LIMITS } from '../../../domain/limits';
import type { MaybePromise } from '../../../domain/maybe-promise';
import type { ImpossibleRule } from '../../carriers/possible-rule';
import { currentState } from '../../events/current-state';
import { isDataError } from '../../model/database-error';
import { createGroupCommit } from '../../model/group-commit';
import type { Accepted, Draft, Outcome } from '../../model/outgoing';
import type { MessagingTables } from '../../model/tables';
import type { SmsSenders } from '../../senders/sms-senders';
import type { TemplateVersions } from '../../templates/template-versions';
import { OUTBOX_BOUNDS, type OutboxCount } from '../queue/outbox-count';
import type { Partition, Partitions } from '../queue/partitions';
import { ensureEventHead } from './accept-insert';
import { insertWithNotices } from './opt-out-notices';
import { isSamePayload, payloadHash } from './payload-hash';
import type { PolicySource, SenderRule } from './policy-rules';
import { refusal } from './refusal';
import { type FlowWay, validateMessages } from './validate-message';

/**
 * Accepts messages. The answer comes after the commit, so that an accepted message survives the process. The same uid
 * gets the same answer as long as its record is kept; with another payload it is a conflict.
 */
export interface Accept {
  /** One outcome per message, in order; each is checked alone. Errors are DomainErrors. */
  accept(workspaceId: string, messages: readonly Message[]): Promise<Outcome<Accepted>[]>;
  /** A message of the service's own, which needs no checks. */
  acceptOwn(workspaceId: string, draft: Draft): Promise<void>;
  /** Resolves when nothing is on its way into the table. */
  idle(): Promise<void>;
}

interface Deps {
  db: Kysely<MessagingTables>;
  templates: TemplateVersions;
  /** Without it, no workspace has a policy. */
  policyOf?: PolicySource | undefined;
  /** Without it, no sender belongs to any workspace. */
  senderRule?: SenderRule | undefined;
  flowWay?: FlowWay | undefined;
  /** Without it, carriers can send everything. */
  impossible?: ImpossibleRule | undefined;
  partitions: Partitions;
  outbox: OutboxCount;
  senders: SmsSenders;
  /** These are in the table, those without a time of their own due at `atMs`: they may be taken straight from memory. */
  onAccepted(partition: Partition, drafts: readonly Draft[], atMs: number): void;
  /** It is not known which of a workspace's messages were written. */
  onDoubt(): void;
  /** This was accepted before, waits in the table, and may not be known of. */
  onWaiting(partition: Partition, id: string): void;
  onEvents(workspaceId: string): void;
}

export function createAccept(deps: Deps): Accept {
  const { templates, outbox } = deps;
  const group = createGroupCommit<Draft, Accepted>({
    commit: (workspaceId, drafts) => commit(deps, workspaceId, drafts),
    isPoison: isDataError,
    sizeOf: (draft) => draft.size,
    countMax: LIMITS.groupCommitMessages,
    bytesMax: LIMITS.groupCommitBytes,
    lingerMs: LIMITS.groupCommitLingerMs,
  });

  return {
    async accept(workspaceId, messages) {
      if (group.load.count >= LIMITS.acceptQueueMessages || group.load.bytes >= LIMITS.acceptQueueBytes) {
        throw new DomainError('overloaded', 'Too many messages wait to be stored; send it again', {
          retryAfterSeconds: 1,
        });
      }
      const now = Date.now();
      const { flowWay, senderRule, impossible } = deps;
      const asked = policyOfWorkspace(deps, workspaceId);
      const policy = asked instanceof Promise ? await asked : asked;
      const rules = { policy, flowWay, senderRule, impossible };
      const checking = allChecked(
        messages.map((message) => check(() => validateMessages(templates, workspaceId, message, now, rules))),
      );
      const checked = checking instanceof Promise ? await checking : checking;
      const outcomes: Outcome<Accepted>[] = new Array(messages.length);
      const drafts: Draft[] = [];
      const places: number[] = [];
      const refused: Refused[] = [];
      const refuse = (place: number, error: DomainError) => {
        const message = messages[place] as Message;
        refused.push({ place, uid: message.uid, payloadHash: payloadHash(message), refusal: error });
      };
      checked.forEach((one, i) => {
        if (!one.ok) {
          if (isDomainError(one.error)) refuse(i, one.error);
          else outcomes[i] = one;
        } else if (outbox.room(workspaceId, one.answer) === 0) {
          refuse(i, outboxFull(one.answer));
        } else {
          count(outbox, workspaceId, [one.answer], 1);
          drafts.push(one.answer);
          places.push(i);
        }
      });
      if (refused.length > 0) await answerRefused(deps, workspaceId, refused, outcomes);
      const written = await group.add(workspaceId, drafts);
      const notTaken = drafts.filter((_, i) => !isToBeSent(written[i]));
      count(outbox, workspaceId, notTaken, -1);
      outbox.settled();
      written.forEach((outcome, i) => {
        outcomes[places[i] as number] = outcome.ok ? outcome : { ok: false, error: refusal(outcome.error) };
      });
      return outcomes;
    },
    async acceptOwn(workspaceId, draft) {
      count(outbox, workspaceId, [draft], 1);
      const [written] = await group.add(workspaceId, [draft]);
      if (!isToBeSent(written)) count(outbox, workspaceId, [draft], -1);
      outbox.settled();
      if (!written?.ok) throw refusal(written?.error);
    },
    idle: () => group.idle(),
  };
}

type Checked = Outcome<Draft>;

/** Makes no promise when memory has all that is asked, because most messages need no more and each promise costs time. */
function check(validate: () => MaybePromise<Draft>): MaybePromise<Checked> {
  try {
    const draft = validate();
    return draft instanceof Promise ? draft.then(valid, invalid) : valid(draft);
  } catch (error) {
    return invalid(error);
  }
}

const valid = (draft: Draft): Checked =>
  draft.refusal ? invalid(draft.refusal) : { ok: true, answer: draft };
const invalid = (error: unknown): Checked => ({ ok: false, error });

const allChecked = (checked: MaybePromise<Checked>[]): MaybePromise<Checked[]> =>
  checked.some((one) => one instanceof Promise) ? Promise.all(checked) : (checked as Checked[]);

const isToBeSent = (outcome: Outcome<Accepted> | undefined) =>
  outcome?.ok === true && !outcome.answer.duplicate && outcome.answer.state !== 'suppressed';

function count(outbox: OutboxCount, workspaceId: string, drafts: readonly Draft[], sign: 1 | -1): void {
  for (const draft of drafts) {
    const dueMs = draft.state === 'scheduled' && draft.sendAt ? Date.parse(draft.sendAt) : undefined;
    outbox.change(workspaceId, draft, sign, dueMs);
  }
}

/** One that cannot be read holds messages up: to send what it forbids would be worse. */
function policyOfWorkspace({ policyOf }: Deps, workspaceId: string) {
  const policy = policyOf?.(workspaceId);
  if (!(policy instanceof Promise)) return policy;
  return policy.catch((error: unknown) => {
    throw refusal(error);
  });
}

/** The members of a message by which it is compared with a record of the same uid. */
type Asked = Pick<Draft, 'uid' | 'payloadHash' | 'refusal'> & { id?: string; to?: string };
type Refused = Asked & { place: number };

/**
 * What was taken on before its template was archived or changed, before the policy forbade it or the outbox was
 * full, is answered for as ever: a caller that lost the first answer must not read that it was refused.
 */
async function answerRefused(
  deps: Deps,
  workspaceId: string,
  refused: readonly Refused[],
  outcomes: Outcome<Accepted>[],
): Promise<void> {
  const known = await answerRepeats(deps, workspaceId, refused, new Map()).catch((error: unknown) =>
    refused.map((): Outcome<Accepted> => ({ ok: false, error: refusal(error) })),
  );
  refused.forEach(({ place }, i) => {
    outcomes[place] = known[i] as Outcome<Accepted>;
  });
}

async function commit(deps: Deps, workspaceId: string, given: Draft[]): Promise<Outcome<Accepted>[]> {
  const { db, partitions, senders, onAccepted, onDoubt, onEvents } = deps;
  await senders.note(workspaceId, given);
  // The first message of a workspace finds no head, and a partition can be lost: both are mended and tried again.
  for (let attempt = 0; attempt < 3; attempt++) {
    const partition = await partitions.own();
    const at = new Date().toISOString();
    const { outcome, drafts } = await insertWithNotices(db, workspaceId, partition, given, at).catch(
      (error) => {
        if (!isDataError(error)) onDoubt();
        throw error;
      },
    );
    if (outcome.kind === 'partition_lost') {
      await partitions.lose(partition);
    } else if (outcome.kind === 'no_head') {
      await ensureEventHead(db, workspaceId);
    } else {
      const { ids, suppressed } = outcome;
      const inserted = ids === 'all' ? drafts : drafts.filter((draft) => ids.has(draft.id));
      const toSend = suppressed.size === 0 ? inserted : inserted.filter((draft) => !suppressed.has(draft.id));
      if (toSend.length > 0) onAccepted(partition, toSend, Date.parse(at));
      if (inserted.length > 0) onEvents(workspaceId);
      if (ids === 'all') return drafts.map((draft) => ({ ok: true, answer: answerOf(draft, suppressed) }));
      const answers = new Map(inserted.map((draft) => [draft.id, answerOf(draft, suppressed)]));
      return answerRepeats(deps, workspaceId, drafts, answers);
    }
  }
  throw new DomainError('overloaded', 'Another process takes this part of the outbox over; send it again', {
    retryAfterSeconds: 1,
  });
}

function answerOf(draft: Draft, suppressed: ReadonlySet<string>): Accepted {
  const { id, uid, channel, to, segments, encoding, sendAt } = draft;
  const state = suppressed.has(id) ? 'suppressed' : draft.state;
  return { id, uid, channel, to, state, segments, encoding, sendAt, duplicate: false };
}

/**
 * A message that was not inserted exists already. With the same payload it is answered with its record; with
 * another one it is refused.
 */
async function answerRepeats(
  { db, partitions, onWaiting }: Deps,
  workspaceId: string,
  asked: readonly Asked[],
  inserted: ReadonlyMap<string | undefined, Accepted>,
): Promise<Outcome<Accepted>[]> {
  const uids = asked.filter(({ id }) => !inserted.has(id)).map(({ uid }) => uid);
  const rows = await db
    .selectFrom('messages as m')
    .select(['m.id', 'm.uid', 'm.channel', 'm.to_address', 'm.segments', 'm.encoding', 'm.send_at'])
    .select(['m.payload_hash', 'm.lane', currentState('m').as('state')])
    .where('m.workspace_id', '=', workspaceId)
    .where('m.uid', '=', sql<string>`any(${uids}::text[])`)
    .execute();
  // A caller repeats when it got no answer. Then this process may not have learned of the commit either.
  const own = new Map(Array.from(partitions.all(), (partition) => [partition.id, partition]));
  for (const { id, lane: partitionId, state } of rows) {
    const partition = own.get(partitionId);
    if (partition && (state === 'accepted' || state === 'scheduled')) onWaiting(partition, id);
  }
  const existing = new Map(rows.map((row) => [row.uid, row]));
  return asked.map(({ id, uid, to, payloadHash, refusal }) => {
    const made = inserted.get(id);
    if (made) return { ok: true, answer: made };
    const row = existing.get(uid);
    if (!row && refusal) return { ok: false, error: refusal };
    if (!row || !isSamePayload(row.payload_hash, payloadHash)) return { ok: false, error: conflict(uid) };
    const answer: Accepted = {
      id: row.id,
      uid: row.uid,
      channel: row.channel,
      // Who repeats the call knows the address, even of a person who was erased.
      to: row.to_address ?? to ?? '',
      state: row.state,
      segments: row.segments ?? undefined,
      encoding: row.encoding ?? undefined,
      sendAt: row.send_at?.toISOString(),
      duplicate: true,
    };
    return { ok: true, answer };
  });
}

const conflict = (uid: string) =>
  new DomainError('uid_conflict', `uid: '${uid}' was used for a message with other content; choose another`, {
    errors: [{ path: 'uid', code: 'conflict', message: 'Already used for a message with other content' }],
  });

const outboxFull = ({ class: kind, channel }: Draft) =>
  new DomainError(
    'outbox_full',
    `${OUTBOX_BOUNDS[kind]} ${kind} messages wait to be delivered by ${channel}; try again later`,
    { retryAfterSeconds: 2 },
  );
