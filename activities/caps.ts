import type { Kysely } from 'kysely';
import {
  type CallKey,
  type CallOpening,
  endRecipient,
  holdCall,
  withdrawCall,
} from '../src/campaigns/calls/calls';
import { retryTransaction } from '../src/campaigns/model/retry-transaction';
import type { CampaignTables } from '../src/campaigns/model/tables';
import {
  type Place,
  releaseContacts,
  reserveContact,
  reserveContacts,
} from '../src/campaigns/policy/contact-caps';
import { type OpenPage, type PageRecipient, withdrawOffer } from '../src/campaigns/runs/ledger';
import type { RunPlan } from '../src/campaigns/runs/runs';
import type { RecipientResult } from '../src/campaigns/runs/write-results';
import { databaseNow } from '../src/domain/database-clock';
import { type DeliveryRule, expiryOf } from '../src/domain/delivery-rule';
import { messageUid } from '../src/domain/ids';
import { capsOf, FREQUENCY_CAP } from '../src/domain/policy';

/**
 * Applies the workspace's contact caps to one page (src/campaigns/policy/contact-caps.ts). Without caps it
 * queries nothing.
 */
export function pageCaps(
  db: Kysely<CampaignTables>,
  run: RunPlan,
  page: OpenPage,
  { rule, uidOf }: { rule: DeliveryRule; uidOf(recipient: PageRecipient): string },
) {
  const { workspaceId } = run;
  const caps = capsOf(run.options.policy, page.channel, run.options.class);
  const placeOf = (recipient: PageRecipient): Place => ({
    uid: uidOf(recipient),
    // Persons who were erased are left out before (classify-results.ts).
    address: recipient.address ?? '',
  });

  return {
    /**
     * Splits the recipients into those below their caps and results for the others. A wait does not count as an
     * attempt.
     */
    async part(recipients: readonly PageRecipient[]) {
      const waits = await reserveContacts(
        db,
        { workspaceId, channel: page.channel, caps },
        recipients.map(placeOf),
      );
      const ready: PageRecipient[] = [];
      const held: RecipientResult[] = [];
      for (const recipient of recipients) {
        const until = waits.get(uidOf(recipient));
        if (until) held.push(heldResult(recipient, until, rule));
        else ready.push(recipient);
      }
      return { ready, held };
    },

    /** Returns the places of unsent recipients within the transaction that records the chunk. */
    release(recipients: readonly PageRecipient[], results: readonly RecipientResult[]) {
      const unsent = new Set(results.filter(certainlyUnsent).map(({ seq }) => seq));
      const places = recipients.filter(({ seq }) => unsent.has(seq)).map(placeOf);
      if (!caps.length || !places.length) return undefined;
      return (tx: Kysely<CampaignTables>) => releaseContacts(tx, workspaceId, places);
    },

    /** Undoes the offer of the chunk, because no message of it has left. */
    async withdraw(recipients: readonly PageRecipient[]): Promise<void> {
      if (!caps.length) return withdrawOffer(db, page);
      const offered = page.offered;
      await db
        .transaction()
        .execute(async (tx) => {
          await withdrawOffer(tx, page);
          await releaseContacts(tx, workspaceId, recipients.map(placeOf));
        })
        .catch((error: unknown) => {
          page.offered = offered;
          throw error;
        });
    },
  };
}

function heldResult(
  { seq, dueAt, attempt }: PageRecipient,
  until: Date,
  rule: DeliveryRule,
): RecipientResult {
  const held = { seq, attempt, code: FREQUENCY_CAP, attempted: false };
  return until.getTime() > expiryOf(rule, dueAt)
    ? { ...held, state: 'expired' }
    : { ...held, state: 'waiting', retryAt: until };
}

function certainlyUnsent({ state, code }: RecipientResult): boolean {
  return state !== 'accepted' && state !== 'unknown' && code !== 'answer_lost';
}

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
  if (!hasCaps(run)) return undefined;
  const { workspaceId } = run;
  const { address, inDoubt, endsAt } = opening;
  const uid = uidOf(call);
  const place = await reserveContact(db, {
    workspaceId,
    channel: 'voice',
    address,
    uid,
    class: run.options.class,
  });
  if (place.kind === 'go' || inDoubt) return undefined;
  if (!(await withdrawCall(db, call))) return { kind: 'later', waitMs: ASK_AGAIN_MS };
  if (place.until.getTime() > endsAt) {
    await endRecipient(db, call, 'expired', FREQUENCY_CAP);
    return { kind: 'over' };
  }
  await holdCall(db, call, FREQUENCY_CAP, () => place.until);
  return { kind: 'later', waitMs: place.until.getTime() - databaseNow() };
}

/** Gives the reserved contact back, because the service did not take the call. */
export async function releaseCall(
  db: Kysely<CampaignTables>,
  run: RunPlan,
  call: CallKey,
  { address, inDoubt }: Opened,
): Promise<void> {
  if (inDoubt || !hasCaps(run)) return;
  await releaseContacts(db, run.workspaceId, [{ uid: uidOf(call), address }]);
}

/**
 * Takes a call back that the service did not take for now, with its place: its recipient may be canceled or expire before
 * it is asked for again. Both at once, so that an attempt which asks for the call after this one takes a new place.
 */
export async function takeCallBack(
  db: Kysely<CampaignTables>,
  run: RunPlan,
  call: CallKey,
  opening: Opened,
): Promise<void> {
  if (opening.inDoubt) return;
  if (!hasCaps(run)) return void (await withdrawCall(db, call));
  await retryTransaction(db, async (tx) => {
    if (await withdrawCall(tx, call)) await releaseCall(tx, run, call, opening);
  });
}

/** Gives the place back of a call that the service says it never had. */
export async function releaseAbsentCall(
  db: Kysely<CampaignTables>,
  run: RunPlan,
  call: CallKey,
): Promise<void> {
  if (!hasCaps(run)) return;
  const recipient = await db
    .selectFrom('recipients')
    .select('address')
    .where('run_id', '=', call.runId)
    .where('channel', '=', 'voice')
    .where('seq', '=', call.seq)
    .executeTakeFirst();
  const address = recipient?.address ?? null;
  if (address !== null) await releaseContacts(db, run.workspaceId, [{ uid: uidOf(call), address }]);
}

const hasCaps = ({ options: { policy, class: ofRun } }: RunPlan) => capsOf(policy, 'voice', ofRun).length > 0;

const uidOf = ({ runId, seq, attempt }: CallKey) => messageUid({ runId, channel: 'voice', seq }, attempt);
