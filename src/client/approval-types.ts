import type { CampaignInput, Channel, DryRun, GateMetric, Warning } from './types';

/** What an approval is of. */
export interface CampaignDigest {
  digest: string;
  contacts: number;
  recipients: number;
  channels: DryRun['channels'];
  templates: { channel: Channel; templateId: string; version: number; name: string }[];
  schedule: CampaignInput['schedule'] | null;
  estimate: { durationSeconds: number | null; warnings: Warning[] };
}

/** Why a campaign failed, or what paused or canceled it by itself: a gate of its release, or a missing approval. */
export type Reason =
  | string
  | { code: 'approval_required'; contacts: number; allowed: number }
  | { code: 'gate'; metric: GateMetric; value: number; above: number; sample: number };
