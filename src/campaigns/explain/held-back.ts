import type { Kysely } from 'kysely';
import type { GateReason } from '../../domain/release';
import type { Wait } from '../../domain/wait-reasons';
import type { CampaignTables } from '../model/tables';
import { readContactStage } from '../release/release-view';
import { readStop } from '../stops/stops';
import type { RecipientFacts } from './recipient-facts';

/** Looks for one reason by which a whole workspace, campaign or stage is held back. */
type Lookup = (db: Kysely<CampaignTables>, facts: RecipientFacts) => Promise<Wait[]>;

/**
 * What holds a recipient back whatever its own hour is, one look-up for each reason. Their sentences and their priority
 * are in domain/wait-reasons.ts.
 */
const LOOKUPS: readonly Lookup[] = [stoppedWorkspace, pausedOrStaged];

export async function heldBack(db: Kysely<CampaignTables>, facts: RecipientFacts): Promise<Wait[]> {
  const found = await Promise.all(LOOKUPS.map((lookUp) => lookUp(db, facts)));
  return found.flat();
}

async function stoppedWorkspace(db: Kysely<CampaignTables>, { run }: RecipientFacts): Promise<Wait[]> {
  const stop = await readStop(db, run.workspaceId);
  return stop ? [{ why: 'stopped', reason: stop.reason }] : [];
}

/** A run of a workspace that is stopped is read as paused (runs.ts); the stop is named before the pause. */
async function pausedOrStaged(
  db: Kysely<CampaignTables>,
  { run, view, ownReason }: RecipientFacts,
): Promise<Wait[]> {
  const { workspaceId, runId } = run;
  const stage =
    run.options.release && (await readContactStage(db, { workspaceId, runId, contactId: view.contactId }));
  // A gate that closes pauses its campaign: the gate is named, because the owner did not pause.
  const gate = stage?.gate?.reason;
  const waits: Wait[] = [];
  if (gate) waits.push({ why: 'gate', reason: sentenceOf(gate) });
  else if (run.control === 'pause') {
    waits.push({ why: 'paused', approval: ownReason?.code === 'approval_required' ? ownReason : undefined });
  }
  if (stage && !stage.hasBegun) {
    waits.push({ why: 'stage', at: stage.beginsAt instanceof Date ? stage.beginsAt : undefined });
  }
  return waits;
}

const sentenceOf = ({ metric, value, above }: GateReason): string =>
  `${metric} was ${percent(value)}, above ${percent(above)}`;

const percent = (share: number): string => `${Math.round(share * 1_000) / 10} %`;
