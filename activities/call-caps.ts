import type { Kysely } from 'kysely';
import {
  type CallKey,
  type CallOpening,
  endRecipient,
  holdCall,
  withdrawCall,
} from '../src/campaigns/calls/calls';
import { releaseContacts, reserveContact } from '../src/campaigns/policy/contact-caps';
import type { RunPlan } from '../src/campaigns/runs/runs';
import type { CampaignTables } from '../src/campaigns/tables';
import { messageUid } from '../src/domain/ids';
import { capsOf, FREQUENCY_CAP } from '../src/domain/policy';

/** Of a call that another attempt has asked for meanwhile; whoever waits for this answer is told by that one. */
const ASK_AGAIN_MS = 1_000;

type Opened = Extract<CallOpening, { kind: 'open' }>;

/**
 * The workspace's caps before a call that was opened; undefined for one that may be placed. Each call counts, also
 * those to the same recipient. One that may have been placed already is asked for again whatever the caps say.
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

/** The service took no such call. */
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
