import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import { DomainError } from '../../domain/errors';
import { notInWorkspace } from '../../domain/not-in-workspace';
import type { MessagingTables } from '../model/tables';
import type { Sealing } from './sealing';
import { hashSecret } from './secrets';

/** One-time codes of a user as the second factor of a log-in (api.md 17). */
export interface SecondFactor {
  /** A new secret, which counts once it is confirmed. Fails with `totp_enabled` while another one counts. */
  begin(user: FactorUser): Promise<{ secret: string; otpauthUrl: string }>;
  /** Confirms it with a code, and returns the recovery codes, which are never shown again. */
  confirm(user: FactorUser, code: string): Promise<string[]>;
  /** Turns it off for a user of this workspace. Fails with `not_found` for any other. */
  remove(user: FactorUser): Promise<void>;
  /** Judges a log-in with the right password; a code that was right is used up. */
  verify(userId: string, code: string | undefined): Promise<FactorVerdict>;
}

/** `off`: the user has no codes, and needs none. */
export type FactorVerdict = 'off' | 'totp' | 'recovery_code' | 'missing' | 'wrong';

export interface FactorUser {
  workspaceId: string;
  userId: string;
}

export interface SecondFactorDeps {
  db: Kysely<MessagingTables>;
  now: () => number;
  sealing: Sealing;
  /** Called when sessions may be allowed more or less than before. */
  onChanged(): void;
}

export function createSecondFactor({ db, now, sealing, onChanged }: SecondFactorDeps): SecondFactor {
  return {
    async begin({ workspaceId, userId }) {
      const { email } = await requireUser(db, workspaceId, userId);
      const secret = newTotpSecret();
      const row = {
        secret: sealing.seal(secret, aboutOf(userId)),
        key_id: sealing.keyId,
        created_at: new Date(now()),
        last_step: 0,
      };
      const stored = await db
        .insertInto('totp_secrets')
        .values({ user_id: userId, workspace_id: workspaceId, confirmed_at: null, ...row })
        .onConflict((conflict) =>
          conflict.column('user_id').doUpdateSet(row).where('totp_secrets.confirmed_at', 'is', null),
        )
        .returning('user_id')
        .executeTakeFirst();
      if (!stored) throw new DomainError('totp_enabled', 'One-time codes are on; turn them off first');
      return { secret, otpauthUrl: otpauthUrl(secret, email) };
    },

    async confirm({ userId }, code) {
      const codes = newRecoveryCodes();
      await db.transaction().execute(async (tx) => {
        const stored = await lock(tx, userId);
        if (!stored || stored.confirmed_at) {
          throw new DomainError(
            'totp_not_begun',
            'No secret waits to be confirmed; ask for one first (POST /api/session/totp with an empty object)',
          );
        }
        const step = stepOf(openSecret(sealing, userId, stored), code, stored.last_step, now());
        if (step === undefined) throw wrongCode();
        const confirmed = { confirmed_at: new Date(now()), last_step: step };
        await tx.updateTable('totp_secrets').set(confirmed).where('user_id', '=', userId).execute();
        await tx.deleteFrom('totp_recovery_codes').where('user_id', '=', userId).execute();
        const hashes = codes.map((each) => ({ user_id: userId, code_hash: hashSecret(plainCode(each)) }));
        await tx.insertInto('totp_recovery_codes').values(hashes).execute();
      });
      onChanged();
      return codes;
    },

    async remove({ workspaceId, userId }) {
      await requireUser(db, workspaceId, userId);
      await db.transaction().execute(async (tx) => {
        await tx.deleteFrom('totp_secrets').where('user_id', '=', userId).execute();
        await tx.deleteFrom('totp_recovery_codes').where('user_id', '=', userId).execute();
      });
      onChanged();
    },

    verify: (userId, code) => db.transaction().execute((tx) => verify(tx, { sealing, now }, userId, code)),
  };
}

/** The row is locked, so that of two log-ins with one code one is refused. */
async function verify(
  tx: Transaction<MessagingTables>,
  { sealing, now }: Pick<SecondFactorDeps, 'sealing' | 'now'>,
  userId: string,
  code: string | undefined,
): Promise<FactorVerdict> {
  const stored = await lock(tx, userId);
  if (!stored?.confirmed_at) return 'off';
  if (code === undefined || code === '') return 'missing';
  const step = stepIfReadable({ sealing, now }, userId, stored, code.trim());
  if (step !== undefined) {
    await tx.updateTable('totp_secrets').set({ last_step: step }).where('user_id', '=', userId).execute();
    return 'totp';
  }
  const used = await tx
    .deleteFrom('totp_recovery_codes')
    .where('user_id', '=', userId)
    .where('code_hash', '=', hashSecret(plainCode(code)))
    .returning('code_hash')
    .executeTakeFirst();
  return used ? 'recovery_code' : 'wrong';
}

/** A recovery code works even where the key that opens the secret is lost. */
function stepIfReadable(
  { sealing, now }: Pick<SecondFactorDeps, 'sealing' | 'now'>,
  userId: string,
  stored: StoredSecret,
  code: string,
): number | undefined {
  try {
    return stepOf(openSecret(sealing, userId, stored), code, stored.last_step, now());
  } catch {
    return undefined;
  }
}

interface StoredSecret {
  secret: string;
  key_id: string;
  last_step: number;
}

/**
 * Seals every secret with the newest key, so that an operator can take an older one away. Returns the users whose
 * secret cannot be opened; their log-ins need a recovery code, or an administrator who turns their codes off.
 */
export async function sealTotpAnew(db: Kysely<MessagingTables>, sealing: Sealing): Promise<string[]> {
  const rows = await db
    .selectFrom('totp_secrets')
    .select(['user_id', 'secret', 'key_id'])
    .where('key_id', '!=', sealing.keyId)
    .execute();
  const unreadable: string[] = [];
  for (const { user_id, ...stored } of rows) {
    try {
      const secret = sealing.seal(openSecret(sealing, user_id, stored), aboutOf(user_id));
      await db
        .updateTable('totp_secrets')
        .set({ secret, key_id: sealing.keyId })
        .where('user_id', '=', user_id)
        .where('secret', '=', stored.secret)
        .execute();
    } catch {
      unreadable.push(user_id);
    }
  }
  return unreadable;
}

const aboutOf = (userId: string) => `one-time code secret of ${userId}`;

function openSecret(
  sealing: Sealing,
  userId: string,
  { secret, key_id }: { secret: string; key_id: string },
) {
  return sealing.open(secret, key_id, aboutOf(userId));
}

function lock(tx: Transaction<MessagingTables>, userId: string) {
  return tx
    .selectFrom('totp_secrets')
    .select(['secret', 'key_id', 'confirmed_at', 'last_step'])
    .where('user_id', '=', userId)
    .forUpdate()
    .executeTakeFirst();
}

async function requireUser(db: Kysely<MessagingTables>, workspaceId: string, userId: string) {
  const user = await db
    .selectFrom('users')
    .select('email')
    .where('id', '=', userId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  if (!user) throw notInWorkspace(`user ${userId}`, '/api/admin/users');
  return user;
}

function wrongCode(): DomainError {
  const message = 'This is not the code of the moment; check the clock of the device';
  return new DomainError('invalid_request', `code: ${message}`, {
    errors: [{ path: 'code', code: 'wrong_code', message }],
  });
}

/**
 * One-time codes by time (RFC 6238), with the parameters that every authenticator app takes: SHA-1, six digits,
 * thirty seconds.
 */
const STEP_MS = 30_000;
const DIGITS = 6;
/** 160 bits, as RFC 4226 recommends. */
const SECRET_BYTES = 20;

const newTotpSecret = (): string => base32(randomBytes(SECRET_BYTES));

/**
 * The step of the code, if it is the current one, the one before or the one after, because clocks differ, and if
 * it comes after the newest that was used. Each code is good for one use so.
 */
function stepOf(secret: string, code: string, lastStep: number, nowMs: number): number | undefined {
  const current = Math.floor(nowMs / STEP_MS);
  const given = Buffer.from(code);
  // All three are compared, so that the duration does not reveal which one matched.
  const matching = [current - 1, current, current + 1].filter((step) => {
    const expected = Buffer.from(totpCode(secret, step));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  return matching.find((step) => step > lastStep);
}

/** The code of a step: HOTP (RFC 4226) of its number. */
export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = (mac[mac.length - 1] as number) & 0xf;
  const number = (mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS;
  return String(number).padStart(DIGITS, '0');
}

/** What an authenticator app reads from a QR code. */
function otpauthUrl(secret: string, email: string): string {
  const query = new URLSearchParams({
    secret,
    issuer: 'Fanfare',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  });
  return `otpauth://totp/Fanfare:${encodeURIComponent(email)}?${query}`;
}

/** 28 letters of five bits. */
const RECOVERY_BYTES = 18;
const RECOVERY_CODES = 10;

/** Each stands in for a code once. 140 random bits cannot be guessed, so that a plain hash protects them. */
function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () =>
    (base32(randomBytes(RECOVERY_BYTES)).toLowerCase().match(/.{4}/g) as string[]).join('-'),
  );
}

/** As it is hashed: without what people put in or leave out when they type it. */
const plainCode = (code: string): string => code.replace(/[\s-]/g, '').toLowerCase();

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five, 2)]).join('');
}

function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
