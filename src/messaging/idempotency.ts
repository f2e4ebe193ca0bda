import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  type ScryptOptions,
  scrypt,
} from 'node:crypto';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import { type IdGenerator, seededIds } from './access/id-generator';
import type { MessagingTables } from './model/tables';

/**
 * Calls with an Idempotency-Key (api.md 1), which take effect once, however often they are repeated.
 *
 * A row is claimed before the call does anything, and holds its answer afterwards. If the process is killed in
 * between, the claim ends with its lease, and the next repetition runs the call again. It cannot know how far
 * the first attempt came, and must not create anything twice. Therefore the call's ids and secrets are derived
 * from a seed in the row (`Claim.generator`). The second attempt generates the same ones, finds what the first
 * one has created, and returns the same answer. This also holds for two attempts side by side, because the
 * first one was taken for dead too early.
 *
 * A call that changes existing things creates nothing to be found by its id. It writes a note (`Claim.note`) in
 * the transaction that does its work, and the second attempt finds that note.
 *
 * Answers may hold secrets that are shown once. They are encrypted under a key derived from the
 * Idempotency-Key, of which the database has only a hash. The payload's hash, which may be that of a password,
 * and what is derived from the seed are protected in the same way. A reader of the database without the key
 * learns nothing. Keys should be random, such as a UUID. Where an answer holds secrets (`secret`), keys that
 * are not random are made expensive to guess.
 *
 * Refusals are not stored. A client error may be repeated freely, with the same payload or another one. A
 * failure of ours or a temporary refusal (5xx, 429) is tried again with the same ids.
 */
export interface Idempotency {
  /**
   * Returns the first answer, or a claim that its holder settles. Fails with `idempotency_key_reused` for
   * another payload, and with `idempotency_in_progress` while an attempt runs.
   */
  begin(call: IdempotentCall): Promise<{ answer: StoredAnswer } | { claim: Claim }>;
}

export interface IdempotentCall {
  workspaceId: string;
  /** The same key of another caller, or on another path, is another key. */
  scope: string;
  key: string;
  payload: unknown;
  /** The answer holds secrets. */
  secret: boolean;
}

export interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface Claim {
  generator: IdGenerator;
  /**
   * SQL for the transaction that does the call's work, or for the statement that begins it. `attempt` is above
   * 1 when an earlier attempt has done so, at `since` by the database's clock.
   */
  note: RawBuilder<{ attempt: number; since: string }>;
  /** Stores the answer for repetitions of the call. After a refusal it releases the key instead. */
  settle(answer: StoredAnswer): Promise<void>;
}

export interface IdempotencyDeps {
  db: Kysely<MessagingTables>;
  now?: () => number;
}

const LEASE_MS = LIMITS.idempotencyLeaseSeconds * 1_000;

export function createIdempotency({ db, now = Date.now }: IdempotencyDeps): Idempotency {
  return {
    async begin(call) {
      const keys = await deriveKeys(call);
      const row = {
        workspaceId: call.workspaceId,
        keyHash: keys.lookup.toString('base64url'),
        payloadHash: createHmac('sha256', keys.payload).update(canonical(call.payload)).digest('base64url'),
      };
      const nowMs = now();
      const claimed = await claimRow(db, row, nowMs);
      if (!claimed) return { answer: decrypt(await readAnswer(db, row), keys, row.keyHash) };

      const seed = createHmac('sha256', keys.generator).update(claimed.seed).digest();
      return {
        claim: {
          generator: seededIds(seed, claimed.created_at.getTime()),
          note: noteOf(row, seed),
          async settle(answer) {
            if (answer.status < 400) await storeAnswer(db, row, encrypt(answer, keys, row.keyHash));
            else if (isForgettable(answer.status, claimed.runs)) await forgetFirst(db, row);
            else await letGo(db, row, now());
          },
        },
      };
    },
  };
}

/** Whether nothing was created under this key: the first attempt was refused, and not temporarily. */
function isForgettable(status: number, runs: number): boolean {
  return status < 500 && status !== 429 && runs === 1;
}

interface RowKey {
  workspaceId: string;
  keyHash: string;
  payloadHash: string;
}

interface Claimed {
  seed: string;
  runs: number;
  created_at: Date;
}

/**
 * A row beside the call's own, under a name derived from its seed. A call that was forgotten and made again
 * under the same key gets another name. It uses `now()` and not our clock, because it is compared with times
 * that the database wrote.
 */
function noteOf({ workspaceId }: RowKey, seed: Buffer): Claim['note'] {
  const name = createHmac('sha256', seed).update('note').digest('base64url');
  return sql`
    insert into idempotency_keys as k (workspace_id, key_hash, payload_hash, seed, lease_until, created_at)
    values (${workspaceId}, ${name}, '', '', now(), now())
    on conflict (workspace_id, key_hash) do update set runs = k.runs + 1
    returning k.runs as attempt, k.created_at::text as since`;
}

/** `undefined` when another attempt holds the row, or when it has its answer. */
async function claimRow(
  db: Kysely<MessagingTables>,
  { workspaceId, keyHash, payloadHash }: RowKey,
  nowMs: number,
): Promise<Claimed | undefined> {
  const at = new Date(nowMs).toISOString();
  const { rows } = await sql<Claimed>`
    insert into idempotency_keys as k (workspace_id, key_hash, payload_hash, seed, lease_until, created_at)
    values (${workspaceId}, ${keyHash}, ${payloadHash}, ${randomBytes(32).toString('base64url')},
      ${new Date(nowMs + LEASE_MS).toISOString()}::timestamptz, ${at}::timestamptz)
    on conflict (workspace_id, key_hash) do update set runs = k.runs + 1, lease_until = excluded.lease_until
    where k.answer is null and k.payload_hash = excluded.payload_hash
      and k.lease_until <= ${at}::timestamptz
    returning k.seed, k.runs, k.created_at`.execute(db);
  return rows[0];
}

async function readAnswer(db: Kysely<MessagingTables>, row: RowKey): Promise<string> {
  const found = await db
    .selectFrom('idempotency_keys')
    .select(['payload_hash', 'answer'])
    .where('workspace_id', '=', row.workspaceId)
    .where('key_hash', '=', row.keyHash)
    .executeTakeFirst();
  if (found && found.payload_hash !== row.payloadHash) {
    throw new DomainError(
      'idempotency_key_reused',
      'This Idempotency-Key was used with another payload; choose a new key for this one',
    );
  }
  if (found?.answer) return found.answer;
  // Also if the row was released between our two statements; the repetition will then claim it.
  throw new DomainError(
    'idempotency_in_progress',
    'The first call with this Idempotency-Key is still running; repeat this one after Retry-After',
    { retryAfterSeconds: 1 },
  );
}

/** The first answer stays, because of two attempts side by side the second has the same answer. */
async function storeAnswer(db: Kysely<MessagingTables>, row: RowKey, answer: string): Promise<void> {
  await db
    .updateTable('idempotency_keys')
    .set({ answer })
    .where('workspace_id', '=', row.workspaceId)
    .where('key_hash', '=', row.keyHash)
    .where('answer', 'is', null)
    .execute();
}

/**
 * Leaves a row that a second attempt has taken over meanwhile, because with the row its seed would go, and the call
 * would create everything once more.
 */
async function forgetFirst(db: Kysely<MessagingTables>, { workspaceId, keyHash }: RowKey): Promise<void> {
  await sql`
    delete from idempotency_keys
    where workspace_id = ${workspaceId} and key_hash = ${keyHash} and answer is null and runs = 1`.execute(
    db,
  );
}

/** Releases the row for the next attempt, which will know what this one may have created. */
async function letGo(
  db: Kysely<MessagingTables>,
  { workspaceId, keyHash }: RowKey,
  nowMs: number,
): Promise<void> {
  await sql`
    update idempotency_keys set lease_until = ${new Date(nowMs).toISOString()}::timestamptz
    where workspace_id = ${workspaceId} and key_hash = ${keyHash} and answer is null`.execute(db);
}

/** One derived secret each for finding the row, its answer, its payload and its seed. */
interface Keys {
  lookup: Buffer;
  cipher: Buffer;
  payload: Buffer;
  generator: Buffer;
}

const KEY_BYTES = 32;

/** 32 MiB and some 60 ms per guess; used only where answers hold secrets. */
const GUESSING_COST: ScryptOptions = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };

async function deriveKeys({ workspaceId, scope, key, secret }: IdempotentCall): Promise<Keys> {
  const salt = JSON.stringify([workspaceId, scope]);
  const bytes = secret
    ? await new Promise<Buffer>((done, fail) => {
        scrypt(key, salt, 4 * KEY_BYTES, GUESSING_COST, (error, derived) =>
          error ? fail(error) : done(derived),
        );
      })
    : Buffer.from(hkdfSync('sha256', key, salt, 'idempotency-key', 4 * KEY_BYTES));
  const part = (i: number) => bytes.subarray(i * KEY_BYTES, (i + 1) * KEY_BYTES);
  return { lookup: part(0), cipher: part(1), payload: part(2), generator: part(3) };
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

function encrypt(answer: StoredAnswer, { cipher: key }: Keys, boundTo: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(boundTo));
  const body = Buffer.concat([cipher.update(JSON.stringify(answer), 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
}

function decrypt(stored: string, { cipher: key }: Keys, boundTo: string): StoredAnswer {
  const bytes = Buffer.from(stored, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES))
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  const body = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
  return JSON.parse(body.toString('utf8')) as StoredAnswer;
}

/** JSON with sorted keys, because a client that writes them in another order means the same. */
function canonical(payload: unknown): string {
  try {
    return JSON.stringify(payload, (_name, value: unknown) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) ? sorted(value) : value,
    );
  } catch (error) {
    if (error instanceof RangeError) return canonicalOfDeep(payload);
    throw error;
  }
}

const sorted = (value: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));

/**
 * The same text, by a stack of its own: a body of brackets nests deeper than recursion can. It is not used for all,
 * because it takes three times as long.
 */
function canonicalOfDeep(payload: unknown): string {
  let text = '';
  const waiting: Piece[] = [{ value: payload }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    if ('text' in next) text += next.text;
    else if (typeof next.value !== 'object' || next.value === null || next.value instanceof Date) {
      text += JSON.stringify(next.value) ?? 'null';
    } else {
      text += Array.isArray(next.value) ? '[' : '{';
      for (const piece of piecesOf(next.value).reverse()) waiting.push(piece);
    }
  }
  return text;
}

/** A part of the JSON that stands already, or a value whose JSON comes next. */
type Piece = { text: string } | { value: unknown };

/** What follows the bracket that opens it. */
function piecesOf(value: object): Piece[] {
  if (Array.isArray(value)) {
    const items = value.flatMap((item: unknown, i): Piece[] =>
      i === 0 ? [{ value: item }] : [{ text: ',' }, { value: item }],
    );
    return [...items, { text: ']' }];
  }
  const given = Object.entries(sorted(value)).filter(([, member]) => member !== undefined);
  const members = given.flatMap(([name, member], i): Piece[] => [
    { text: `${i === 0 ? '' : ','}${JSON.stringify(name)}:` },
    { value: member },
  ]);
  return [...members, { text: '}' }];
}
