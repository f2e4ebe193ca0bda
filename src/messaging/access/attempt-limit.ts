import { type Kysely, sql } from 'kysely';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { unaccompanied } from '../../storage/with-first-change';
import type { MessagingTables } from '../model/tables';
import { hashSecret } from './secrets';

/**
 * Counts failed log-ins per subject: a user at an address, a user, a client at an address, an address (api.md 17).
 * The counts are in the database, so that a second process or a restart gives no second set of attempts.
 *
 * A subject that has used up its attempts waits a minute, and after each further failure twice as long as before,
 * up to the length of the window. It starts anew a window after its last wait.
 *
 * Checking a password takes long enough for many guesses to run side by side. Attempts with the same subject
 * therefore take turns within a process, and each sees the failures before it. Counting attempts when they
 * begin would turn away people of one office who log in at the same moment.
 */
export interface AttemptLimit {
  /**
   * Returns what `prove` returns; `undefined` is a failure. Throws `too_many_attempts` without calling it when
   * one of the subjects has to wait.
   */
  attempt<Proof>(
    subjects: readonly Subject[],
    prove: () => Promise<Proof | undefined>,
  ): Promise<Proof | undefined>;
}

export interface Subject {
  /** The counted subject; stored as a hash. */
  name: string;
  /** With this many failures within the window, the subject has to wait. */
  failuresMax: number;
}

const WINDOW_MS = LIMITS.loginFailureWindowMinutes * 60_000;

/**
 * Whom a failed log-in counts for. A stranger who guesses at one user's password is stopped at their own address,
 * so that the user can still log in from elsewhere; the bound for the user alone is against many addresses.
 */
export function loginSubjects(email: string, address: string): Subject[] {
  const user = `user ${email.toLowerCase()}`;
  return [
    { name: `${user} from ${address}`, failuresMax: LIMITS.loginFailuresMax },
    { name: user, failuresMax: LIMITS.loginFailuresPerUserMax },
    { name: `users from ${address}`, failuresMax: LIMITS.loginFailuresPerAddressMax },
  ];
}

export function createAttemptLimit(db: Kysely<MessagingTables>, now: () => number): AttemptLimit {
  const turns = createTurns();
  return {
    attempt: (subjects, prove) =>
      turns.take(
        subjects.map(({ name }) => name),
        async () => {
          // One order everywhere, so that two processes counting the same two subjects cannot deadlock.
          const counted = subjects
            .map(({ name, failuresMax }) => ({ hash: hashSecret(name), failuresMax }))
            .sort((a, b) => (a.hash < b.hash ? -1 : 1));
          await refuseWhileBlocked(db, counted, now());
          const proof = await prove();
          // Counted outside the call's audited transaction, because a failed attempt is no change of the
          // call.
          if (proof === undefined) await unaccompanied(() => countFailure(db, counted, now()));
          return proof;
        },
      ),
  };
}

interface Counted {
  hash: string;
  failuresMax: number;
}

async function refuseWhileBlocked(
  db: Kysely<MessagingTables>,
  counted: readonly Counted[],
  nowMs: number,
): Promise<void> {
  const blocked = await db
    .selectFrom('failed_attempts')
    .select('blocked_until')
    .where(
      'subject_hash',
      'in',
      counted.map(({ hash }) => hash),
    )
    .where('blocked_until', '>', new Date(nowMs))
    .execute();
  const waits = blocked.map(({ blocked_until }) => (blocked_until?.getTime() ?? nowMs) - nowMs);
  if (waits.length === 0) return;
  throw new DomainError('too_many_attempts', 'Too many failed attempts; wait and try again', {
    retryAfterSeconds: Math.ceil(Math.max(...waits) / 1_000),
  });
}

/** The window begins with its first failure, and lasts on while the subject is blocked again and again. */
async function countFailure(
  db: Kysely<MessagingTables>,
  counted: readonly Counted[],
  nowMs: number,
): Promise<void> {
  const at = sql`${new Date(nowMs).toISOString()}::timestamptz`;
  const windowBegan = sql`${new Date(nowMs - WINDOW_MS).toISOString()}::timestamptz`;
  const isOver = sql`greatest(f.since, f.blocked_until) <= ${windowBegan}`;
  await sql`
    insert into failed_attempts as f (subject_hash, count, since)
    select hash, 1, ${at}
    from unnest(${counted.map(({ hash }) => hash)}::text[]) with ordinality as given (hash, position)
    order by position
    on conflict (subject_hash) do update set
      count = case when ${isOver} then 1 else f.count + 1 end,
      since = case when ${isOver} then excluded.since else f.since end`.execute(db);
  await sql`
    update failed_attempts as f set blocked_until = ${at} + least(
      interval '1 second' * ${LIMITS.loginWaitSecondsMax},
      interval '1 second' * ${LIMITS.loginWaitSecondsMin} * power(2, least(f.count - given.most, 10)))
    from unnest(
      ${counted.map(({ hash }) => hash)}::text[],
      ${counted.map(({ failuresMax }) => failuresMax)}::int[]) as given (hash, most)
    where f.subject_hash = given.hash and f.count >= given.most`.execute(db);
}

/** Work with a common name runs one after the other, in the order it came. */
function createTurns(): { take<T>(names: string[], work: () => Promise<T>): Promise<T> } {
  const last = new Map<string, Promise<unknown>>();
  return {
    take(names, work) {
      // All names are taken at once, so that no two pieces of work can wait for each other.
      const mine = Promise.all(names.map((name) => last.get(name))).then(work);
      const done = mine.catch(() => undefined);
      for (const name of names) last.set(name, done);
      void done.then(() => {
        for (const name of names) if (last.get(name) === done) last.delete(name);
      });
      return mine;
    },
  };
}
