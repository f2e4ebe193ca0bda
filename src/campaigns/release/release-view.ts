import { type Kysely, sql } from 'kysely';
import type { OwnReason } from '../../domain/approval';
import { isLive, type Phase } from '../../domain/campaign';
import { type GateReason, type Judged, type ReleaseOptions, stagesOf } from '../../domain/release';
import type { CampaignRecord } from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';
import { drawOf, FIRST_PLACE } from './release-rows';

/** How far a run's release is, as the campaign's detail shows it (docs/campaigns.md). */
export interface ReleaseView extends ReleaseOptions {
  /** Which stage has begun last, of how many; 0 before the first. */
  stage: number;
  of: number;
  /** When the next stage begins; null while one is being sent, at a closed gate, and after the last. */
  next: Date | 'manual' | null;
  judged: Judged[];
}

export async function readReleaseView(
  db: Kysely<CampaignTables>,
  { options, run }: Pick<CampaignRecord, 'options' | 'run'>,
): Promise<ReleaseView | undefined> {
  const { release } = options;
  if (!release) return undefined;
  const stored = run && (await readRelease(db, run.id));
  return {
    ...release,
    stage: stored?.stage ?? 0,
    of: stagesOf(release),
    next: run && isLive(run.phase) && run.control !== 'cancel' ? (stored?.next ?? null) : null,
    judged: stored?.judged ?? [],
  };
}

interface Stored {
  stage: number;
  next: Date | 'manual' | null;
  isClosed: boolean;
  judged: Judged[];
}

async function readRelease(db: Kysely<CampaignTables>, runId: string): Promise<Stored | undefined> {
  const { rows } = await sql<Omit<Stored, 'next'> & { isWaiting: boolean; nextAt: Date | null }>`
    select r.stage, r.closed_at is not null as "isClosed",
      coalesce(r.stage < r.stages and s.sent_at is not null, false) as "isWaiting", s.next_at as "nextAt",
      coalesce((select jsonb_agg(one order by j.stage, place) from run_stages j
        cross join lateral jsonb_array_elements(j.judged) with ordinality as e(one, place)
        where j.run_id = r.run_id), '[]') as judged
    from run_releases r left join run_stages s on s.run_id = r.run_id and s.stage = r.stage
    where r.run_id = ${runId}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { isWaiting, nextAt, ...known } = row;
  return { ...known, next: isWaiting && !known.isClosed ? (nextAt ?? 'manual') : null };
}

/** Why a campaign is paused, canceled or failed: the reason of its own pause while it lasts, otherwise the run's reason. */
export function reasonOf(
  run: { reason: string | null; own_reason: OwnReason | null } | undefined,
  phase: Phase,
): string | OwnReason | null {
  const isOwn = phase === 'paused' || phase === 'canceled';
  return (isOwn && run?.own_reason) || (run?.reason ?? null);
}

export interface ContactStage {
  /** 0 until the order is drawn. */
  stage: number;
  of: number;
  hasBegun: boolean;
  /** When it begins, as far as that is known: of the stage that follows the one that was sent. */
  beginsAt: Date | 'manual' | null;
  /** Set while a gate is closed. */
  gate: { closedAt: Date; reason: GateReason | null } | null;
}

/** Which stage a contact of a run is in, and what that stage waits for; undefined in a run without stages. */
export async function readContactStage(
  db: Kysely<CampaignTables>,
  { workspaceId, runId, contactId }: { workspaceId: string; runId: string; contactId: string },
): Promise<ContactStage | undefined> {
  const { rows } = await sql<{
    stage: number;
    begun: number;
    of: number;
    closedAt: Date | null;
    reason: OwnReason | null;
  }>`
    select r.stage as begun, r.stages as "of", r.closed_at as "closedAt", runs.own_reason as reason, coalesce((
        select min(s.stage) from run_stages s
        where s.run_id = r.run_id and s.upto >= ${drawOf(runId, sql`${contactId}::text`)} and s.upto > ${FIRST_PLACE}::uuid
      ), 0) as stage
    from run_releases r join runs on runs.id = r.run_id
    where r.run_id = ${runId} and r.workspace_id = ${workspaceId}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { stage, begun, of, closedAt, reason } = row;
  const isNext = stage > 0 && stage === begun + 1;
  return {
    stage,
    of,
    hasBegun: stage > 0 && stage <= begun,
    beginsAt: isNext ? ((await readRelease(db, runId))?.next ?? null) : null,
    gate: closedAt && { closedAt, reason: reason?.code === 'gate' ? reason : null },
  };
}
