import { type Kysely, sql } from 'kysely';
import type { Phase } from '../../domain/campaign';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';
import { type Counts, readCounts } from '../runs/ledger-counts';

/**
 * Phase changes of campaigns that are still to be reported. Triggers write the rows in the transaction of the
 * change (migration 0005). They stay until the reporter marks them as done.
 */
export interface PhaseChanges {
  /** The oldest changes, without campaigns that were just canceled, because their counts follow. */
  read(limit: number): Promise<PhaseChange[]>;
  /** The campaigns as they are now; their counts have moved on since the change. */
  describe(changes: readonly PhaseChange[]): Promise<Map<string, PhaseNews>>;
  done(ids: readonly string[]): Promise<void>;
}

export interface PhaseChange {
  id: string;
  workspaceId: string;
  type: `campaign.${Phase}`;
  at: Date;
  /** The campaign's id. */
  subjectId: string;
}

export type PhaseNews = { id: string; name: string; phase: string; counts: Counts };

export function createPhaseChanges({ db }: { db: Kysely<CampaignTables> }): PhaseChanges {
  return {
    async read(limit) {
      const rows = await db
        .selectFrom('campaign_phase_changes')
        .selectAll()
        .where(({ not, exists }) => not(exists(countsFollow)))
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map((row) => ({
        id: `${ID_PREFIX}${row.id}`,
        workspaceId: row.workspace_id,
        type: `campaign.${row.phase}`,
        at: row.at,
        subjectId: row.campaign_id,
      }));
    },

    async describe(changes) {
      const campaignIds = [...new Set(changes.map(({ subjectId }) => subjectId))];
      const rows = await db
        .selectFrom('campaigns')
        .select(['id', 'name', 'current_run'])
        .where('id', '=', sql<string>`any(${campaignIds}::text[])`)
        .execute();
      const campaigns = new Map<string, Omit<PhaseNews, 'phase'>>();
      for (const { id, name, current_run: runId } of rows) {
        campaigns.set(id, { id, name, counts: runId === null ? {} : await readCounts(db, runId) });
      }
      return new Map(
        changes.flatMap(({ id, type, subjectId }) => {
          const campaign = campaigns.get(subjectId);
          return campaign ? [[id, { ...campaign, phase: type.slice('campaign.'.length) }]] : [];
        }),
      );
    },

    async done(ids) {
      const numbers = ids.map((id) => Number(id.slice(ID_PREFIX.length)));
      await sql`delete from campaign_phase_changes where id = any(${numbers}::bigint[])`.execute(db);
    },
  };
}

/**
 * A campaign is `canceled` at once, and its counts follow. The change is reported when its run has closed, or
 * after the time within which that is promised.
 */
const countsFollow = sql`(
  select from campaigns c join runs r on r.id = c.current_run
  where c.id = campaign_phase_changes.campaign_id and campaign_phase_changes.phase = 'canceled'
    and r.control = 'cancel' and r.phase in ('planning', 'running', 'finishing')
    and campaign_phase_changes.at > clock_timestamp() - ${LIMITS.canceledCountsSeconds} * interval '1 second')`;

const ID_PREFIX = 'phase-';
