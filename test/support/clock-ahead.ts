import { noteDatabaseClock } from '../../src/domain/database-clock';

/** Lets this process's clock be ahead of the database's (below 0: behind it) for the time of the work, as its next sign of life finds it. */
export async function withClockAhead<T>(aheadMs: number, work: () => Promise<T>): Promise<T> {
  const now = Date.now.bind(Date);
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
  try {
    noteDatabaseClock({ at: new Date(now()), askedAt: Date.now(), answeredAt: Date.now() });
    return await work();
  } finally {
    clock.mockRestore();
    noteDatabaseClock({ at: new Date(now()), askedAt: now(), answeredAt: now() });
  }
}
