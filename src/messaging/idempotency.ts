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
import type { MessagingTables } from './tables';

/**
 * Calls with an Idempotency-Key (api.md 1), which are made once however often they are repeated.
 *
 * A row is claimed before the call does anything, and holds its answer afterwards. Killed in between, the
 * claim ends with its lease, and the next repetition does the call again. It must not create a second
 * thing then, and we cannot know how far the first attempt came; so the call's ids and secrets are not
 * random but derived from a seed in the row (`Claim.generator`). The second attempt makes the same ones, finds
 * by their id what the first has made, and answers the same. This holds as well for two attempts that run
 * side by side, because one was taken for dead too early: a lease is a matter of politeness here, not of
 * safety.
 *
 * A call that steers what is there makes nothing that would be found by its id. It takes a note (`Claim.note`) in
 * the transaction that does its work, and the second attempt finds that.
 *
 * Answers may hold secrets that are told once. They are kept encrypted under a key that comes from the
 * Idempotency-Key, of which the database has a hash; and so does everything else that a row tells: the
 * payload's hash, which may be that of a password, and what is derived from the seed. Whoever reads the
 * database without knowing the key learns nothing. Keys should be random, such as a UUID. Where an answer
 * holds secrets (`secret`), those that are not are made expensive to guess.
 *
 * Not kept: answers that say no. A client error may be repeated freely, with the same payload or another
 * one, and a failure of ours or a refusal for the moment (5xx, 429) is tried again, by the same ids.
 */
export interface Idempotency {
  /**
   * Either the first answer, or a claim that its holder settles. Fails with `idempotency_key_reused` for
   * another payload and `idempotency_in_progress` while an attempt runs.
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
   * SQL, for the transaction that does the call's work, or the statement that begins it. `attempt` is above 1 when an
   * earlier attempt has done so, at `since` by the database's clock.
   */
  note: RawBuilder<{ attempt: number; since: string }>;
  /** Keeps the answer for those who repeat the call, or with an answer that says no, lets them try again. */
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
            else if (isForgettable(answer.status, claimed.runs)) await forget(db, row);
            else await letGo(db, row, now());
          },
        },
      };
    },
  };
}

/** Nothing was made under this key: it was refused at the first attempt, and not for the moment. */
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
 * A row beside the call's own, under a name that follows from its seed: a call that is forgotten and made anew under
 * the same key takes another one. `now()` and not our clock, since it is compared with what the database wrote.
 */
function noteOf({ workspaceId }: RowKey, seed: Buffer): Claim['note'] {
  const name = createHmac('sha256', seed).update('note').digest('base64url');
  return sql`
    insert into idempotency_keys as k (workspace_id, key_hash, payload_hash, seed, lease_until, created_at)
    values (${workspaceId}, ${name}, '', '', now(), now())
    on conflict (workspace_id, key_hash) do update set runs = k.runs + 1
    returning k.runs as attempt, k.created_at::text as since`;
}

/** `undefined` when the row is somebody else's or has its answer. */
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
    throw new DomainError('idempotency_key_reused', 'This Idempotency-Key was used with another payload');
  }
  if (found?.answer) return found.answer;
  // Also when the row was let go between our two statements: the repetition will claim it.
  throw new DomainError(
    'idempotency_in_progress',
    'The first call with this Idempotency-Key is still running',
    { retryAfterSeconds: 1 },
  );
}

/** The first answer stays: of two attempts side by side the second has the same to say. */
async function storeAnswer(db: Kysely<MessagingTables>, row: RowKey, answer: string): Promise<void> {
  await db
    .updateTable('idempotency_keys')
    .set({ answer })
    .where('workspace_id', '=', row.workspaceId)
    .where('key_hash', '=', row.keyHash)
    .where('answer', 'is', null)
    .execute();
}

async function forget(db: Kysely<MessagingTables>, { workspaceId, keyHash }: RowKey): Promise<void> {
  await sql`
    delete from idempotency_keys
    where workspace_id = ${workspaceId} and key_hash = ${keyHash} and answer is null`.execute(db);
}

/** For the next attempt, which will know what this one may have made. */
async function letGo(
  db: Kysely<MessagingTables>,
  { workspaceId, keyHash }: RowKey,
  nowMs: number,
): Promise<void> {
  await sql`
    update idempotency_keys set lease_until = ${new Date(nowMs).toISOString()}::timestamptz
    where workspace_id = ${workspaceId} and key_hash = ${keyHash} and answer is null`.execute(db);
}

/** One secret each for finding the row, its answer, its payload and its seed. */
interface Keys {
  lookup: Buffer;
  cipher: Buffer;
  payload: Buffer;
  generator: Buffer;
}

const KEY_BYTES = 32;

/** 32 MiB and some 60 ms a guess; paid only where answers hold secrets. */
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

/** Objects with their keys in order: a client that writes them in another order means the same. */
function canonical(payload: unknown): string {
  return JSON.stringify(payload, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
