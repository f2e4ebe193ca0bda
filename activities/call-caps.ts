import type { Kysely } from 'kysely';
import {
  type CallKey,
  type CallOpening,
  endRecipient,
  holdCall,
  withdrawCall,
} from '../src/campaigns/calls/calls';
import type { CampaignTables } from '../src/campaigns/model/tables';
import { releaseContacts, reserveContact } from '../src/campaigns/policy/contact-caps';
import type { RunPlan } from '../src/campaigns/runs/runs';
import { messageUid } from '../src/domain/ids';
import { capsOf, FREQUENCY_CAP } from '../src/domain/policy';

/** Delay when another attempt has asked for the call meanwhile; that attempt's answer reaches the workflow too. */
const ASK_AGAIN_MS = 1_000;

type Opened = Extract<CallOpening, { kind: 'open' }>;

/**
 * Checks the workspace's contact caps for a call that was opened. Returns undefined when the call may be
 * placed. Each call counts, also several to the same recipient. A call that may have been placed already is
 * asked for again whatever the caps say, because otherwise its outcome stays unknown.
 */
export async function capCall(
  db: Kysely<CampaignTables>,
  run: RunPlan,
  call: CallKey,
  opening: Opened,
): Promise<{ kind: 'later'; waitMs: number } | { kind: 'over' } | undefined> {
  const { policy, class: ofRun } = run.options;
  if (capsOf(policy, 'voice', ofRun).length === 0) return undefined;
  const { workspaceId } = run;
  const { address, inDoubt, endsAt } = opening;
  const uid = uidOf(call);
  const place = await reserveContact(db, { workspaceId, channel: 'voice', address, uid, class: ofRun });
  if (place.kind === 'go' || inDoubt) return undefined;
  if (!(await withdrawCall(db, call))) return { kind: 'later', waitMs: ASK_AGAIN_MS };
  if (place.until.getTime() > endsAt) {
    await endRecipient(db, call, 'expired', FREQUENCY_CAP);
    return { kind: 'over' };
  }
  await holdCall(db, call, FREQUENCY_CAP, () => place.until);
  return { kind: 'later', waitMs: place.until.getTime() - Date.now() };
}

/** Gives the reserved contact back, because the service did not take the call. */
export async function releaseCall(
  db: Kysely<CampaignTables>,
  run: RunPlan,
  call: CallKey,
  { address, inDoubt }: Opened,
): Promise<void> {
  if (inDoubt || capsOf(run.options.policy, 'voice', run.options.class).length === 0) return;
  await releaseContacts(db, run.workspaceId, [{ uid: uidOf(call), address }]);
}

const uidOf = ({ runId, seq, attempt }: CallKey) => messageUid({ runId, channel: 'voice', seq }, attempt);
