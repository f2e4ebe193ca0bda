import { type Kysely, sql } from 'kysely';
import type { Channel } from '../../../domain/channel';
import { LIMITS } from '../../../domain/limits';
import type { Log } from '../../../log';
import type { InDoubt, LookUpResult, Receipt } from '../../../providers/provider';
import { isAmongTexts } from '../../model/hashed-text';
import type { MessagingTables } from '../../model/tables';
import type { TemplateVersions } from '../../templates/template-versions';
import { readMessages } from '../queue/due-messages';
import { renderBatch } from './render-batch';

/**
 * Looks up what became of messages whose answer was lost, where the carrier can be asked. A signed callback comes first and
 * mostly ends the doubt before. A look may only make certain: one match that can be no other message's is the message;
 * several, or none at the end, leave it `unknown`.
 */
export interface StatusLookup {
  start(): void;
  stop(): Promise<void>;
}

interface Doubt {
  message_id: string;
  provider: string;
  channel: Channel;
  since: Date;
  until: Date;
  looks: number;
}

const TURN_MS = 5_000;
const TURN_MAX = 20;

export function createStatusLookup(deps: {
  db: Kysely<MessagingTables>;
  templates: TemplateVersions;
  /** Asks the account that was offered the message; `undefined` while it is not here. */
  lookUp(provider: string, channel: Channel, message: InDoubt): Promise<LookUpResult> | undefined;
  /** Stores the receipts; they are stored when it resolves. */
  take(provider: string, receipts: Receipt[]): Promise<void>;
  log: Log;
  /** Shorter in tests. */
  turnMs?: number | undefined;
}): StatusLookup {
  const { db, templates, lookUp, take, log, turnMs = TURN_MS } = deps;
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> | undefined;

  async function turn(): Promise<void> {
    try {
      for (const doubt of await claim(db)) await lookAtOne(doubt);
    } catch (error) {
      log.warn({ err: error }, 'Messages in doubt could not be looked up; trying again');
    }
  }

  /** Those that were claimed with one that fails have spent a look, so that they are looked up all the same. */
  async function lookAtOne(doubt: Doubt): Promise<void> {
    try {
      await look(doubt);
    } catch (error) {
      const text = 'A message in doubt could not be looked up; trying again while it has looks left';
      log.warn({ err: error, message: doubt.message_id, provider: doubt.provider }, text);
    }
  }

  async function look(doubt: Doubt): Promise<void> {
    const { message_id: id, provider, channel } = doubt;
    const message = await inDoubt(db, templates, doubt);
    if (!message) return forget(db, id);
    const found = await lookUp(provider, channel, message);
    const providerId =
      found?.kind === 'found' ? await onlyOne(db, doubt, message, found.providerIds) : undefined;
    if (providerId !== undefined) {
      await take(provider, [{ id, providerId, type: 'sent' }]);
      log.info({ message: id, provider }, 'A message whose answer was lost was found at its carrier');
      return forget(db, id);
    }
    // After its last look it stays in doubt, so that what is found for another message to the same number is not certain.
  }

  return {
    start() {
      timer = setInterval(() => {
        working ??= turn().finally(() => {
          working = undefined;
        });
      }, turnMs);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await working;
    },
  };
}

/** Each is looked at by one process; one that dies in between costs a look. */
async function claim(db: Kysely<MessagingTables>): Promise<Doubt[]> {
  const [, ...later] = LIMITS.doubtLooksMs;
  const { rows } = await sql<Doubt>`
    update vendor_doubts set looks = looks + 1, look_at = case when looks < ${later.length}::int
      then now() + (${later}::int[])[looks + 1] * interval '1 millisecond' else 'infinity' end
    where message_id in (
      select message_id from vendor_doubts where look_at <= now() order by look_at limit ${TURN_MAX}
      for update skip locked
    )
    returning message_id, provider, channel, since, until, looks`.execute(db);
  return rows;
}

/** `undefined` when nothing is in doubt any more, or the person was erased: a carrier that is asked without a number lists all. */
async function inDoubt(
  db: Kysely<MessagingTables>,
  templates: TemplateVersions,
  { message_id, since, until }: Doubt,
): Promise<InDoubt | undefined> {
  const { rows } = await sql`
    select from messages where id = ${message_id} and state = 'unknown' and provider_id is null`.execute(db);
  const [message] = rows.length === 0 ? [] : await readMessages(db, [message_id]);
  if (!message || message.to === '') return undefined;
  const { ready } = await renderBatch({ templates }, [message]);
  const { id, to, from } = message;
  const text = ready[0]?.handOver.text;
  return { id, to, from, text, sinceMs: since.getTime(), untilMs: until.getTime() };
}

/**
 * The one id that is no other message's. Another message to the same number that is in doubt too, or with the carrier right
 * now, may be the one that was found.
 */
async function onlyOne(
  db: Kysely<MessagingTables>,
  { message_id, provider, channel }: Doubt,
  { to }: InDoubt,
  providerIds: readonly string[],
): Promise<string | undefined> {
  const { rows } = await sql<{ known: string[] | null; crowded: boolean }>`
    select (
      select array_agg(provider_id) from known_carrier_ids
      where provider = ${provider} and ${isAmongTexts(sql`provider_id`, providerIds)}
    ) as known, exists (
      select from vendor_doubts d join messages m on m.id = d.message_id
      where d.provider = ${provider} and d.channel = ${channel} and m.to_address = ${to} and m.id <> ${message_id}
    ) or exists (
      select from handover_batches b join messages m on m.id = any(b.message_ids)
      where b.provider = ${provider} and m.channel = ${channel} and m.to_address = ${to} and m.id <> ${message_id}
    ) as crowded`.execute(db);
  const known = new Set(rows[0]?.known ?? []);
  const free = providerIds.filter((one) => !known.has(one));
  return rows[0]?.crowded || free.length !== 1 ? undefined : free[0];
}

async function forget(db: Kysely<MessagingTables>, id: string): Promise<void> {
  await db.deleteFrom('vendor_doubts').where('message_id', '=', id).execute();
}
