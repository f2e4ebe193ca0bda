import type { Kysely } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { takeDigest } from '../approval/digest';
import type { createDryRuns, DryRun } from '../audience/dry-run';
import {
  type CampaignOptions,
  type CampaignRecord,
  type CampaignSummary,
  readCampaign,
  summaryOf,
} from '../model/campaign-record';
import type { SenderRule, TemplateFound, TemplateLookup } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { readPolicy } from '../policy/policy';
import { inUtc } from '../reports/campaign-detail';
import { readSettings } from '../runs/runs';
import { type ApproveCall, approveCampaign, refuseOwn } from './approve';
import { checkReferences, requireSecureLinks } from './campaign-checks';
import type { createCarryOut } from './carry-out';

export interface CampaignDigest {
  digest: string;
  /**
   * How many different contacts the lists and the campaign's own audience have. Above a number of them, the
   * policy asks for an approval.
   */
  contacts: number;
  /** On all channels together. */
  recipients: number;
  channels: DryRun['channels'];
  templates: { channel: Channel; templateId: string; version: number; name: string }[];
  schedule: CampaignOptions['schedule'] | null;
  estimate: Pick<DryRun, 'durationSeconds' | 'warnings'>;
}

type Deps = Pick<ReturnType<typeof createCarryOut>, 'carryOut'> &
  Pick<ReturnType<typeof createDryRuns>, 'dryRun' | 'limited'> & {
    db: Kysely<CampaignTables>;
    templates: TemplateLookup;
    senderRule?: SenderRule | undefined;
    /** Why marketing mail may not start, if it may not. */
    insecureLinks: string | undefined;
  };

/** What a person is shown of a campaign before they approve it, and their approval (docs/approval.md). */
export function createApprovals({
  db,
  templates,
  senderRule,
  carryOut,
  dryRun,
  limited,
  insecureLinks,
}: Deps) {
  return {
    /** Checks the audience as a dry run does. */
    async digest(workspaceId: string, campaignId: string): Promise<CampaignDigest> {
      const campaign = await readCampaign(db, workspaceId, campaignId);
      const policy = await readPolicy(db, workspaceId);
      const found = await checkReferences(db, templates, workspaceId, campaign, { policy, senderRule });
      // Computed first, so that a change during the check of the audience gives another digest.
      const { digest, contacts } = await takeDigest(db, workspaceId, campaign);
      const forecast = await limited(() => dryRun(db, workspaceId, campaign, found, policy));
      const { channels, durationSeconds, warnings } = forecast;
      const recipients = Object.values(channels).reduce((sum, one) => sum + one.recipients, 0);
      return {
        ...{ digest, contacts, recipients, channels },
        templates: pinned(campaign, found),
        schedule: campaign.options.schedule ? inUtc(campaign.options.schedule) : null,
        estimate: { durationSeconds, warnings },
      };
    },

    async approve(workspaceId: string, campaignId: string, call: ApproveCall): Promise<CampaignSummary> {
      const campaign = await readCampaign(db, workspaceId, campaignId);
      refuseOwn(campaign, call.userId);
      if (campaign.stage === 'draft') {
        const policy = await readPolicy(db, workspaceId);
        await checkReferences(db, templates, workspaceId, campaign, { policy, senderRule });
      }
      requireSecureLinks(campaign, insecureLinks);
      const effects = await approveCampaign(db, workspaceId, campaignId, call);
      await carryOut(workspaceId, campaignId, effects, { holds: false });
      return summaryOf(await readCampaign(db, workspaceId, campaignId));
    },
  };
}

function pinned(
  { settings }: CampaignRecord,
  found: Partial<Record<Channel, TemplateFound>>,
): CampaignDigest['templates'] {
  const read = readSettings(settings);
  return CHANNELS.flatMap((channel) => {
    const of = read[channel];
    if (!of) return [];
    const { templateId, version } = of;
    return [{ channel, templateId, version, name: found[channel]?.name ?? templateId }];
  });
}
