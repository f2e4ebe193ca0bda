import { type Kysely, sql } from 'kysely';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { unaccompanied } from '../../storage/with-first-change';
import type { MessagingTables } from '../tables';
import { hashSecret } from './secrets';

/**
 * Counts failed log-ins per subject: a user, a client, an address. The counts are in the database, so that a
 * second process or a restart gives no second set of attempts.
 *
 * Checking a password takes long enough for many guesses to run side by side. Attempts with the same subject
 * therefore take turns within a process, and each sees the failures before it. Counting attempts when they
 * begin would turn away people of one office who log in at the same moment.
 */
export interface AttemptLimit {
  /**
   * Returns what `prove` returns; `undefined` is a failure. Throws `too_many_attempts` without calling it when
   * one of the subjects has used up its attempts.
   */
  attempt<Proof>(
    subjects: readonly Subject[],
    prove: () => Promise<Proof | undefined>,
  ): Promise<Proof | undefined>;
}

export interface Subject {
  /** The counted subject; stored as a hash. */
  name: string;
  /** Failures within the window after which no attempt is allowed. */
  failuresMax: number;
}

/** Whom a failed log-in counts for. */
export function loginSubjects(email: string, address: string): Subject[] {
  return [
    { name: `user ${email.toLowerCase()}`, failuresMax: LIMITS.loginFailuresMax },
    { name: `users from ${address}`, failuresMax: LIMITS.loginFailuresMax },
  ];
}

const WINDOW_MS = LIMITS.loginFailureWindowMinutes * 60_000;

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
          await refuseIfUsedUp(db, counted, now());
          const proof = await prove();
          // What a call changes is not that it failed.
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

async function refuseIfUsedUp(
  db: Kysely<MessagingTables>,
  counted: readonly Counted[],
  nowMs: number,
): Promise<void> {
  const failures = await db
    .selectFrom('failed_attempts')
    .select(['subject_hash', 'count', 'since'])
    .where(
      'subject_hash',
      'in',
      counted.map(({ hash }) => hash),
    )
    .where('since', '>', new Date(nowMs - WINDOW_MS))
    .execute();
  const waits = failures.flatMap(({ subject_hash, count, since }) => {
    const failuresMax = counted.find(({ hash }) => hash === subject_hash)?.failuresMax ?? 0;
    return count >= failuresMax ? [since.getTime() + WINDOW_MS - nowMs] : [];
  });
  if (waits.length === 0) return;
  throw new DomainError('too_many_attempts', 'Too many failed attempts; wait and try again', {
    retryAfterSeconds: Math.ceil(Math.max(...waits) / 1_000),
  });
}

/** The window begins with its first failure. */
async function countFailure(
  db: Kysely<MessagingTables>,
  counted: readonly Counted[],
  nowMs: number,
): Promise<void> {
  const at = new Date(nowMs).toISOString();
  const windowBegan = new Date(nowMs - WINDOW_MS).toISOString();
  await sql`
    insert into failed_attempts as f (subject_hash, count, since)
    select hash, 1, ${at}::timestamptz
    from unnest(${counted.map(({ hash }) => hash)}::text[]) with ordinality as given (hash, position)
    order by position
    on conflict (subject_hash) do update set
      count = case when f.since <= ${windowBegan}::timestamptz then 1 else f.count + 1 end,
      since = case when f.since <= ${windowBegan}::timestamptz then excluded.since else f.since end`.execute(
    db,
  );
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
