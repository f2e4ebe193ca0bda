import { type RawBuilder, sql } from 'kysely';
import { PHASES, type Phase, type Status, statusOf } from '../../domain/campaign';

/**
 * `phaseOf` and `statusOf` of domain/campaign.ts as SQL over `campaigns c left join runs r`, because lists
 * filter and sort by them. A test compares the two.
 */
export const phaseExpression: RawBuilder<Phase> = sql<Phase>`(case
  when c.stage = 'draft' then 'draft'
  when c.stage = 'held' then 'paused'
  when c.stage = 'canceled' then case when r.phase in ('planning', 'running', 'finishing') and r.control <> 'cancel' then r.phase else 'canceled' end
  when r.id is null then 'scheduled'
  when r.control = 'pause' and r.phase in ('planning', 'running', 'finishing') then 'paused'
  when c.stage = 'scheduled' then 'scheduled'
  when r.control = 'cancel' and r.phase in ('planning', 'running', 'finishing') then 'canceled'
  else r.phase end)`;

export const statusExpression: RawBuilder<Status> = sql<Status>`(case ${phaseExpression} ${sql.join(
  PHASES.map((phase) => sql`when ${sql.lit(phase)} then ${sql.lit(statusOf(phase))}`),
  sql` `,
)} end)`;
