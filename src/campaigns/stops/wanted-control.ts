import { type RawBuilder, sql } from 'kysely';
import type { Control } from '../../domain/campaign';
import { isStopped } from './stops';

/**
 * SQL: what is wanted of a run, whose row the statement calls `runs` or what is given. While its workspace is stopped, a
 * run that is to go on is wanted as if it were paused; what its owner wants stays as it is in its row, and holds again
 * when the stop ends.
 */
export const wantedControl = (run: RawBuilder<unknown> = sql`runs`): RawBuilder<Control> => sql<Control>`
  case when ${run}.control = 'run' and ${isStopped(sql`${run}.workspace_id`)} then 'pause' else ${run}.control end`;
