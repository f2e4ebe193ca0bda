import type { Kysely, Transaction } from 'kysely';
import type { CampaignReferences } from '../../contracts/campaign-references';
import type { CampaignBody } from '../../contracts/campaigns';
import type { ValidationIssue } from '../../domain/validation-issue';
import { newId } from '../../storage/new-id';
import { approvalWarning, excessOf } from '../approval/approval-rule';
import { creationWarnings } from '../audience/campaign-warnings';
import type { createDryRuns } from '../audience/dry-run';
import type { InlineRecipients } from '../contacts/inline-recipients';
import {
  type CampaignContent,
  type CampaignRecord,
  findCampaign,
  lockCampaign,
  readCampaign,
  summaryOf,
} from '../model/campaign-record';
import type { IdempotencyMark, SenderRule, TemplateLookup } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { type createContactRoom, requireRoom } from '../model/workspace-room';
import { readPolicy } from '../policy/policy';
import { launchAgain } from './campaign-actions';
import { checkFound, lookUpTemplates, requireAudience, requireSecureLinks } from './campaign-checks';
import type { createCarryOut } from './carry-out';
import { requireEditable } from './editable';
import { unknownReferences } from './malformed-references';
import { storeOwnAudience } from './own-audience';
import { contentOf, insertCampaign, replaceCampaign, willBegin } from './save-campaign';

interface Deps extends Pick<ReturnType<typeof createDryRuns>, 'dryRun' | 'limited'> {
  db: Kysely<CampaignTables>;
  templates: TemplateLookup;
  /** Without it, no sender belongs to any workspace. */
  senderRule: SenderRule | undefined;
  /** Why marketing mail may not start, if it may not. */
  insecureLinks: string | undefined;
  launch: ReturnType<typeof createCarryOut>['launch'];
  /** Refuses a workspace that has no room for more contacts. */
  room: ReturnType<typeof createContactRoom>;
  now: () => number;
}

interface SaveCall {
  userId?: string | undefined;
  newCampaignId?: string;
  /** The campaign's own audience. Without it, an edit keeps the present one. */
  recipients?: InlineRecipients | undefined;
  /** With a note, an edit is applied once, however often the call is repeated. */
  note?: IdempotencyMark | undefined;
  /** Called for an edit that leaves a campaign to start by itself; throws if the caller may start none. */
  requireStart?: (() => void) | undefined;
  /** Rejects for a schedule that is over. Not called when an earlier attempt has created the campaign. */
  requireDue?: (() => Promise<void>) | undefined;
}

/** Campaigns as callers submit them: saved, or tried by a dry run that stores nothing. */
export function createSubmissions(deps: Deps) {
  return {
    save: createSave(deps),
    tryOut: createTryOut(deps),
    unknownReferences: (workspaceId: string, named: CampaignReferences) =>
      unknownReferences(deps, workspaceId, named),
  };
}

/**
 * Creates a campaign, or with `campaignId` replaces one that has not started. If the id given for a new
 * campaign exists, an earlier attempt at the same call created it, and it is not created again.
 */
function createSave({ db, templates, senderRule, insecureLinks, launch, room, now }: Deps) {
  async function warningsAgain(workspaceId: string, campaign: CampaignRecord): Promise<ValidationIssue[]> {
    const { sms } = campaign.settings;
    const text = sms && (await templates.find(workspaceId, 'sms', sms.templateId, sms.version))?.text;
    const policy = await readPolicy(db, workspaceId);
    const warnings = await creationWarnings(db, workspaceId, campaign, { smsText: text, now: now(), policy });
    const excess = await excessOf(db, campaign, policy);
    return excess ? [...warnings, approvalWarning(excess)] : warnings;
  }

  return async (
    workspaceId: string,
    body: CampaignBody,
    { userId, newCampaignId = newId('cmp'), recipients, note, requireStart, requireDue }: SaveCall = {},
  ) => {
    const earlier = body.campaignId ? undefined : await findCampaign(db, workspaceId, newCampaignId);
    if (earlier) {
      await launch(workspaceId, earlier.id, launchAgain(earlier));
      return { ...summaryOf(earlier), warnings: await warningsAgain(workspaceId, earlier) };
    }
    await requireDue?.();
    await requireRoomFor({ db, room }, workspaceId, body, recipients);
    const policy = await readPolicy(db, workspaceId);
    // Look up templates before the transaction, because that takes HTTP requests.
    const templatesFound = await lookUpTemplates(templates, workspaceId, contentOf(body));
    const { saved, warnings } = await db.transaction().execute(async (tx) => {
      const own = recipients && (await storeOwnAudience(tx, workspaceId, recipients.rows));
      const campaign = body.campaignId ? await lockCampaign(tx, workspaceId, body.campaignId) : undefined;
      const ownListId = own ? (own.listId ?? undefined) : campaign?.ownListId;
      const content: CampaignContent = { ...contentOf(body), ownListId };
      if (campaign && body.start === undefined && campaign.stage !== 'draft') requireStart?.();
      const found = await checkFound(tx, workspaceId, content, templatesFound, {
        policy,
        senderRule,
        listIds: body.contactListId,
      });
      const smsText = found.sms?.text;
      const warnings = await creationWarnings(tx, workspaceId, content, { smsText, now: now(), policy });
      warnings.push(...templatesFound.warnings);
      const excess = await excessOf(tx, content, policy);
      if (excess) warnings.push(approvalWarning(excess));
      const edit = { start: body.start, needsApproval: excess !== undefined, own, note };
      const start = willBegin(campaign, edit);
      if (start) requireSecureLinks(content, insecureLinks);
      const saved = campaign
        ? await replaceCampaign(tx, workspaceId, campaign, edit, content)
        : await insertCampaign(
            tx,
            workspaceId,
            { id: newCampaignId, start, userId, own: own ?? NO_OWN_AUDIENCE },
            content,
          );
      return { saved, warnings };
    });
    await launch(workspaceId, saved.id, saved);
    return { ...summaryOf(await readCampaign(db, workspaceId, saved.id)), warnings };
  };
}

/** Refuses what `save` would refuse, and stores nothing. */
function createTryOut({ db, templates, senderRule, insecureLinks, room, dryRun, limited }: Deps) {
  return async (workspaceId: string, body: CampaignBody, recipients?: InlineRecipients) => {
    const campaign = body.campaignId ? await readCampaign(db, workspaceId, body.campaignId) : undefined;
    if (campaign) await requireEditable(db, campaign);
    await requireRoomFor({ db, room }, workspaceId, body, recipients);
    const policy = await readPolicy(db, workspaceId);
    const content: CampaignContent = { ...contentOf(body), ownListId: campaign?.ownListId };
    const templatesFound = await lookUpTemplates(templates, workspaceId, content);
    const rules = { policy, senderRule, listIds: body.contactListId };

    const tried = async (on: Kysely<CampaignTables>, own: CampaignContent, members: number) => {
      const found = await checkFound(on, workspaceId, own, templatesFound, rules);
      const excess = await excessOf(on, own, policy);
      if (willBegin(campaign, { start: body.start, needsApproval: excess !== undefined })) {
        requireSecureLinks(own, insecureLinks);
        requireAudience(campaign?.id ?? body.name, own, members);
      }
      const told = await dryRun(on, workspaceId, own, found, policy);
      const warnings = [...told.warnings, ...(excess ? [approvalWarning(excess)] : [])];
      return { ...told, warnings: [...warnings, ...templatesFound.warnings] };
    };
    if (!recipients) return limited(() => tried(db, content, campaign?.ownMembers ?? 0));
    return limited(() =>
      withoutTrace(db, async (tx) => {
        const { listId, members } = await storeOwnAudience(tx, workspaceId, recipients.rows);
        return tried(tx, { ...content, ownListId: listId ?? undefined }, members);
      }),
    );
  };
}

/** Fails with `limit_reached` where a new campaign, or contacts of its own, would be one too many. */
async function requireRoomFor(
  { db, room }: Pick<Deps, 'db' | 'room'>,
  workspaceId: string,
  { campaignId }: CampaignBody,
  recipients: InlineRecipients | undefined,
): Promise<void> {
  if (recipients) room.require(workspaceId);
  if (!campaignId) await requireRoom(db, workspaceId, 'campaigns');
}

const NO_OWN_AUDIENCE = { listId: null, members: 0 };

/** Works on rows of one transaction, which is always rolled back. */
async function withoutTrace<T>(
  db: Kysely<CampaignTables>,
  work: (tx: Transaction<CampaignTables>) => Promise<T>,
): Promise<T> {
  const tx = await db.startTransaction().execute();
  try {
    return await work(tx);
  } finally {
    await tx.rollback().execute();
  }
}
